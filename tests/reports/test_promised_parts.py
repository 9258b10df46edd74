"""The section of a report on what is promised."""

import json
import re

import numpy as np
import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier, report, select_min_trust
from sepc.reports.promised_parts import promise_results
from sepc.reports.subject import Subject

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(1200) < 0.4, "ill", "well")
X = RNG.normal(size=(1200, 2)) + np.where(Y == "ill", 2.2, 0.0)[:, None]
SITE = np.where(X[:, 1] > 1.0, "north", "south")
CAL, TEST = slice(300, 800), slice(800, 1200)
COSTS = {"ill": {"well": 5.0}, "well": {"ill": 1.0}}


@pytest.fixture(scope="module")
def clf():
    return SEPClassifier(n_imp=0.1).fit(X[:300], Y[:300])


def signed(clf, **asked):
    return clf.sign(select_min_trust(clf, X[CAL], Y[CAL], **asked))


@pytest.mark.slow
def test_without_a_promise_there_is_no_section(clf):
    clf.sign(None)
    made = report(clf, X[TEST], Y[TEST], max_records=0)
    assert made.to_dict()["promise"] is None
    assert 'id="promise"' not in made.html()


@pytest.mark.slow
@pytest.mark.parametrize("by", [None, "label", "region", "site"])
def test_its_numbers_are_those_of_numpy(clf, by):
    groups = SITE if by == "site" else None
    signed(clf, max_error=0.1, by=SITE[CAL] if by == "site" else by)
    new = None if groups is None else groups[TEST]
    made = report(clf, X[TEST], Y[TEST], max_records=0, groups=new)
    found = made.to_dict()["promise"]
    accepted = np.array([x is not None for x in clf.predict_or_abstain(X[TEST], clf.promise, groups=new)])
    right = clf.predict(X[TEST]) == Y[TEST]
    label, region = clf.predict(X[TEST]), clf.assess(X[TEST]).main_region
    of_part = {"label": label, "region": region, "group": new}
    promised = {}
    for bar in found["bars"]:
        if bar["kind"] == "all":
            members = np.full(400, True)
        elif bar["name"].startswith("other regions of "):
            signed_alone = list(clf.promise.parts)
            members = (label == bar["name"].rpartition(" ")[2]) & ~np.isin(region.astype(str), signed_alone)
        else:
            members = of_part[bar["kind"]] == bar["name"]
        assert bar["n_records"] == members.sum()
        assert bar["n_accepted"] == (members & accepted).sum()
        assert bar["n_wrong"] == (members & accepted & ~right).sum()
        promised[bar["name"]] = bar["promised"]
    kept = ["all labels"] if by is None else [part.part for part in clf.promise.parts.values() if part.is_kept]
    assert {name for name, text in promised.items() if text == "at most 10 %"} == set(kept)
    page = made.html()
    assert len(re.findall(r'id="promise-limit-\d+"', page)) == sum(text == "at most 10 %" for text in promised.values())
    assert '<a href="#promise">' in page
    assert found["text"] in made.markdown()
    json.dumps(found)


def test_costs_are_told_as_costs(clf):
    signed(clf, max_cost=0.4, costs=COSTS, by="label")
    made = report(clf, X[TEST], Y[TEST], max_records=0)
    (ill, *_) = made.to_dict()["promise"]["bars"]
    taken = np.array([label == "ill" for label in clf.predict_or_abstain(X[TEST], clf.promise)])
    assert ill["loss"] == pytest.approx(np.mean(Y[TEST][taken] == "well"))
    assert "at most 0.4" in made.markdown()


@pytest.mark.slow
def test_groups_that_are_not_told_are_asked_for(clf):
    signed(clf, max_error=0.1, by=SITE[CAL])
    made = report(clf, X[TEST], Y[TEST], max_records=0)
    content = made.to_dict()["promise"]
    assert content["bars"] == []
    assert content["text"] in made.markdown()
    made.html()


def test_of_an_ensemble_labels_alone():
    ensemble = SEPEnsembleClassifier(n_estimators=2, random_state=0).fit(X[:200], Y[:200])
    signed(ensemble, max_error=0.15)
    found = promise_results(Subject.of(ensemble, X[TEST], Y[TEST]))
    assert [bar["kind"] for bar in found["bars"]] == ["all", "label", "label"]
