"""Accuracy that the trust expects of test records: by month, and since a column changed."""

import numpy as np
import pytest

from sepc import SEPClassifier, report


def parts(n, rng, shift=0.0):
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + np.outer(y, [3.0, 2.0, 0.0]) + [0.0, shift, 0.0], y


@pytest.mark.parametrize("dated", [True, False])
def test_expected_accuracy_stands_beside_the_observed_one_by_month_and_by_column(dated):
    rng = np.random.default_rng(0)
    clf = SEPClassifier().fit(*parts(300, rng))
    X, y = map(np.concatenate, zip(parts(150, rng), parts(150, rng, shift=2.0), strict=True))
    days = np.datetime64("2026-05-01") + np.arange(300) // 5
    order = rng.permutation(300)  # of rows: what counts is the order of dates
    found = report(clf, X[order], y[order], max_records=0, dates=days[order] if dated else None)
    rows = {row[0]: row[1:] for row in found.to_dict()["expected"]["rows"]}
    a = clf.assess(X)
    right = a.label == y
    assert rows["all"][0] == 300
    assert rows["all"][1] == pytest.approx(a.trust.mean())
    assert rows["all"][4] == pytest.approx(right.mean())
    assert "Accuracy that the trust expects" in found.markdown()
    assert "Accuracy that the trust expects" in found.html()
    if not dated:
        assert list(rows) == ["all"]
        return
    may = days < np.datetime64("2026-06-01")
    assert rows["2026-05"][:2] == pytest.approx([may.sum(), a.trust[may].mean()])
    assert rows["2026-06"][4] == pytest.approx(right[~may].mean())
    (before,) = (name for name in rows if name.startswith("column x1, before"))
    assert abs(rows[before][0] - 150) <= 20
    assert rows[before][4] > rows["2026-06"][4]
