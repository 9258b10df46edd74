"""Findings whose truth was planted, and none where nothing was."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from landscape_data import alarms, clean_set, codes, two_classes

from sepc import landscape


@pytest.mark.parametrize("seed", range(40))
def test_clean_sets_raise_no_alarm(seed):
    assert alarms(landscape(*clean_set(seed))) == []


def test_planted_constant_is_found():
    X, y = two_classes(3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(k=0.1)
    (finding,) = alarms(landscape(frame, y))
    assert finding.code == "constant-feature"
    assert finding.title.endswith(": k")
    assert "k = 0.1" in finding.evidence


@pytest.mark.parametrize("n", [120, 306, 2000])
@pytest.mark.parametrize("d", [2, 5, 8])
def test_planted_overlap_is_found(d, n):
    X, y = two_classes(d, n=n, apart=0.0)
    assert [finding.code for finding in alarms(landscape(X, y))] == ["heavy-overlap"]


def test_classes_that_interleave_are_no_heavy_overlap():
    rng = np.random.default_rng(0)
    corner = rng.integers(2, size=(400, 2))
    X = corner + 0.1 * rng.standard_normal((400, 2))
    assert "heavy-overlap" not in codes(landscape(X, corner.sum(axis=1) % 2))


def test_a_class_drowned_in_the_overlap_is_found():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1050, 3)), np.repeat(["many", "few"], [1000, 50])
    X[y == "few", 0] += 1.0
    view = landscape(X, y)
    assert {"minority-in-overlap", "class-imbalance"} <= codes(view)
    assert next(f.title for f in view.findings if f.code == "minority-in-overlap").startswith("few ")


@pytest.mark.parametrize(("n", "severity"), [(1, "problem"), (4, "problem"), (5, "note"), (11, "note"), (12, None)])
def test_too_few_records_are_found(n, severity):
    X, y = two_classes(4)
    keep = (y == 0) | (np.cumsum(y) <= n)
    found = [finding.severity for finding in landscape(X[keep], y[keep]).findings if finding.code == "few-records"]
    assert found == ([severity] if severity else [])


def test_classes_whose_ellipsoids_would_hold_no_new_record_are_found():
    X, y = two_classes(40, n=160)
    found = [finding for finding in landscape(X, y).findings if finding.code == "outside-all-ellipsoids"]
    assert [finding.severity for finding in found] == ["warning"]
    assert "160" in found[0].evidence
    for few_features, few_records in ((X[:, :5], y), (X[:4], y[[0, 1, -2, -1]])):
        assert "outside-all-ellipsoids" not in codes(landscape(few_features, few_records))


def test_contradictory_duplicates_name_their_rows():
    X, y = two_classes(3, n=60)
    X, y = np.vstack([X, X[[4, 4, 9]]]), np.concatenate([y, 1 - y[[4, 4, 9]]])
    view = landscape(X, y)
    (finding,) = (finding for finding in view.findings if finding.code == "contradictory-duplicates")
    assert view.contradictions == ((4, 60, 61), (9, 62))
    assert " 5 (0), 61 (1) and 62 (1); 10 (1) and 63 (0)." in finding.evidence


def test_many_contradictory_rows_are_shortened():
    X, y = two_classes(2, n=60)
    X[:40] = X[0]
    (finding,) = (one for one in landscape(X, y).findings if one.code == "contradictory-duplicates")
    assert "1, 3, 5 and 17 more (0) and 2, 4, 6 and 17 more (1)." in finding.evidence


def test_separable_classes_are_noted_once():
    X, _ = two_classes(2, n=90)
    y = np.arange(90) % 3
    view = landscape(X + 9.0 * y[:, None], y)
    assert Counter(finding.code for finding in view.findings) == {"separable": 1}
    assert view.pairs["separable"].all()
    assert view.pairs["ovr_a"].tolist() == [0.0] * 3
