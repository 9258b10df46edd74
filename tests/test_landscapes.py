"""Laws of `landscape`, figures that the paper reports, and findings whose truth was planted."""

import json
import os
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import labelled_points, point_set, rotation, seeds

from sepc import Ellipsoid, InputError, SEPClassifier, landscape, min_volume_ellipsoid, overlap_coefficient
from sepc.geometry.separability import linearly_separable

COLUMNS = ["class_a", "class_b", "ovr_a", "ovr_b", "n_outside_a", "n_outside_b", "ovl", "separable"]


def codes(view):
    return {finding.code for finding in view.findings}


def alarms(view):
    return [finding for finding in view.findings if finding.severity != "note"]


def two_classes(d, n=200, apart=1.5, seed=0):
    rng = np.random.default_rng([seed, d, n])
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) @ (rotation(d, rng) * rng.uniform(0.5, 1.5, d)).T
    X[y == 1] += apart / np.sqrt(d)
    return X, y


def clean(seed):
    """Gaussian classes of random shapes, their means 1.5 to 4 standard deviations or more apart, in mixed units."""
    rng = np.random.default_rng([77, seed])
    k, d = int(rng.integers(2, 4)), int(rng.integers(2, 9))
    means = rng.standard_normal((k, d))
    means *= rng.uniform(1.5, 4.0) / min(np.linalg.norm(means[i] - means[j]) for i in range(k) for j in range(i))
    sizes = rng.integers(100, 500, size=k)
    shapes = [rotation(d, rng) * rng.uniform(0.5, 1.5, d) for _ in range(k)]
    parts = [m + rng.standard_normal((n, d)) @ F.T for m, n, F in zip(means, sizes, shapes, strict=True)]
    X = np.concatenate(parts) @ rotation(d, rng) * 10.0 ** rng.uniform(-3, 3, d) + 10.0 * rng.standard_normal(d)
    return X, np.repeat(np.arange(k), sizes)


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
    assert ("rounding of the values" in finding.evidence) == (dimension == 6)
    assert list(view.classes["nearly_flat"]) == ["pelvic_incidence - pelvic_tilt - sacral_slope"] * 2


def test_adult():
    view = landscape(*load("adult_train_clean"))
    # The paper has 0.6, which is what the square root of the determinant gives.
    assert view.overlaps[0].ovr == pytest.approx((0.413, 0.314), abs=0.001)


def test_blood_transfusion():
    view = landscape(*load("blood_transfusion"))
    evidence = {finding.code: finding.evidence for finding in view.findings}
    assert "monetary_cc = 250 frequency_times, for every record exactly" in evidence["linear-dependence"]
    assert evidence["contradictory-duplicates"].startswith("200 of 748 records (27 %)")


# Overlap.


def boundary(E, n, rng):
    u = rng.standard_normal((n, E.dim))
    return E.center + (u / np.linalg.norm(u, axis=1, keepdims=True) * E.radii) @ E.axes.T


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_overlap_ratios_agree_with_monte_carlo_volumes(d):
    rng = np.random.default_rng(d)
    view = landscape(*two_classes(d, n=400, apart=0.8))
    pair = view.overlaps[0]
    three = (*view.ellipsoids, pair.by_points)
    around = min_volume_ellipsoid(np.concatenate([boundary(E, 300, rng) for E in three])).ellipsoid
    around = Ellipsoid(around.center, around.axes, 1.1 * around.radii)
    assert all(around.contains(boundary(E, 5000, rng)).all() for E in three)
    sample = around.sample(400_000, rng)
    of_a, of_b, shared = (np.count_nonzero(E.contains(sample)) for E in three)
    error = 5.0 / np.sqrt(min(of_a, of_b, shared))
    assert pair.ovr == pytest.approx((shared / of_a, shared / of_b), rel=error)
    common = np.count_nonzero(three[0].contains(sample) & three[1].contains(sample))
    assert pair.by_intersection.contains(sample[three[0].contains(sample) & three[1].contains(sample)], tol=1e-9).all()
    assert pair.cover_ratio[0] >= common / of_a * (1.0 - error)


@given(seed=seeds(), d=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_overlap_counts_the_points_in_both_ellipsoids(seed, d):
    X, y = two_classes(d, n=80, seed=seed)
    view = landscape(X, y)
    pair = view.overlaps[0]
    both = np.logical_and(*(E.contains(X) for E in view.ellipsoids))
    assert pair.n_inside == tuple(np.bincount(y[both], minlength=2))
    assert pair.n_outside == tuple(np.bincount(y[~both], minlength=2))
    assert pair.ovl == pytest.approx(overlap_coefficient(*view.ellipsoids), abs=1e-9)
    assert pair.by_points is None or pair.by_points.contains(X[both]).all()
    assert all(0.0 <= ratio <= 1.0 for ratio in (*pair.ovr, *pair.cover_ratio))


@given(seed=seeds(), d=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_affine_maps_change_nothing(seed, d):
    X, y = two_classes(d, n=100, seed=seed)
    rng = np.random.default_rng(seed)
    matrix = rotation(d, rng) * 10.0 ** rng.uniform(-1, 1, d) @ rotation(d, rng)
    one, other = landscape(X, y).overlaps[0], landscape(X @ matrix + rng.standard_normal(d), y).overlaps[0]
    assert one.ovr == pytest.approx(other.ovr, rel=1e-4)
    assert one.ovl == pytest.approx(other.ovl, abs=1e-4)
    assert one.cover_ratio == pytest.approx(other.cover_ratio, rel=1e-4)
    assert (one.n_inside, one.separable) == (other.n_inside, other.separable)


@given(seed=seeds(), family=st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_does_not_matter(seed, family):
    A, B, _ = labelled_points(seed, family)
    X, y = np.concatenate([A, B]), np.repeat(["a", "b"], [len(A), len(B)])
    order = np.random.default_rng(seed).permutation(len(X))
    one, other = landscape(X, y), landscape(X[order], y[order])
    assert codes(one) == codes(other)
    assert one.overlaps[0].n_inside == other.overlaps[0].n_inside
    assert one.overlaps[0].separable == other.overlaps[0].separable
    assert one.overlaps[0].ovr == pytest.approx(other.overlaps[0].ovr, rel=1e-4, abs=1e-12)


def test_pairs_come_in_sorted_order():
    X, _ = two_classes(3, n=300)
    y = np.array(["c", "a", "b"])[np.arange(300) % 3]
    view = landscape(X, y)
    assert list(zip(view.pairs["class_a"], view.pairs["class_b"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    binary = landscape(X[y != "c"], y[y != "c"]).overlaps[0]
    # The unit of length is that of all records; it decides what is flat, no more.
    assert view.overlaps[0].ovr == pytest.approx(binary.ovr, rel=1e-6)


def test_volumes_are_taken_inside_the_affine_hull():
    X, y = two_classes(3)
    plane = np.column_stack([X, X @ [1.0, -2.0, 0.5]]) @ rotation(4, np.random.default_rng(0))
    one, other = landscape(X, y), landscape(plane, y)
    assert (one.dimension, other.dimension) == (3, 3)
    assert one.overlaps[0].ovr == pytest.approx(other.overlaps[0].ovr, rel=1e-5)
    assert one.overlaps[0].ovl == pytest.approx(other.overlaps[0].ovl, abs=1e-5)
    assert other.ellipsoids[0].contains(plane[y == 0], tol=1e-4).all()
    assert other.overlaps[0].by_points.dim == 4


# Separability.


def separable_by_a_linear_program(A, B):
    """Whether some w and c have w @ a - c >= 1 and w @ b - c <= -1."""
    rows = np.vstack([np.column_stack([-A, np.ones(len(A))]), np.column_stack([B, -np.ones(len(B))])])
    return linprog(np.zeros(rows.shape[1]), rows, -np.ones(len(rows)), bounds=(None, None)).status == 0


@given(seed=seeds(), d=st.integers(1, 6), apart=st.floats(0.0, 6.0), family=st.sampled_from(["gauss", "lattice"]))
@example(seed=0, d=2, apart=0.0, family="lattice")
@settings(max_examples=60, deadline=None)
def test_separability_agrees_with_a_linear_program(seed, d, apart, family):
    A, B = point_set(family, 60, d, seed), point_set(family, 40, d, seed + 1)
    B[:, 0] += np.round(apart)
    if family == "lattice" and np.round(apart) == apart:
        B[0] = A[0]
    expected = separable_by_a_linear_program(A, B)
    assert linearly_separable(A, B) == expected
    assert linearly_separable(B, A) == expected


@pytest.mark.parametrize("n", [50, 3000])
def test_one_point_beyond_decides(n):
    rng = np.random.default_rng(n)
    A, B = rng.uniform(0.0, 1.0, (n, 4)), rng.uniform(0.0, 1.0, (n, 4))
    B[:, 0] += 1.001
    assert linearly_separable(A, B)
    A[n // 2] = B.mean(axis=0)
    assert not linearly_separable(A, B)


# Findings.


@pytest.mark.parametrize("seed", range(40))
def test_clean_sets_raise_no_alarm(seed):
    assert alarms(landscape(*clean(seed))) == []


@pytest.mark.parametrize("seed", range(8))
def test_planted_dependence_is_found(seed):
    X, y = clean(seed)
    names = [f"f{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(total=2.0 * X[:, 0] - 0.5 * X[:, 1] + 3.0)
    view = landscape(frame, y)
    assert [finding.code for finding in alarms(view)] == ["linear-dependence"]
    assert view.dimension == X.shape[1]
    equations = ("total = 2 f0 - 0.5 f1 + 3", "f1 = 4 f0 - 2 total + 6")
    assert any(equation in alarms(view)[0].evidence for equation in equations)


@pytest.mark.parametrize("decimals", [3, 6])
def test_planted_dependence_is_found_in_rounded_values(decimals):
    X, y = two_classes(3)
    frame = pd.DataFrame(100.0 * X, columns=["a", "b", "c"])
    frame["sum"] = frame["a"] + frame["b"] - frame["c"]
    (finding,) = alarms(landscape(frame.round(decimals), y))
    assert "sum = a + b - c" in finding.evidence


def test_several_dependences_are_found():
    X, y = two_classes(3)
    frame = pd.DataFrame(np.round(X, 2), columns=["a", "b", "c"])
    frame = frame.assign(twice=2.0 * frame["a"], copy=frame["b"], k=7.0)
    found = landscape(frame, y)
    texts = [finding.evidence.split(",")[0] for finding in found.findings if finding.code == "linear-dependence"]
    assert sorted(texts) == ["copy = b", "twice = 2 a"]
    assert "constant-feature" in codes(found)


def test_indicator_columns_that_add_up_to_one_are_found():
    X, y = two_classes(2, n=300)
    kind = np.random.default_rng(0).integers(3, size=300)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(**{f"is_{k}": (kind == k).astype(float) for k in range(3)})
    (finding,) = [f for f in landscape(frame, y).findings if f.code == "linear-dependence"]
    assert "is_2 = 1 - is_0 - is_1" in finding.evidence


@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-2])
def test_strong_correlation_is_no_dependence(noise):
    X, y = two_classes(3)
    near = X @ [1.0, 1.0, 0.0] + noise * np.random.default_rng(0).standard_normal(len(X))
    assert alarms(landscape(np.column_stack([X, near]), y)) == []


def test_planted_constant_is_found():
    X, y = two_classes(3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(k=0.1)
    (finding,) = alarms(landscape(frame, y))
    assert (finding.code, finding.title) == ("constant-feature", "constant: k")
    assert "k = 0.1" in finding.evidence


@given(seed=seeds(), n_values=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_contradictory_duplicates_are_counted(seed, n_values):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-n_values, n_values, size=(60, 2)).astype(float), rng.integers(3, size=60)
    X[0], y[:3] = -0.0, [0, 1, 2]
    labels = {}
    for x, label in zip(X.tolist(), y, strict=True):
        labels.setdefault(tuple(v + 0.0 for v in x), []).append(label)
    expected = sum(len(group) for group in labels.values() if len(set(group)) > 1)
    found = [f.title for f in landscape(X, y).findings if f.code == "contradictory-duplicates"]
    assert found == ([f"{expected} records have an exact duplicate of another class"] if expected else [])


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
    assert "few is a small minority" in next(f.title for f in view.findings if f.code == "minority-in-overlap")


@pytest.mark.parametrize(("n", "severity"), [(1, "problem"), (4, "problem"), (5, "note"), (11, "note"), (12, None)])
def test_too_few_records_are_found(n, severity):
    X, y = two_classes(4)
    keep = (y == 0) | (np.cumsum(y) <= n)
    found = [finding.severity for finding in landscape(X[keep], y[keep]).findings if finding.code == "few-records"]
    assert found == ([severity] if severity else [])


def test_separable_classes_are_noted_once():
    X, _ = two_classes(2, n=90)
    y = np.arange(90) % 3
    view = landscape(X + 100.0 * y[:, None], y)
    assert Counter(finding.code for finding in view.findings) == {"separable": 1}
    assert view.pairs["separable"].all()
    assert view.pairs["ovr_a"].tolist() == [0.0] * 3


# Hard inputs.


@given(seed=seeds(), family=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_any_input_gets_an_answer(seed, family):
    A, B, _ = labelled_points(seed, family)
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


def test_no_more_than_twenty_reads_by_the_solvers():
    X, y = two_classes(10, n=20_000, apart=2.0)
    assert landscape(X, y).n_passes <= 12.0


# What comes in and goes out.


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_the_same_errors_as_fit(bad):
    X, y = two_classes(2, n=20)
    X[3, 1] = bad
    frame = pd.DataFrame(X, columns=["age", "height"])
    for points in (X, frame):
        with pytest.raises(InputError) as ours:
            landscape(points, y)
        with pytest.raises(InputError) as theirs:
            SEPClassifier().fit(points, y)
        assert str(ours.value) == str(theirs.value)


def test_the_same_errors_as_fit_for_labels():
    X, _ = two_classes(2, n=20)
    for y in (np.zeros(20, dtype=int), np.linspace(0.0, 1.0, 20), np.array(["a", 1] * 10, dtype=object), np.zeros(19)):
        with pytest.raises((ValueError, TypeError)) as ours:
            landscape(X, y)
        with pytest.raises(type(ours.value)) as theirs:
            SEPClassifier().fit(X, y)
        assert str(ours.value)[:40] == str(theirs.value)[:40]


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
    assert "constant: &lt;b&gt;" in view._repr_html_()


def test_classes_by_themselves():
    rng = np.random.default_rng(0)
    line = rng.standard_normal((50, 1)) * [1.0, 2.0, -1.0]
    view = landscape(np.concatenate([line, rng.standard_normal((50, 3)) + 5.0]), np.repeat(["line", "ball"], 50))
    ball, thin = view.notes
    assert (thin.dimension, thin.dimension_99, len(thin.nearly_flat)) == (1, 1, 2)
    assert (ball.dimension, ball.dimension_99, ball.nearly_flat) == (3, 3, ())
    assert thin.participation == pytest.approx(1.0)
    assert 2.0 < ball.participation <= 3.0
    assert (thin.n_records, thin.share) == (50, 0.5)


def test_progress_is_reported_and_may_interrupt():
    X, _ = two_classes(2, n=90)
    y = np.arange(90) % 3
    steps = []
    landscape(X, y, on_step=lambda done, total: steps.append((done, total)))
    assert steps == [(k, 6) for k in range(1, 7)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        landscape(X, y, on_step=stop)


def test_pairs_table_is_that_of_the_overlaps():
    X, _ = two_classes(2, n=90)
    y = np.arange(90) % 3
    view = landscape(X, y)
    for row, pair, (a, b) in zip(view.pairs.to_dict("records"), view.overlaps, combinations(range(3), 2), strict=True):
        assert (row["class_a"], row["class_b"]) == (a, b)
        assert (row["ovr_a"], row["ovr_b"], row["ovl"]) == (*pair.ovr, pair.ovl)
        assert row["mean_error"] == pair.ovl / 2
