"""Fits in memory, and to files, clusters and devices: the same partition, the same verdicts."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from coded import raises
from fitted_classifiers import overlapping, same_model, voters
from real_sets import real_set
from scattered_fits import SETS, WHERE, agree, around, in_file, iris, on_device, same_bits, same_partitions
from sklearn.datasets import load_iris

import sepc
from sepc import SEPClassifier
from sepc.common.errors import MissingRecordsError
from sepc.feedback import FeedbackMonitor
from sepc.scale import scattered_counts

ignore_isolated = pytest.mark.filterwarnings("ignore::sepc.SepcWarning")  # isolated points are wanted here


def not_in_memory(tests):
    """Mark tests of training sets that are not in memory."""
    return pytest.mark.usefixtures("small_chunks")(ignore_isolated(tests))


# Files of the data folder with at most a thousand rows; each is fitted in a second or so.
REAL = ("haberman", "seeds", "vertebral_3c", "glass", "blood_transfusion")


@not_in_memory
class TestAgreement:
    @pytest.mark.slow
    @WHERE
    @pytest.mark.parametrize("name", SETS)
    def test_fits_are_those_of_an_array_in_memory(self, name, where, tmp_path):
        make, settings = SETS[name]
        X, y = make()
        agree(where(SEPClassifier(**settings), X, y), SEPClassifier(**settings).fit(X, y), X, tmp_path)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", REAL)
    def test_real_sets(self, name, tmp_path):
        X, y = real_set(name)
        expected = SEPClassifier().fit(X, y)
        agree(in_file(SEPClassifier(n_jobs=2), X, y), expected, X, tmp_path)
        agree(on_device(SEPClassifier(), X, y), expected, X, tmp_path)

    def test_regions_are_the_same(self):
        X, y = iris()
        found, expected = in_file(SEPClassifier(), X, y).regions(), SEPClassifier().fit(X, y).regions()
        pd.testing.assert_frame_equal(found, expected, rtol=1e-6)


@not_in_memory
class TestModels:
    @WHERE
    @pytest.mark.parametrize("trust", ["local", "paper"])
    def test_a_saved_model_keeps_every_verdict(self, where, trust, tmp_path):
        X, y = iris()
        clf = where(SEPClassifier(trust=trust), X, y)
        sepc.save(clf, tmp_path / "model.sepc")
        again = sepc.load(tmp_path / "model.sepc")
        same_bits(again, clf, around(X))
        same_partitions(again, clf)
        pd.testing.assert_frame_equal(again.regions(), clf.regions())

    @pytest.mark.slow
    @WHERE
    def test_explanations_have_no_neighbours(self, where):
        X, y = iris()
        found, expected = where(SEPClassifier(), X, y), SEPClassifier().fit(X, y)
        for x in X[::30]:
            told, fully = found.explain(x), expected.explain(x)
            assert told.neighbours == ()
            assert told.label == fully.label
            assert [note.region for note in told.regions] == [note.region for note in fully.regions]

    def test_what_needs_the_records_says_so(self):
        clf = in_file(SEPClassifier(), *iris())
        for needs in (lambda: clf.landscape_, lambda: FeedbackMonitor(clf), lambda: clf.model_.points):
            with raises("records-missing", MissingRecordsError):
                needs()

    def test_synthetic_records(self):
        clf = in_file(SEPClassifier(), *iris())
        X, y = clf.sample(40, random_state=0)
        assert (clf.predict(X) == y).mean() > 0.8


@not_in_memory
@WHERE
@pytest.mark.parametrize("trust", ["counts", "bound"])
def test_trust_that_needs_points_held_out(where, trust):
    with raises("trust-method-in-memory", methods="'local', 'raw', 'paper'", trust=trust):
        where(SEPClassifier(trust=trust), *iris())


@pytest.mark.slow
@not_in_memory
@WHERE
def test_a_core_and_passes_give_the_same_model_wherever_the_records_are(where, small_core):
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 3
    X = rng.normal(size=(1500, 2)) + np.column_stack([2.0 * (y == 1), 3.0 * (y == 2)])
    here, there = SEPClassifier().fit(X, y), where(SEPClassifier(), X, y)
    same_partitions(there, here)
    assert sum(len(block.members) for block in here.partitions_[0].blocks) <= small_core
    Z = around(X)
    assert np.array_equal(here.predict(Z), there.predict(Z))
    assert np.abs(here.predict_proba(Z) - there.predict_proba(Z)).max() < 1e-9
    assert np.abs(here.assess(Z).typicality - there.assess(Z).typicality).max() < 1e-3
    assert here.regions().n_label.tolist() == there.regions().n_label.tolist()


@not_in_memory
@WHERE
def test_interrupting_a_fit_leaves_the_classifier_as_it_was(where, monkeypatch):
    X, y = iris()
    clf = SEPClassifier().fit(pd.DataFrame(X[::2], columns=list("abcd")), y[::2])
    before = dict(vars(clf))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(scattered_counts, "counts_of_scattered", interrupted)
    with pytest.raises(KeyboardInterrupt):
        where(clf, X, y)
    assert vars(clf) == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_do_not_change_the_result(n_jobs):
    X, y = load_iris(return_X_y=True)
    assert same_model(SEPClassifier(n_jobs=n_jobs).fit(X, y), SEPClassifier().fit(X, y))


class TestVoters:
    @pytest.mark.parametrize("trust", ["counts", "bound"])
    def test_they_shape_no_ellipsoid(self, trust):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
        X[40:, 0] += 4.0
        clf = SEPClassifier(trust=trust, standardize=False).fit(X, y)
        (found,) = clf.partitions_
        voters = np.setdiff1d(np.arange(80), np.concatenate([*(b.members for b in found.blocks), *found.isolated]))
        assert len(voters) == 26
        moved = X.copy()
        moved[voters, 1] += 1000.0 * (np.arange(26) % 2)  # they stay the same rows in sorted order
        assert same_model(SEPClassifier(trust=trust, standardize=False).fit(moved, y), clf)


@pytest.mark.slow
class TestMemory:
    """The limit is for sets of a megabyte and more: below that plain code is worth more than a few kilobytes."""

    @pytest.mark.parametrize(("n", "d", "most"), [(13_000, 10, 7), (150_000, 10, 3), (5_000, 30, 6)])
    def test_a_fit_takes_a_few_copies_of_the_data(self, n, d, most):
        y = np.arange(n) % 2
        X = np.random.default_rng(0).standard_normal((n, d))
        X[:, 0] += 2.0 * y
        assert X.nbytes >= 1e6
        SEPClassifier(n_imp=0.1).fit(X[:300], y[:300])  # the compiled code is loaded
        tracemalloc.start()
        try:
            SEPClassifier(n_imp=0.1).fit(X, y)
            assert tracemalloc.get_traced_memory()[1] < most * X.nbytes
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("n_classes", [2, 3])
class TestHonestCounts:
    def test_a_third_of_each_class_shapes_nothing(self, n_classes):
        X, y, _ = overlapping(n_classes)
        rows = voters(SEPClassifier(trust="counts").fit(X, y), len(X))
        shares = [np.mean(y[rows] == c) for c in np.unique(y)]
        assert len(rows) == len(X) // 3
        assert shares == pytest.approx([1 / n_classes] * n_classes, abs=0.02)

    @pytest.mark.parametrize("trust", ["counts", "bound"])
    def test_only_these_are_counted(self, n_classes, trust):
        X, y, Z = overlapping(n_classes, n=80)
        clf = SEPClassifier(trust=trust).fit(X, y)
        rows = voters(clf, len(X))
        V, label = (X[rows] - clf.mean_) / clf.scale_, y[rows]
        ellipsoids = {
            name: block.ellipsoid
            for rules, p in zip(clf.model_.rules, clf.partitions_, strict=True)
            for name, block in zip(rules.names, p.blocks, strict=True)
        }
        a = clf.assess(np.vstack([Z, X]))
        alone = np.flatnonzero(a.rule == "R1")
        assert len(alone) > 20
        for i in alone:
            inside = ellipsoids[a.region[i]].contains(V)
            assert a.counts[i].tolist() == [
                np.count_nonzero(inside & (label == a.label[i])),
                np.count_nonzero(inside & (label != a.label[i])),
            ]
        outside = np.flatnonzero((a.rule == "R3") & np.array([r[1:] in ellipsoids for r in a.region]))
        assert len(outside) > 20
        for i in outside:
            z = (np.vstack([Z, X])[i] - clf.mean_) / clf.scale_
            inside = ellipsoids[a.region[i][1:]].grown_to(z).contains(V)
            assert a.counts[i].sum() == np.count_nonzero(inside)


@pytest.mark.slow
@ignore_isolated
@pytest.mark.parametrize("trust", ["local", "paper", "counts"])
def test_fits_of_whole_numbers_do_not_hang_on_last_bits(trust):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(150, 4)).astype(float)
    y = (X.sum(axis=1) + rng.integers(-3, 4, size=150) > 10).astype(int)
    sizes = {
        repr(SEPClassifier(trust=trust).fit(X * (1.0 + 1e-11 * noise), y).partitions_)
        for noise in (0.0, *rng.standard_normal((4, *X.shape)))
    }
    assert len(sizes) == 1
