"""Fits to files, clusters and devices, and their comparison with fits to arrays in memory."""

import tempfile

import array_api_strict as xp
import dask
import dask.array as da
import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, make_moons

import sepc

FIELDS = ("label", "rule", "reason", "region", "counts")


def in_file(clf, X, y, dtype=np.float64):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", np.asarray(X, dtype=dtype))
        return clf.fit(np.load(f"{folder}/X.npy", mmap_mode="r"), y)


def on_cluster(clf, X, y):
    return clf.fit(da.from_array(X, chunks=(len(X) // 3 + 1, -1)), y)


def on_device(clf, X, y):
    y = np.asarray(y)
    with sklearn.config_context(array_api_dispatch=True):
        return clf.fit(xp.asarray(X), y if y.dtype.kind == "U" else xp.asarray(y))


WHERE = pytest.mark.parametrize("where", [in_file, on_cluster, on_device])


def lattice():
    """Return points with many ties and copies, within and between the classes."""
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((120, 2)) * 1.5)
    return X, np.where(X[:, 0] + rng.standard_normal(120) > 0.0, "yes", "no")


def flat():
    """Return points of which one class has no spread in a direction, and none has any in another."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.standard_normal((90, 2)), np.full(90, 7.0)])
    y = np.arange(90) % 2
    X[y == 0, 1] = 0.5
    return X, y


def far_off():
    rng = np.random.default_rng(24)
    y = np.repeat(["a", "b"], [33, 37])
    X = rng.standard_normal((70, 2)) + (y == "b")[:, None]
    return (X + 1e3) * np.array([1e-4, 1e5]), y


def iris():
    data = load_iris()
    rows = np.random.default_rng(5).permutation(150)
    return data.data[rows], data.target_names[data.target[rows]]


SETS = {
    "iris": (iris, {}),
    "moons": (lambda: make_moons(120, noise=0.3, random_state=1), {"trust": "paper", "n_imp": 1}),
    "lattice": (lattice, {"n_imp": 1}),
    "flat": (flat, {"n_imp": 0}),
    "far off": (far_off, {"standardize": False, "n_imp": 1}),
    "three classes, original units": (
        lambda: (iris()[0][::2], iris()[1][::2]),
        {"standardize": False, "trust": "paper"},
    ),
    "isolated": (lambda: (iris()[0][:8], iris()[1][:8]), {}),
    "isolated only": (lambda: (np.eye(4)[:3], np.array([0, 1, 1])), {"trust": "paper"}),
}


def same_partitions(found, expected):
    for one, two in zip(found.partitions_, expected.partitions_, strict=True):
        assert (one.n_iter, one.stopped, one.n_imp, repr(one)) == (two.n_iter, two.stopped, two.n_imp, repr(two))
        for a, b in zip(one.blocks, two.blocks, strict=True):
            assert (a.side, a.iteration) == (b.side, b.iteration)
            same_rows(a.members, b.members)
        for a, b in zip(one.isolated, two.isolated, strict=True):
            same_rows(a, b)


def same_rows(found, expected):
    """Check row numbers, which come chunk by chunk where they stay on a cluster."""
    if not dask.is_dask_collection(found) and not dask.is_dask_collection(expected):
        assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(*(np.sort(np.asarray(rows)) for rows in (found, expected)))


def around(X):
    """Return points to judge: those of the training set, some between them, some outside."""
    one, other = X[np.random.default_rng(0).integers(len(X), size=(2, 60))]
    return np.vstack([X, (one + other) / 2.0, 3.0 * one - 2.0 * other])


def same_verdicts(found, expected, Z, tmp_path):
    a, b = found.assess(Z), expected.assess(Z)
    # What several grown ellipsoids share cannot be told without the training records; a model that was saved without
    # them is the measure there.
    tied = np.char.count(b.region.astype(str), "~") > 1
    sepc.save(expected, tmp_path / "plain.sepc", training_rows=False)
    blind = sepc.load(tmp_path / "plain.sepc").assess(Z)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name)[~tied], getattr(b, name)[~tied], err_msg=name)
        np.testing.assert_array_equal(getattr(a, name)[tied], getattr(blind, name)[tied], err_msg=name)
    np.testing.assert_allclose(a.trust[~tied], b.trust[~tied], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(Z)[~tied], expected.predict_proba(Z)[~tied], rtol=0, atol=1e-9)


def agree(found, expected, X, tmp_path):
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert found.class_count_.tolist() == expected.class_count_.tolist()
    np.testing.assert_allclose(found.mean_, expected.mean_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-12)
    same_partitions(found, expected)
    same_verdicts(found, expected, around(X), tmp_path)


def same_bits(one, two, Z):
    a, b = one.assess(Z), two.assess(Z)
    for name in (*FIELDS, "trust", "odds", "distance", "local_overlap"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(one.predict_proba(Z), two.predict_proba(Z))
