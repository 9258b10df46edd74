"""`sepc inspect`: the content of a model."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from command_line import do
from said import said
from saved_models import fixture_path
from sklearn.datasets import load_breast_cancer

import sepc
from sepc.cli.commands.inspect import regions_text
from sepc.cli.messages import MESSAGES


@pytest.mark.usefixtures("here")
class TestInspect:
    def test_inspect_shows_what_is_in_the_model(self, capsys):
        assert do("inspect model.sepc") == 0
        assert said(capsys.readouterr().out)["learned-from"].n == 300
        assert do("inspect model.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert {"name": "colour", "kind": "category"} in found["columns"]
        assert found["n_regions"] == len(sepc.load("model.sepc").regions())
        assert found["rules"]

    def test_it_tells_what_was_stated_of_classes_and_costs(self, capsys):
        costs = {"yes": {"no": 8.0}, "no": {"yes": 1.0}, None: 0.5}
        sepc.save(sepc.load("model.sepc").under({"yes": 0.1}, costs), "stated.sepc")
        assert do("inspect stated.sepc") == 0
        shown = said(capsys.readouterr().out)
        assert shown["class-shares"].shares == "no 90 %, yes 10 %"
        assert [(one.cost, one.given, one.true) for one in shown["cost"].all] == [(1, "yes", "no"), (8, "no", "yes")]
        assert shown["asking-cost"].costs == 0.5

    def test_it_says_why_a_pure_region_has_little_trust(self):
        frame = pd.DataFrame({"region": ["a#1", "b#1"], "purity": [0.99, 1.0], "trust": [0.97, 0.23]})
        model = SimpleNamespace(regions=lambda: frame)
        assert said(regions_text(model))["pure-without-trust"].regions == "b#1"
        frame["trust"] = [0.97, 0.9]
        assert "pure-without-trust" not in said(regions_text(model))

    @pytest.mark.slow
    def test_it_tells_how_the_trust_was_calibrated(self, capsys):
        X, y = load_breast_cancer(return_X_y=True)
        clf = sepc.SEPClassifier().fit(X[::2], np.array(["ill\n", "well"])[y[::2]])
        calibration = clf.model_.calibration
        sepc.save(clf, "leaning.sepc")
        assert do("inspect leaning.sepc") == 0
        shown = said(capsys.readouterr().out)
        assert calibration.correction.argmax() == 0
        assert shown["calibrated"].n == 285
        assert shown["calibrated"].temperature == float(f"{calibration.temperature:.2g}")
        moved = said(shown["calibrated"].moved)["moved-towards"]
        assert moved.label.startswith(r"ill\n")
        assert moved.by == float(f"{np.ptp(calibration.correction):.2g}")
        assert moved.label.endswith(MESSAGES["with-linear-terms"]) is (calibration.linear is not None)
        assert do("inspect leaning.sepc --json") == 0
        assert json.loads(capsys.readouterr().out)["calibration"] == {
            "n_held_out": 285,
            "temperature": calibration.temperature,
            "correction": calibration.correction.tolist(),
            "slopes": None if calibration.linear is None else calibration.linear.slopes.tolist(),
            "n_places": 0 if calibration.local is None else len(calibration.local.radii),
            "background": calibration.unexplained,
        }

    def test_the_background_of_an_ensemble_is_what_holds_its_surest_label_back(self, capsys):
        assert do(f"inspect {fixture_path('v1-ensemble')} --json") == 0
        assert 0.0 < json.loads(capsys.readouterr().out)["calibration"]["background"] < 1.0

    def test_it_says_nothing_of_corrections_that_are_none(self, capsys):
        sepc.save(
            sepc.SEPClassifier().fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], [0, 0, 0, 1, 1, 1]), "few.sepc"
        )
        assert do("inspect few.sepc") == 0
        shown = said(capsys.readouterr().out)
        assert shown["calibrated"].moved == ""

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_it_tells_of_a_model_that_was_not_calibrated(self, capsys):
        assert do(f"inspect {fixture_path('v1-binary-paper')}") == 0
        shown = said(capsys.readouterr().out)
        assert "not-calibrated" in shown
        assert shown["counting-trust"].method == "paper"
