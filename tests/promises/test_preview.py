"""Previews: what a promise would be like, by training records that were left out."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from coded import raises

from sepc import SEPClassifier, SEPEnsembleClassifier, load, make_table_pipeline, save, select_min_trust
from sepc.promises import preview_promise
from sepc.promises.safe_thresholds import records_needed


def records(n, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "ill", "well")
    X = rng.normal(size=(n, 3))
    X[y == "ill"] += 1.6
    return X, y


@pytest.fixture(scope="module")
def clf():
    return SEPClassifier(n_imp=0.1).fit(*records(600, 0))


def test_verdicts_are_those_of_partitions_that_had_not_seen_the_record(clf):
    points, proba = clf.model_.held_out_probabilities()
    assert sorted(points.tolist()) == list(range(600))
    right = np.mean(proba.argmax(axis=1) == clf.model_.codes[points])
    X, y = records(4000, 1)
    assert abs(right - np.mean(clf.predict(X) == y)) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("by", [None, "label"])
def test_it_foretells_what_promises_accept(clf, by):
    X, y = records(40_000, 2)
    told = preview_promise(clf, max_error=0.1, by=by, sizes=(300,))
    got = {row.part: [] for row in told.rows}
    label = clf.predict(X)
    for start in range(0, 12_000, 300):
        rows = slice(start, start + 300)
        found = select_min_trust(clf, X[rows], y[rows], max_error={None: 0.1}, by=by or np.full(300, "all labels"))
        for part in found.parts.values():
            mine = np.full(len(X), True) if by is None else label == part.part
            sure = clf.assess(X[20_000:22_000]).accepted(part.min_trust)
            share = np.mean(sure[mine[20_000:22_000]])
            got[part.part].append((part.is_kept, share))
    for row in told.rows:
        promised, accepted = np.mean(got[row.part], axis=0)
        assert abs(row.promised - promised) < 0.3
        assert abs(row.accepted - accepted) < 0.15


def test_more_records_never_make_it_worse_by_much_and_enough_are_enough(clf):
    told = preview_promise(clf, max_error=0.1, sizes=(records_needed(0.1, 0.95) - 1, 200, 800))
    promised = [row.promised for row in told.rows]
    assert promised[0] == 0.0  # too few, even if none is wrong
    assert promised[2] >= promised[1] - 0.1
    n = told.n_needed["all labels"]
    assert n is None or next(row for row in told.rows if row.n_calibration == n).promised >= 0.8
    assert "600" in repr(told)
    assert json.loads(json.dumps(told.to_dict()))["n_held_out"] == 600


@pytest.mark.slow
def test_costs_ensembles_tables_and_files(clf, tmp_path):
    X, y = records(200, 0)
    costs = {"ill": {"well": 5.0}, "well": {"ill": 1.0}}
    dear = preview_promise(clf, max_cost=1.0, costs=costs, by="label", sizes=(400,))
    assert dear.n_needed["ill"] == 400  # none costs more than 1
    ensemble = SEPEnsembleClassifier(n_estimators=3, random_state=0).fit(X, y)
    assert preview_promise(ensemble, max_error=0.2, sizes=(400,)).n_held_out == 200
    table = make_table_pipeline().fit(pd.DataFrame(X), y)
    told = preview_promise(table, max_error=0.2, sizes=(400,))
    save(table, tmp_path / "m.sepc")
    assert preview_promise(load(tmp_path / "m.sepc"), max_error=0.2, sizes=(400,)) == told


def test_an_estimate_from_a_few_records_says_how_little_they_say():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]])
    few = preview_promise(SEPClassifier().fit(X, np.repeat(["a", "b"], 4)), sizes=(100,))
    assert "8 " in repr(few)
    assert repr(replace(few, n_held_out=600)).replace("600", "8") != repr(few)


def test_what_cannot_be_foretold(clf, tmp_path):
    for bad in ("region", np.zeros(3)):
        with raises("preview-by"):
            preview_promise(clf, by=bad)
    with raises("preview-sizes", sizes=(0,)):
        preview_promise(clf, sizes=(0,))
    with raises("preview-without-verdicts", type="SEPClassifier"):
        preview_promise(SEPClassifier(trust="paper").fit(*records(60, 0)))
    save(clf, tmp_path / "m.sepc", training_rows=False)
    with raises("preview-without-verdicts", type="SEPClassifier"):
        preview_promise(load(tmp_path / "m.sepc"))
