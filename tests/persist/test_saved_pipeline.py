"""Saved pipelines of raw tables."""

import numpy as np
import pandas as pd
import pytest
from saved_models import stored

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier


class TestTables:
    @pytest.mark.parametrize("rows", [True, False])
    @pytest.mark.parametrize("classifier", [SEPClassifier(), SEPEnsembleClassifier(n_estimators=1)])
    def test_a_table_pipeline_is_the_same(self, tmp_path, classifier, rows):
        rng = np.random.default_rng(0)
        table = pd.DataFrame(
            {
                "size": rng.normal(size=60) + np.repeat([0.0, 2.0], 30),
                "kind": rng.choice(["a", "b", "<c>"], 60),
                "day": pd.date_range("2024-01-01", periods=60),
            }
        )
        table.loc[3, "size"] = None
        clf = sepc.make_table_pipeline(classifier).fit(table, np.repeat(["low", "high"], 30))
        clf.set_params(verbose=True)
        found = stored(clf, tmp_path, training_rows=rows)
        asked = table.assign(kind="unseen", size="?")
        for new in (table, asked):
            assert found.assess(new).to_frame().equals(clf.assess(new).to_frame())
        one, two = (one.explain(asked.iloc[[40]]).to_dict() for one in (found, clf))
        assert rows is (repr(one) == repr(two))
        # Among what is told of features: how usual a value is in a region.
        of_records = {"neighbours", "counterfactual", "features", "missing", "text"}
        assert of_records >= {name for name in one if repr(one[name]) != repr(two[name])}
        assert bool(one["neighbours"]) is rows
        assert found["columns"].columns_ == clf["columns"].columns_
        assert found.get_params()["verbose"] is True
        assert found.feature_names_in_.tolist() == list(table.columns)
        assert (found["classifier"].model_.records is None) is not rows
        assert sepc.persist.rules_dict(found)["columns"] == clf["columns"].notes
