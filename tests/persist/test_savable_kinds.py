"""Classes that can be saved."""

import os

import pytest
from sklearn.exceptions import NotFittedError

import sepc
from sepc import InputError, SEPClassifier


class TestKinds:
    def test_only_fitted_classifiers_of_these_kinds_are_saved(self, fitted, tmp_path):
        class Mine(SEPClassifier):
            pass

        for other in (Mine(), "model", fitted["local"][0].model_):
            with pytest.raises(InputError, match="expected a fitted SEPClassifier"):
                sepc.save(other, tmp_path / "model.sepc")
        with pytest.raises(NotFittedError):
            sepc.save(SEPClassifier(), tmp_path / "model.sepc")
        assert os.listdir(tmp_path) == []
