"""Laws of `landscape`, figures that the paper reports, what comes in and what goes out."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from landscape_data import two_classes
from linear_program import separable_by_a_linear_program
from strategies import examples, labelled_points

from sepc import InputError, SEPClassifier, landscape

COLUMNS = ["class_a", "class_b", "ovr_a", "ovr_b", "n_outside_a", "n_outside_b", "ovl", "separable"]


def load(name):
    path = Path(os.environ.get("SEPC_DATA", "")) / f"{name}.csv"
    if not os.environ.get("SEPC_DATA") or not path.exists():
        pytest.skip(f"set SEPC_DATA to the folder that holds {name}.csv")
    frame = pd.read_csv(path)
    return frame.drop(columns="label").select_dtypes("number"), frame["label"]


# The paper's figures.


@pytest.mark.parametrize(
    ("name", "dimension", "outside", "ratios"),
    [
        ("vertebral_2c", 6, (157, 7), (0.0056, 0.667)),
        ("vertebral_2c_fullprec", 5, (153, 1), (0.0072, 0.883)),
    ],
)
def test_vertebral_column(name, dimension, outside, ratios):
    view = landscape(*load(name))
    pair = view.overlaps[0]
    assert (pair.class_a, pair.class_b) == ("Abnormal", "Normal")
    assert view.dimension == dimension
    assert pair.n_outside == outside
    assert pair.ovr == pytest.approx(ratios, rel=0.0, abs=0.0005)
    assert round(pair.ovr[0], 4) == ratios[0]
    assert not pair.separable
    finding = next(f for f in view.findings if f.code == "linear-dependence")
    assert "pelvic_incidence = pelvic_tilt + sacral_slope" in finding.evidence
    assert list(view.classes["nearly_flat"]) == ["pelvic_incidence - pelvic_tilt - sacral_slope"] * 2


def test_adult():
    view = landscape(*load("adult_train_clean"))
    # The paper has 0.6, which is what the square root of the determinant gives.
    assert view.overlaps[0].ovr == pytest.approx((0.413, 0.314), abs=0.001)


def test_blood_transfusion():
    view = landscape(*load("blood_transfusion"))
    evidence = {finding.code: finding.evidence for finding in view.findings}
    assert "monetary_cc = 250 frequency_times" in evidence["linear-dependence"]
    assert "200 of 748 records (26.7 %)" in evidence["contradictory-duplicates"]


# Hard inputs.


@given(labelled_points())
@examples(60)
def test_any_input_gets_an_answer(data):
    A, B, _ = data
    view = landscape(np.concatenate([A, B]), np.repeat([0, 1], [len(A), len(B)]))
    pair = view.overlaps[0]
    assert json.loads(json.dumps(view.to_dict(), allow_nan=False))["pairs"][0]["n_outside_a"] == pair.n_outside[0]
    assert all(0.0 <= value <= 1.0 for value in (*pair.ovr, pair.ovl, *pair.cover_ratio))
    assert sum(pair.n_inside) + sum(pair.n_outside) == len(A) + len(B)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((4, 3)),  # one point for all
        np.eye(4, 30),  # fewer records than features
        np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 1.0], [2.0, 1.0]]),  # a line, along one feature
        np.array([[1e12, 1e-9], [1e12 + 1.0, 2e-9], [1e12 + 2.0, 0.0], [1e12 + 5.0, 1e-9]]),  # far away, mixed scales
        np.repeat([[1.0, 2.0], [3.0, 4.0]], 2, axis=0),  # duplicates only
    ],
)
def test_degenerate_inputs(X):
    scale = X.std(axis=0)
    Z = (X - X[0]) / np.where(scale > 0.0, scale, 1.0)
    for y in ([0, 1, 0, 1], [0, 0, 0, 1]):
        view = landscape(X, y)
        assert len(view.ellipsoids) == 2
        assert 0.0 <= view.overlaps[0].ovl <= 1.0
        assert view.overlaps[0].separable == separable_by_a_linear_program(*(Z[np.equal(y, k)] for k in (0, 1)))
        assert repr(view)


# What comes in and goes out.


@pytest.mark.parametrize("bad", [np.inf, 1e200])
def test_the_same_errors_as_a_fit_that_takes_no_gaps(bad):
    X, y = two_classes(2, n=20)
    X[3, 1] = bad
    frame = pd.DataFrame(X, columns=["age", "height"])
    for points in (X, frame):
        with pytest.raises(InputError) as ours:
            landscape(points, y)
        with pytest.raises(InputError) as theirs:
            SEPClassifier(trust="paper").fit(points, y)
        assert (ours.value.code, ours.value.fields) == (theirs.value.code, theirs.value.fields)


def test_the_same_errors_as_fit_for_labels():
    X, _ = two_classes(2, n=20)
    for y in (np.zeros(20, dtype=int), np.linspace(0.0, 1.0, 20), np.array(["a", 1] * 10, dtype=object), np.zeros(19)):
        with pytest.raises((ValueError, TypeError)) as ours:
            landscape(X, y)
        with pytest.raises(type(ours.value)) as theirs:
            SEPClassifier().fit(X, y)
        assert str(ours.value)[:40] == str(theirs.value)[:40]


@pytest.mark.slow
@pytest.mark.parametrize("labels", [[0, 1], [1.0, 2.0], ["b", "a"], [True, False], [f"class {k}" for k in range(20)]])
def test_labels_of_any_type(labels):
    X, _ = two_classes(2, n=120)
    y = [labels[k % len(labels)] for k in range(120)]
    kinds = [y, pd.Series(y)] if len(labels) == 2 else [y]
    for values in [*kinds, np.array(y, dtype=object)] if isinstance(y[0], str) else kinds:
        view = landscape(X, values)
        assert view.classes["label"].tolist() == sorted(labels)
        assert view.classes["n_records"].tolist() == [120 // len(labels)] * len(labels)


def test_frames_like_the_one_that_came_in():
    X, y = two_classes(2)
    for data, kind in ((X, pd.DataFrame), (pd.DataFrame(X), pd.DataFrame), (pl.DataFrame(X), pl.DataFrame)):
        if kind is pd.DataFrame and data is not X:
            data.columns = ["a", "b"]
        view = landscape(data, y)
        assert isinstance(view.pairs, kind)
        assert isinstance(view.classes, kind)
        assert list(view.pairs.columns)[:8] == COLUMNS
    assert landscape(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}), y).features == ("a", "b")


def test_texts_are_escaped_and_complete():
    X, y = two_classes(2)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(**{"<b>": 1.0})
    view = landscape(frame, np.where(y == 0, "<i>no", "yes"))
    assert "constant-feature" in repr(view)
    assert "<i>no" not in view._repr_html_()
    assert "&lt;b&gt;" in view._repr_html_()
