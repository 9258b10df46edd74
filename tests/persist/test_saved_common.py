"""Labels, parameters, frames and calibration of saved classifiers."""

import os

import numpy as np
import pytest
from coded import raises, warns
from saved_models import iris, stored

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier


class TestLabelsAndParameters:
    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["a", "béé", "\U0001f9a0 ‏"]),
            np.array(["a", "long enough"], dtype="<U40"),
            np.array(["a", "b\ud800"], dtype=object),
            np.array([3, -(2**62)]),
            np.array([1, 2], dtype=">i4"),
            np.array([1, 255], dtype="u1"),
            np.array([False, True]),
            np.array([0.0, 7.0], dtype="f4"),
        ],
        ids=lambda labels: str(labels.dtype),
    )
    def test_labels_keep_their_type(self, tmp_path, labels):
        X = np.arange(24.0)[:, None]
        clf = SEPClassifier().fit(X, np.repeat(labels, 24 // len(labels)))
        for rows in (True, False):
            found = stored(clf, tmp_path, training_rows=rows)
            assert found.classes_.dtype == clf.classes_.dtype
            assert found.classes_.tolist() == clf.classes_.tolist()
            assert found.predict(X).tobytes() == clf.predict(X).tobytes() or labels.dtype == object
            assert found.assess(3 * X).region.tolist() == clf.assess(3 * X).region.tolist()

    @pytest.mark.parametrize("dtype", ["M8[D]", np.longdouble])
    def test_labels_that_cannot_be_kept_are_refused(self, tmp_path, dtype):
        labels = np.array([1, 2]).astype(dtype)
        clf = SEPClassifier().fit(np.arange(12.0)[:, None], np.repeat(labels, 6))
        with raises("classes-not-storable", dtype=str(np.dtype(dtype))):
            sepc.save(clf, tmp_path / "model.sepc")
        assert os.listdir(tmp_path) == []

    def test_parameters_are_kept(self, moons, tmp_path):
        clf = SEPClassifier(n_imp=np.int64(3), trust="bound", standardize=False, n_jobs=2, verbose=False).fit(*moons)
        found = stored(clf, tmp_path)
        assert found.get_params() == clf.get_params()
        assert np.array_equal(found.fit(*moons).predict_proba(moons[0]), clf.predict_proba(moons[0]))
        share = SEPClassifier(n_imp=0.1).fit(*moons)
        assert stored(share, tmp_path).n_imp == 0.1

    def test_a_parameter_that_cannot_be_kept_is_said(self, moons, tmp_path):
        clf = SEPEnsembleClassifier(n_estimators=1, random_state=np.random.RandomState(7)).fit(*moons)
        with warns("seed-not-stored", name="random_state"):
            found = stored(clf, tmp_path)
        assert found.random_state == 0
        assert np.array_equal(found.predict_proba(moons[0]), clf.predict_proba(moons[0]))


class TestFrames:
    @pytest.mark.parametrize("kind", ["numpy", "pandas", "polars"])
    def test_frames_come_out_as_they_came_in(self, tmp_path, kind):
        X, y = iris(kind)
        clf = SEPClassifier().fit(X, y)
        found = stored(clf, tmp_path)
        assert found.regions().equals(clf.regions())
        one, two = found.sample(3, random_state=0)[0], clf.sample(3, random_state=0)[0]
        assert type(one) is type(two)
        assert np.array_equal(one, two)
        assert getattr(found, "feature_names_in_", np.array([])).tolist() == (
            list(X.columns) if kind != "numpy" else []
        )
        assert found.n_features_in_ == 4


class TestCalibration:
    def test_calibration_scores_are_not_in_the_order_of_the_records(self, fitted, tmp_path):
        clf, _ = fitted["three classes"]
        found = stored(clf, tmp_path, training_rows=False)._calibration
        assert sorted(found.scores.tolist()) == sorted(clf._calibration.scores.tolist())
        assert (np.diff(found.codes) >= 0).all()
