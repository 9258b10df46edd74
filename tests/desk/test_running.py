"""A desk that is opened from Python: for any model of the family, with what another model says in columns."""

import os
import signal
import threading

import numpy as np
import pytest
from desk_clients import Client
from desks import classifier, records
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from sepc import InputError, SEPEnsembleClassifier, TrustedClassifier
from sepc.desk import Address, Terms, run
from sepc.desk.events import Events


def served(clf, X, path, **options):
    """Run a desk in this process, let ada decide its first record, and interrupt it; return the label that she gave."""
    given = []

    def visit(addresses):
        def decide():
            try:
                client = Client(addresses["ada"], "ada", lambda _: "ill")
                client.decide(*client.next())
                given.extend(client.saved)
                client.close()
            finally:
                os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=decide, daemon=True).start()

    run(clf, X, path, people=["ada"], address=Address(port=0), on_start=visit, **options)
    return given


def queue(path):
    events = Events(path)
    events.verify()
    rows = events.rows("SELECT * FROM queue ORDER BY record")
    events.close()
    return rows


@pytest.mark.processes
def test_the_same_call_goes_on_where_it_stopped(tmp_path):
    X, path = records(80, 3)[0], tmp_path / "new.desk.db"
    terms = Terms(audit=0.2)
    assert len(served(classifier(), X, path, terms=terms)) == 1
    before = queue(path)
    assert [row["decided_label"] for row in before].count("ill") == 1
    assert len(served(classifier(), X, path, terms=terms)) == 1
    after = queue(path)
    assert len(after) == len(before)
    assert [row["decided_label"] for row in after].count("ill") == 2
    with pytest.raises(InputError, match="is no model that the desk"):
        served(SEPEnsembleClassifier(n_estimators=2, random_state=0).fit(*records(100)), X, path)


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["array", "ensemble", "around"])
def test_every_model_of_the_family_has_a_desk(tmp_path, kind):
    X, y = records(200)
    new = records(60, 3)[0]
    if kind == "array":
        clf, new = type(classifier())().fit(X.to_numpy(), y), new.to_numpy()
    elif kind == "ensemble":
        clf = SEPEnsembleClassifier(n_estimators=3, random_state=0).fit(X, y)
    else:
        clf = TrustedClassifier(LogisticRegression(), cv=3).fit(X, y)
    path = tmp_path / "new.desk.db"
    served(clf, new, path, terms=Terms(audit=0.2, min_trust=0.99))
    a = clf.assess(new)
    for row in queue(path):
        assert row["label"] == a.label[row["row"] - 1]
        assert row["trust"] == pytest.approx(a.trust[row["row"] - 1])


@pytest.mark.processes
@pytest.mark.parametrize("around", [False, True])
def test_columns_that_the_model_does_not_read_are_shown(tmp_path, around):
    X, y = records(200)
    clf = TrustedClassifier(LogisticRegression(), cv=3).fit(X, y) if around else classifier()
    new = records(60, 3)[0].sample(frac=1.0, random_state=0)
    given = new.assign(patient=[f"P-{i}" for i in range(60)])[["patient", "dose", "age"]]
    path = tmp_path / "new.desk.db"
    served(clf, given, path)
    a = clf.assess(new)
    for row in queue(path):
        patient, *_, index = row["text"].split()
        assert (patient, index) == (f"P-{row['row'] - 1}", str(new.index[row["row"] - 1]))
        assert row["label"] == a.label[row["row"] - 1]


def test_answers_that_are_values_cannot_be_columns(tmp_path):
    X, y = records(200)
    clf = TrustedClassifier(LinearSVC(), cv=3).fit(X, y)
    with pytest.raises(InputError, match="decision_function"):
        run(clf, X[:20], tmp_path / "new.desk.db")
    with pytest.raises(InputError, match="has 3 columns and no names"):
        run(classifier(), np.zeros((4, 3)), tmp_path / "other.desk.db")
