"""What a report says of trust and of thresholds."""

import numpy as np
import pytest

from sepc.common.intervals import exact_interval
from sepc.reports.sentences import claim_warning, trust_in_words


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


@pytest.mark.slow
def test_the_first_screen_says_how_many_labels_of_each_trust_were_right(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, y_test = wdbc
    trust, right = wdbc_clf.trust_score(X_test), wdbc_clf.predict(X_test) == y_test
    content = wdbc_report.to_dict()
    surest = trust >= 0.99
    told = f"Of {surest.sum()} labels with a trust of 99 % or more, {right[surest].sum()} were right"
    assert content["reliability"].startswith(told)
    assert told.replace(" %", "\u00a0%") in wdbc_report.html().split("</section>")[0]
    assert told in wdbc_report.markdown()
    assert sum(band["n_records"] for band in content["results"]["bands"]) == len(trust)
    assert content["results"]["bands"][0]["trust"] == pytest.approx(np.mean(trust[surest]))


@pytest.mark.parametrize(
    ("n_right", "interval", "verdict"),
    [
        (98, [0.93, 0.998], "within chance"),
        (90, [0.82, 0.95], "claims too much where it is 99 % or more"),
    ],
)
def test_a_trust_that_is_not_borne_out_is_told(n_right, interval, verdict):
    band = {"words": "99 % or more", "n_records": 100, "n_right": n_right, "trust": 0.995, "interval": interval}
    assert verdict in trust_in_words([band])


def test_a_trust_that_is_too_modest_is_told_too():
    band = {"words": "less than 90 %", "n_records": 100, "n_right": 95, "trust": 0.6, "interval": [0.89, 0.98]}
    told = trust_in_words([band])
    assert told.startswith("Of 100 labels with a trust of less than 90 %, 95 were right (95 %).")
    assert told.endswith("The trust claims too little where it is less than 90 %.")
