import numpy as np
import pytest

from sepc.common.intervals import exact_interval
from sepc.reports.accepted_labels import claim_warning


def test_nothing_is_said_where_chance_explains_it():
    assert claim_warning(0, 0, 0.95) is None
    assert claim_warning(100, 100, 1.0) is None
    assert claim_warning(9, 10, 0.95) is None
    assert claim_warning(93, 100, 0.95) is None


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_it_comes_exactly_where_the_interval_lies_below_the_threshold(n):
    for n_right in range(n + 1):
        assert (claim_warning(n_right, n, 0.9) is not None) == (exact_interval(n_right, n)[1] < 0.9)


def test_a_claim_that_holds_sets_it_off_rarely():
    rng = np.random.default_rng(0)
    alarms = [claim_warning(int(n_right), 200, 0.95) is not None for n_right in rng.binomial(200, 0.95, size=2000)]
    assert 0 < sum(alarms) <= 0.025 * 2000 + 3 * np.sqrt(0.025 * 2000)


def test_the_warning_tells_counts_interval_and_threshold():
    text = claim_warning(160, 200, 0.95)
    assert "160 of 200 (80 %; 95 % interval 73.8 % to 85.3 %)" in text
    assert "at least 0.95 claims 95 %" in text
