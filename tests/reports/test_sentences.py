"""What a report says of trust and of thresholds."""

import re

import numpy as np
import pytest
from texts import assert_readable

from sepc.common.intervals import exact_interval
from sepc.reports.sentences import claim, claim_warning, trust_in_words


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
    numbers = re.findall(r"\d[\d.]*\d", claim_warning(160, 200, 0.95))
    assert numbers == ["160", "200", "80", "95", "73.8", "85.3", "0.95", "95"]


@pytest.mark.slow
def test_the_first_screen_says_how_many_labels_of_each_trust_were_right(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, y_test = wdbc
    trust, right = wdbc_clf.trust_score(X_test), wdbc_clf.predict(X_test) == y_test
    content = wdbc_report.to_dict()
    surest = trust >= 0.99
    told = content["reliability"]
    assert re.findall(r"\d+", told)[:3] == [str(surest.sum()), "99", str(right[surest].sum())]
    assert told.replace(" %", "\u00a0%") in wdbc_report.html().split("</section>")[0]
    assert told in wdbc_report.markdown()
    assert sum(band["n_records"] for band in content["results"]["bands"]) == len(trust)
    assert content["results"]["bands"][0]["trust"] == pytest.approx(np.mean(trust[surest]))


@pytest.mark.parametrize(
    ("n_right", "trust", "interval", "claimed"),
    [
        (98, 0.995, [0.93, 0.998], None),
        (90, 0.995, [0.82, 0.95], "too much"),
        (95, 0.6, [0.89, 0.98], "too little"),
    ],
)
def test_a_trust_that_is_not_borne_out_is_told(n_right, trust, interval, claimed):
    band = {"words": "this band", "n_records": 100, "n_right": n_right, "trust": trust, "interval": interval}
    assert claim(band) == claimed
    told = trust_in_words([band])
    assert re.findall(r"\d+", told) == ["100", str(n_right), str(n_right)]
    # It is named once more where its trust is off.
    assert told.count("this band") == (1 if claimed is None else 2)
    assert_readable(told)
