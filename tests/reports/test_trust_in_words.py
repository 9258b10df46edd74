"""What the reliability plot shows, in words."""

import numpy as np
import pytest

from sepc.reports.trust_in_words import trust_in_words


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
