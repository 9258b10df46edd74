"""Regions and rules in words."""

import json

import numpy as np
import pytest
from coded import raises
from saved_models import KINDS
from sklearn.exceptions import NotFittedError

import sepc
from sepc import SEPClassifier


class TestRulesDict:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_ready_for_json(self, fitted, kind):
        told = sepc.persist.rules_dict(fitted[kind][0])
        assert json.loads(json.dumps(told, allow_nan=False)) == told

    def test_regions_are_those_of_the_classifier(self, fitted):
        clf, _ = fitted["three classes"]
        told = sepc.persist.rules_dict(clf)
        regions = [region for problem in told["problems"] for region in problem["regions"]]
        frame = clf.regions()
        for column in ("region", "label", "n_label", "n_others", "purity", "trust"):
            assert [region[column] for region in regions] == frame[column].tolist()
        for feature in told["features"]:
            assert [region["reach"][feature]["high"] for region in regions] == frame[f"{feature} high"].tolist()
            for region in regions:
                at = region["reach"][feature]
                assert np.isclose(at["centre"], (at["low"] + at["high"]) / 2)
        assert told["classes"][0] == {"label": "setosa", "n_records": 25}
        assert sorted(told["rules"]) == ["R1", "R2a", "R2b", "R3"]
        assert told["parameters"]["standardize"] is False

    def test_what_was_stated_of_classes_and_costs_is_told(self, fitted):
        clf, _ = fitted["three classes"]
        assert sepc.persist.rules_dict(clf)["policy"] is None
        told = sepc.persist.rules_dict(
            clf.under({"setosa": 0.5}, np.column_stack([2.0 - 2.0 * np.eye(3), np.ones(3)]))
        )["policy"]
        assert told["class_prior"][0] == {"label": "setosa", "share": 0.5}
        assert len(told["costs"]) == 6
        assert {one["cost"] for one in told["asking"]} == {1.0}

    def test_members_are_those_of_the_ensemble(self, fitted):
        clf, _ = fitted["ensemble"]
        told = sepc.persist.rules_dict(clf)
        assert [member["weight"] for member in told["members"]] == clf.weights_.tolist()
        regions = [region["region"] for member in told["members"] for region in member["regions"]]
        assert regions == clf.regions()["region"].tolist()

    def test_regions_of_members_reach_in_the_original_units(self, fitted):
        clf, _ = fitted["ensemble"]
        smallest, largest = clf.model_.views.bounds
        told = sepc.persist.rules_dict(clf)
        number = {name: j for j, name in enumerate(told["features"])}
        in_view = set()
        for member in told["members"]:
            for region in member["regions"]:
                assert (region["reach"] is None) == region["region"].endswith("@")
                for name, ends in (region["reach"] or {}).items():
                    known = [end for end in ends.values() if end is not None]
                    assert all(smallest[number[name]] < end < largest[number[name]] for end in known)
                    assert known == sorted(known)
                    in_view |= {member["looks_at"]} if known else set()
        assert in_view == {"values", "normal scores of the values"}

    def test_what_is_no_classifier_is_refused(self):
        with raises("clf-no-model", clf="model"):
            sepc.persist.rules_dict("model")
        with pytest.raises(NotFittedError):
            sepc.persist.rules_dict(SEPClassifier())
