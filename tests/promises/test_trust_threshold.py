"""Promises that are signed, saved and loaded."""

import json
import pickle

import numpy as np
import pytest
from coded import raises
from sklearn.base import clone

from sepc import ModelFileError, SEPClassifier, SEPEnsembleClassifier, load, make_table_pipeline, save
from sepc import select_min_trust as select
from sepc.promises import TrustThreshold

X = np.random.default_rng(0).normal(size=(900, 2))
Y = np.where(X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=900) > 0, "ill", "well")
COSTS = {"ill": {"well": 5.0}, "well": {"ill": 1.0}}
ASKED = {
    "all": {},
    "label": {"by": "label"},
    "region": {"by": "region"},
    "group": {"by": np.where(X[400:, 1] > 0, "a", "b")},
    "groups": {"by": X[400:] > 0},
    "cost": {"max_cost": 0.5, "costs": COSTS},
}


@pytest.fixture(scope="module")
def clf():
    return SEPClassifier(n_imp=0.1).fit(X[:400], Y[:400])


@pytest.mark.parametrize("asked", ASKED)
def test_the_same_promise_comes_back_from_json_and_from_a_file(clf, asked, tmp_path):
    limit = {} if asked == "cost" else {"max_error": 0.15}
    found = select(clf, X[400:], Y[400:], **limit, **ASKED[asked])
    assert TrustThreshold.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    clf.sign(found)
    for rows in (True, False):
        save(clf, tmp_path / "m.sepc", training_rows=rows)
        again = load(tmp_path / "m.sepc")
        assert again.promise == found
        groups = ASKED[asked].get("by") if asked.startswith("group") else None
        answers = [one.predict_or_abstain(X[400:], one.promise, groups=groups) for one in (clf, again)]
        assert np.array_equal(*answers)
    assert pickle.loads(pickle.dumps(clf)).promise == found
    clf.sign(None)
    save(clf, tmp_path / "m.sepc")
    assert load(tmp_path / "m.sepc").promise is None


@pytest.mark.parametrize("make", [SEPEnsembleClassifier, make_table_pipeline])
def test_ensembles_and_pipelines_keep_theirs(make, tmp_path):
    model = (make() if make is make_table_pipeline else make(n_estimators=2, random_state=0)).fit(X[:200], Y[:200])
    found = select(model, X[400:], Y[400:], max_error=0.2, by="label")
    save(model.sign(found), tmp_path / "m.sepc")
    again = load(tmp_path / "m.sepc")
    assert again.promise == found
    assert np.array_equal(again.predict_or_abstain(X[:50], again.promise), model.predict_or_abstain(X[:50], found))


def test_a_fit_forgets_the_promise_and_so_does_a_clone():
    one = SEPClassifier(n_imp=0.1).fit(X[:400], Y[:400])
    one.sign(select(one, X[400:], Y[400:], max_error=0.15))
    assert clone(one).promise is None
    assert one.fit(X[:300], Y[:300]).promise is None


def test_only_the_promise_of_this_model_can_be_signed(clf):
    other = SEPClassifier().fit(X[:100], Y[:100])
    with raises("promise-of-another-model"):
        other.sign(select(clf, X[400:], Y[400:], max_error=0.15))
    with raises("promise-no-threshold-object", promise=0.9):
        clf.sign(0.9)
    assert other.promise is None


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told.pop("confidence"),
        lambda told: told.update(confidence=3.0),
        lambda told: told.update(by="colour"),
        lambda told: told["parts"][0].update(min_trust=-1.0),
        lambda told: told["parts"][0].update(status="sure"),
        lambda told: told["parts"][0].update(min_trust=None),
        lambda told: told["parts"].append(told["parts"][0]),
    ],
    ids=["gone", "too large", "unknown", "negative", "status", "no trust", "twice"],
)
def test_a_damaged_promise_is_refused(clf, change, tmp_path, monkeypatch):
    found = select(clf, X[400:], Y[400:], max_error=0.15, by="label")
    told = json.loads(json.dumps(found.to_dict()))
    change(told)
    with pytest.raises(ValueError, match="a promise"):
        TrustThreshold.from_dict(told)
    clf.sign(found)
    monkeypatch.setattr(type(found), "to_dict", lambda self: told)  # noqa: ARG005
    save(clf, tmp_path / "m.sepc")
    clf.sign(None)
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.sepc")
