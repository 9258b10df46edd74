"""No way to a label accepts one that the promise in force does not cover."""

import json
import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from command_line import do, read
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from sepc import SEPClassifier, load, make_table_pipeline, report, save, select_min_trust
from sepc.feedback import FeedbackMonitor


def patients(n, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "ill", "well")
    X = rng.normal(size=(n, 2)) + np.where(y == "ill", 1.6, 0.0)[:, None]
    return pd.DataFrame(X.round(4), columns=["age", "dose"]), y


TRAIN, CAL, NEW = patients(400, 0), patients(600, 1), patients(150, 2)
COSTS = {"ill": {"well": 5.0}, "well": {"ill": 1.0}}


def signed(max_error):
    clf = SEPClassifier(n_imp=0.1).fit(*TRAIN)
    return clf.sign(select_min_trust(clf, *CAL, max_error=max_error))


def refitted():
    return FeedbackMonitor(signed(0.15)).observe(*patients(60, 3)).repartition()[0]


# What becomes of a promise, with the classifier that has signed it.
PROMISES = {
    "kept": lambda: signed(0.15),
    "could not be kept": lambda: signed(0.0001),
    "refitted by feedback": refitted,
    "other costs": lambda: signed(0.15).under(costs=COSTS),
}


@pytest.fixture(scope="module", params=PROMISES)
def clf(request):
    return PROMISES[request.param]()


def is_given(labels):
    return np.array([label is not None for label in np.asarray(labels).tolist()])


def loaded(clf, folder):
    save(clf, folder / "m.sepc", training_rows=False)
    return load(folder / "m.sepc")


def in_scikit_learn(clf):
    pipeline = Pipeline([("same", FunctionTransformer()), ("classifier", clf)])
    return pipeline[-1].assess(pipeline[:-1].transform(NEW[0]))


def by_command(clf, folder, line):
    """Write the model and the new rows, and run a command there on both."""
    save(clf, folder / "m.sepc")
    NEW[0].assign(y=NEW[1]).to_csv(folder / "new.csv", index=False)
    assert do(line) == 0


def predicted(clf, folder):
    by_command(clf, folder, "predict m.sepc new.csv -o out.csv")
    return np.array([row["accepted"] == "true" for row in read("out.csv")])


def counted(clf, folder, capsys):
    capsys.readouterr()
    by_command(clf, folder, "predict m.sepc new.csv -o out.csv --json")
    told = json.loads(capsys.readouterr().out)
    assert told["promise_holds"] is told["promise"]["is_kept"] is clf.promise.is_kept
    return told["accepted"]


def compared(clf, folder, capsys):
    capsys.readouterr()
    by_command(clf, folder, "compare m.sepc m.sepc new.csv --target y --json")
    told = json.loads(capsys.readouterr().out)
    assert told["by_promise"] == [True, True]
    return told["b"]["accepted"]


def reported(clf, folder):
    by_command(clf, folder, "report new.csv --target y --model m.sepc -o out.json --max-records 3")
    told = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert told["results"]["at"]["n_accepted"] == told["records"]["refusal"].count(None)
    return np.array(told["records"]["refusal"]) == None  # noqa: E711


def explained(clf, folder, capsys):
    """The first rows, one by one: accepted are those that the text says to accept."""
    capsys.readouterr()
    by_command(clf, folder, "explain m.sepc new.csv --row 1 2 3 4 5 6 --json")
    told = json.loads(capsys.readouterr().out)
    return np.array([row["acceptance"]["refusal"] is None for row in told])


WAYS = {
    "predict_or_abstain": lambda clf, *_: is_given(clf.predict_or_abstain(NEW[0])),
    "accepted": lambda clf, *_: clf.assess(NEW[0]).accepted(),
    "refusals": lambda clf, *_: clf.assess(NEW[0]).refusals() == None,  # noqa: E711
    "label_or": lambda clf, *_: is_given(clf.assess(NEW[0]).label_or(None)),
    "the promise passed on": lambda clf, *_: clf.assess(NEW[0]).accepted(clf.promise),
    "its number passed on": lambda clf, *_: clf.assess(NEW[0]).accepted(clf.promise.min_trust),
    "loaded": lambda clf, folder, _: loaded(clf, folder).assess(NEW[0]).accepted(),
    "pickled": lambda clf, *_: pickle.loads(pickle.dumps(clf)).assess(NEW[0]).accepted(),
    "scikit-learn Pipeline": lambda clf, *_: in_scikit_learn(clf).accepted(),
    "table pipeline": lambda clf, *_: make_table_pipeline().fit(*TRAIN).with_classifier(clf).assess(NEW[0]).accepted(),
    "Dask": lambda clf, *_: np.asarray(clf.assess(da.from_array(NEW[0].to_numpy(), chunks=40)).accepted()),
    "Dask, abstaining": lambda clf, *_: is_given(clf.predict_or_abstain(da.from_array(NEW[0].to_numpy(), chunks=40))),
    "audit": lambda clf, *_: FeedbackMonitor(clf).audit(NEW[0]).probability < 1.0,
    "report of Python": lambda clf, *_: report(clf, *NEW, max_records=0).to_dict()["results"]["at"]["n_accepted"],
    "sepc predict": lambda clf, folder, _: predicted(clf, folder),
    "sepc predict --json": counted,
    "sepc compare": compared,
    "sepc report": lambda clf, folder, _: reported(clf, folder),
    "sepc explain": explained,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning", "ignore:X does not have valid feature names")
def test_no_way_in_accepts_a_label_that_the_promise_in_force_does_not_cover(way, clf, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a, promise = clf.assess(NEW[0]), clf.promise
    covered = (a.trust >= promise.min_trust) & a.accepted(0.0)
    assert covered.any() == promise.is_kept
    found = WAYS[way](clf, tmp_path, capsys)
    if isinstance(found, int):  # a command that only counts
        assert found == np.count_nonzero(covered)
    else:
        assert np.array_equal(found, covered[: len(found)])
