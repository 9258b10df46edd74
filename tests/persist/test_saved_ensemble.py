"""Saved ensembles: honest probabilities, and what stays of the records without them."""

import numpy as np
from saved_models import stored

import sepc
from sepc import SEPEnsembleClassifier
from sepc.persist.model_files import FORMAT


class TestTheSame:
    def test_honest_probabilities_are_the_same(self, fitted, tmp_path):
        clf, _ = fitted["ensemble"]
        assert np.array_equal(stored(clf, tmp_path).out_of_fold_proba_, clf.out_of_fold_proba_)


class TestWithoutRecords:
    def test_an_ensemble_keeps_single_values_and_isolated_records_only(self, moons, tmp_path):
        clf = SEPEnsembleClassifier(n_estimators=2).fit(*moons)
        sepc.save(clf, tmp_path / "model.sepc", training_rows=False)
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        values = [moons[0], *(records.points for records in clf.model_.records_by_view)]
        known = {v for some in values for v in some.ravel().tolist()} - {0.0}
        with_values = {name for name, array in arrays.items() if known & set(array.ravel().tolist())}
        alone = {name: array for name, array in arrays.items() if name.endswith("isolated_points") and array.size}
        assert with_values == {"views/quantiles", *alone}
        assert header["isolated_points"] == sum(len(array) for array in alone.values())
