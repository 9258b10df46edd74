"""What an accuracy hides of rare labels: the sentences hold, and their numbers can be checked."""

import re

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.common.text import percent
from sepc.reports.label_results import LabelResults


def rare(n, share, seed, shift=0.6):
    """Return records and labels of which a share is "bad", and overlaps the others."""
    rng = np.random.default_rng(seed)
    bad = rng.random(n) < share
    X = rng.normal(size=(n, 2))
    X[:, 0] += shift * bad
    return X, np.where(bad, "bad", "good")


def results_of(clf, X, y, min_trust=0.95):
    a = clf.assess(X)
    how = clf.predict_proba(X), a.trust, a.accepted(min_trust)
    return LabelResults.of(clf.classes_.tolist(), y.tolist(), a.label.tolist(), *how)


@pytest.fixture(scope="module")
def never():
    """A classifier that never gives the rare label."""
    return SEPClassifier().fit(*rare(500, 0.05, 0))


@pytest.fixture(scope="module")
def capped():
    """A classifier that gives the rarer label, but not with much trust."""
    return SEPClassifier().fit(*rare(300, 0.35, 0, shift=1.0))


def test_a_label_that_is_never_given_is_named_with_reasons(never):
    X, y = rare(300, 0.06, 1)
    found = results_of(never, X, y)
    majority, told = found.notes(0.95, never)
    n = np.count_nonzero(y == "bad")
    assert f"right on {300 - n} of 300 records ({percent(1 - n / 300)}), no more than the {300 - n} (" in majority
    assert "majority label good" in majority
    highest = percent(never.predict_proba(X)[:, 0].max())
    assert told.startswith(
        f"the model never predicts bad: {n} of 300 records have it, and its highest probability is {highest};"
    )
    trained = np.count_nonzero(never.model_.records.codes == 0)
    assert told.endswith(f"; {trained} of 500 training records have it, and no partition without them gives it to any.")
    assert found.classes[0].recall == 0.0
    assert found.balanced_accuracy == balanced_accuracy_score(y, never.predict(X)) == 0.5


def test_a_limit_of_the_trust_is_a_limit(capped):
    X, y = rare(400, 0.35, 1, shift=1.0)
    told = [text for text in results_of(capped, X, y).notes(0.95, capped) if "no label bad" in text]
    (limit,) = re.findall(r"can reach a trust of 0.95 here, because the calibration limits it to ([\d.]+) %", *told)
    anywhere = np.random.default_rng(0).uniform(-30.0, 30.0, (20_000, 2))
    for points in (X, anywhere, capped.model_.original(capped.model_.records.points)):
        a = capped.assess(points)
        assert a.trust[a.label == "bad"].max(initial=0.0) <= float(limit) / 100.0 + 5e-4
    points, proba = capped.model_.held_out_probabilities()
    got, truth = proba.argmax(axis=1) == 0, capped.model_.records.codes[points] == 0
    n_right = np.count_nonzero(got & truth)
    assert (
        f"{truth.sum()} of 300 training records have it, and of the {got.sum()} that get it from partitions without "
        f"them {n_right} do ({percent(n_right / got.sum())}; highest trust {percent(proba[got].max())})."
    ) in told[0]


def test_without_a_limit_only_what_was_found_is_told(capped):
    X, y = rare(400, 0.35, 1, shift=1.0)
    found = results_of(capped, X, y, min_trust=0.999)
    trust = capped.trust_score(X)[capped.predict(X) == "bad"]
    told = [text for text in found.notes(0.999) if "no label bad" in text]
    assert told == [
        f"no label bad reaches a trust of 0.999 here; the highest of {len(trust)} is {percent(trust.max())}."
    ]


@pytest.mark.slow
def test_an_ensemble_has_held_out_records_too():
    clf = SEPEnsembleClassifier(n_estimators=3, random_state=0).fit(*rare(400, 0.05, 0))
    told = results_of(clf, *rare(300, 0.06, 1)).notes(0.95, clf)
    assert any("of 400 training records have it" in text for text in told)


def test_a_clear_case_has_no_note():
    X, y = rare(300, 0.2, 0, shift=12.0)
    clf = SEPClassifier().fit(X, y)
    assert results_of(clf, *rare(300, 0.2, 1, shift=12.0)).notes(0.95, clf) == []


def made(truth, given, trust, accepted, n_classes=5):
    names = [f"l{k}" for k in range(n_classes)]
    how = np.full((len(truth), n_classes), 1.0 / n_classes), np.array(trust), np.array(accepted)
    return LabelResults.of(names, [f"l{k}" for k in truth], [f"l{k}" for k in given], *how)


def test_many_labels_stand_in_one_sentence():
    found = made([0, 0, 1, 2, 3, 4, 0], [0] * 7, [0.99] * 7, [True] * 7)
    assert found.notes(0.95)[1:] == ["the model never predicts l1, l2, l3, l4, which some records have."]
    found = made([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0.5] * 5, [False] * 5)
    assert found.notes(0.95) == ["no label l0, l1, l2, l3, l4 is accepted with a trust of at least 0.95 here."]


def test_labels_that_are_refused_in_spite_of_their_trust():
    found = made([0, 1, 1], [0, 1, 1], [0.99, 0.97, 0.5], [True, False, False], 2)
    assert found.notes(0.95) == [
        "no label l1 is accepted here: 1 of 2 have a trust of at least 0.95, and are refused for other reasons."
    ]


def test_a_true_label_that_training_never_had_counts():
    found = LabelResults.of(["a", "b"], ["a", "c"], ["a", "b"], np.eye(2), np.ones(2), np.ones(2, bool))
    assert [(one.label, one.recall) for one in found.classes] == [("a", 1.0), ("b", None), ("c", 0.0)]
    assert found.balanced_accuracy == 0.5


def test_a_single_label_among_the_records_has_no_majority():
    assert made([0, 0], [0, 1], [0.99, 0.99], [True, True], 2).notes(0.95) == []
