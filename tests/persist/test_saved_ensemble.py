"""Saved ensembles: honest probabilities, and what stays of the records without them."""

import numpy as np
import pytest
from saved_models import assert_same, stored, told
from sklearn.datasets import make_moons

import sepc
from sepc import ModelFileError, SEPEnsembleClassifier
from sepc.estimators.ensemble.feature_views import STEPS
from sepc.persist.model_files import FORMAT
from sepc.persist.named_arrays import ArrayWriter


class TestTheSame:
    def test_honest_probabilities_are_the_same(self, fitted, tmp_path):
        clf, _ = fitted["ensemble"]
        assert np.array_equal(stored(clf, tmp_path).out_of_fold_proba_, clf.out_of_fold_proba_)


@pytest.fixture(scope="module")
def with_steps(moons):
    """Return an ensemble with a member that sees each feature through steps, which its parts have learnt."""
    clf = SEPEnsembleClassifier(n_estimators=5).fit(*moons)
    assert clf.model_.members[4].plan.view == STEPS
    return clf.calibrate(*make_moons(200, noise=0.35, random_state=1))


class TestSteps:
    def test_its_members_judge_alike(self, with_steps, moons, tmp_path):
        assert_same(told(with_steps, moons[0]), told(stored(with_steps, tmp_path), moons[0]))

    def test_cuts_that_do_not_ascend_are_refused(self, with_steps, tmp_path, monkeypatch):
        put = ArrayWriter.put
        monkeypatch.setattr(ArrayWriter, "put", lambda at, name, a: put(at, name, a[::-1] if name == "cuts" else a))
        with pytest.raises(ModelFileError):
            stored(with_steps, tmp_path)


class TestWithoutRecords:
    def test_an_ensemble_keeps_single_values_and_isolated_records_only(self, moons, tmp_path):
        clf = SEPEnsembleClassifier(n_estimators=2).fit(*moons)
        sepc.save(clf, tmp_path / "model.sepc", training_rows=False)
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        values = [moons[0], *(records.points for records in clf.model_.records_by_view)]
        known = {v for some in values for v in some.ravel().tolist()} - {0.0}
        with_values = {name for name, array in arrays.items() if known & set(array.ravel().tolist())}
        alone = {name: array for name, array in arrays.items() if name.endswith("isolated_points") and array.size}
        assert with_values == {"reach_high", "reach_low", "view1/quantiles", *alone}
        assert header["isolated_points"] == sum(len(array) for array in alone.values())
