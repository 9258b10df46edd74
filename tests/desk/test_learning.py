"""What a desk's model learns: the monitor sees the random sample, and a refit holds half of it back."""

import numpy as np
import pyarrow as pa
import pytest
from coded import raises
from desks import batch, classifier, decide_all, new_desk, records, truth

from sepc import TrustedClassifier, load, save, select_min_trust
from sepc.around import GivenScores
from sepc.desk.batches import Batch
from sepc.desk.judge import file_digest
from sepc.desk.learning import refit, watch
from sepc.desk.opening import about_model, judge_of


def silent(step):
    """Report no step."""


def opposite(desk):
    """Return what gives the other label than the true one."""
    other = {"ill": "well", "well": "ill"}
    return lambda record: other[truth(desk)(record)]


def of_queue(desk, condition):
    return [row["record"] for row in desk.events.rows(f"SELECT record FROM queue WHERE {condition}")]


@pytest.fixture
def signed():
    clf = classifier().under()
    return clf.sign(select_min_trust(clf, *records(400, seed=5), max_error=0.2))


def test_the_monitor_sees_all_rows_and_tests_the_labels_of_the_sample(tmp_path, signed):
    desk = new_desk(tmp_path, clf=signed, audit=0.4)
    decide_all(desk, "ada", truth(desk))
    found = watch(desk.events, desk.judge, silent)
    sample = of_queue(desk, "sampled")
    assert found["report"]["n"] == 200
    assert found["report"]["n_labelled"] == desk.progress()["decided"]
    assert found["report"]["error_drift"]["n"] == len(sample)
    assert found["report"]["promise_drift"]["n"] == len(of_queue(desk, "is_audit"))
    assert found["alarms"] == []
    assert found["since"] is None


def test_what_was_refused_elsewhere_is_asked_and_learned_but_is_no_sample(tmp_path, signed):
    desk = new_desk(tmp_path, clf=signed, audit=0.4)
    n, sample = len(of_queue(desk, "1")), of_queue(desk, "sampled")
    X, truths = records(60, seed=8)
    desk.truth = np.concatenate([desk.truth, truths])
    desk.add("ada", "served", "served", [batch(X + 6.0, first=201)], "by the server")
    assert len(of_queue(desk, "1")) == n + 60
    assert of_queue(desk, "sampled") == sample
    assert len(of_queue(desk, "refusal IS NOT NULL AND file = 'served'")) == 60
    decide_all(desk, "ada", truth(desk))
    found = watch(desk.events, desk.judge, silent)
    assert (found["report"]["n"], found["alarms"]) == (200, [])  # the later rows are far off all others
    assert found["report"]["n_labelled"] == n + 60


def test_wrong_labels_ring_and_name_the_event_in_which_they_began(tmp_path, signed):
    desk = new_desk(tmp_path, clf=signed, audit=0.5)
    decide_all(desk, "ada", truth(desk))
    last = max(of_queue(desk, "1"))
    X, desk.truth = records(200, seed=8)
    desk.add("ada", "later.csv", "later", [batch(X)])
    decide_all(desk, "ada", opposite(desk))
    found = watch(desk.events, desk.judge, silent)
    assert found["report"]["error_drift"]["alarm"]
    assert found["report"]["promise_drift"]["alarm"]
    assert not found["report"]["drift"]["alarm"]
    assert len(found["alarms"]) == 2
    assert found["since"] == last + 1


def test_moved_rows_ring_without_any_decision(tmp_path):
    desk = new_desk(tmp_path, n=0)
    for k, moved in enumerate((0.0, 3.0)):
        desk.add("ada", f"{k}.csv", f"{k}", [batch(records(200, seed=k + 3, moved=moved)[0])])
    found = watch(desk.events, desk.judge, silent)
    assert found["report"]["drift"]["alarm"]
    assert found["report"]["error_drift"]["n"] == 0
    second = desk.events.one("SELECT max(chunk) FROM queue")
    assert found["since"] == min(of_queue(desk, f"chunk = {second}"))


def test_a_refit_learns_all_but_every_second_record_of_the_sample(tmp_path, signed):
    desk = new_desk(tmp_path, clf=signed, audit=0.5)
    decide_all(desk, "ada", truth(desk))
    steps = []
    found = refit(desk.events, desk.judge, steps.append, str(tmp_path / "new.sepc"))
    held_back = of_queue(desk, "sampled AND record % 2 = 0")
    assert steps == ["reading", "fitting", "promising", "comparing", "writing"]
    assert found["learned"] == of_queue(desk, "NOT sampled OR record % 2 = 1")
    assert found["changes"]["n_added"] == len(found["learned"])
    decided = found["decided"]
    assert [n for n, held in zip(decided["record"], decided["held_back"], strict=True) if held] == held_back
    assert decided["right"] == [a == b for a, b in zip(decided["label"], decided["after"], strict=True)]
    assert found["promise"]["n_calibration"] == len(held_back)
    assert found["promise"]["is_kept"]
    new = judge_of(tmp_path / "new.sepc", found["digest"], 2, None, None)
    X = records(200, seed=1)[0]
    rows = [row["row"] - 1 for row in desk.events.rows("SELECT row FROM queue WHERE sampled AND record % 2 = 0")]
    assert found["held_back"]["after"]["hits"] == (new.clf.predict(X.iloc[rows]) == desk.truth[rows]).sum()
    assert new.clf.promise.is_kept
    assert new.clf.core.has_learned(X.iloc[rows]).sum() == 0


def test_a_second_refit_learns_what_was_held_back_and_nothing_twice(tmp_path, signed):
    desk = new_desk(tmp_path, clf=signed, audit=0.5)
    decide_all(desk, "ada", truth(desk))
    path = tmp_path / "new.sepc"
    first = refit(desk.events, desk.judge, silent, str(path))
    judge = judge_of(path, first["digest"], 2, None, None)
    desk.take_over("ada", judge, about_model(2, path, first["digest"], judge.clf) | {"learned": first["learned"]})
    second = refit(desk.events, desk.judge, silent, str(tmp_path / "newer.sepc"))
    assert second["learned"] == of_queue(desk, "sampled AND record % 2 = 0")
    assert second["held_back"] is None
    assert not second["promise"]["is_kept"]
    n = load(tmp_path / "newer.sepc").class_count_.sum()
    assert n == signed.class_count_.sum() + desk.progress()["decided"]


def test_only_the_sample_since_a_change_is_held_back(tmp_path):
    desk = new_desk(tmp_path, audit=0.5)
    decide_all(desk, "ada", truth(desk))
    since = of_queue(desk, "1")[40]
    found = refit(desk.events, desk.judge, silent, str(tmp_path / "new.sepc"), since)
    held_back = of_queue(desk, f"sampled AND record % 2 = 0 AND record >= {since}")
    assert found["held_back"]["after"]["n"] == len(held_back) < len(of_queue(desk, "sampled AND record % 2 = 0"))
    assert found["changes"]["trials"]
    assert found["promise"] is None


def test_a_refit_of_nothing_is_an_error(tmp_path):
    desk = new_desk(tmp_path)
    with raises("desk-nothing-to-learn", n=0):
        refit(desk.events, desk.judge, silent, str(tmp_path / "new.sepc"))
    assert not (tmp_path / "new.sepc").exists()


def test_what_nobody_could_tell_is_not_learned(tmp_path):
    desk = new_desk(tmp_path)
    first, *others = of_queue(desk, "NOT sampled")
    desk.decide("ada", first, "cannot tell")
    for number in others:
        desk.decide("ada", number, "accept")
    found = refit(desk.events, desk.judge, silent, str(tmp_path / "new.sepc"))
    assert found["learned"] == others


def test_a_promise_by_groups_goes_by_those_of_the_rows(tmp_path):
    clf, (X, y) = classifier().under(), records(600, seed=5)
    clf.sign(select_min_trust(clf, X, y, max_error=0.2, by=np.where(X.age > 1.0, "old", "young")))
    desk = new_desk(tmp_path, clf=clf, n=0, audit=0.6)
    X, desk.truth = records(400, seed=6)
    rows = pa.Table.from_pandas(X, preserve_index=False)
    groups = np.where(X.age > 1.0, "old", "young").astype(object)
    desk.add("ada", "new.csv", "new", [Batch(rows, rows, groups, np.zeros(400, dtype=bool), 1)])
    decide_all(desk, "ada", truth(desk))
    found = refit(desk.events, desk.judge, silent, str(tmp_path / "new.sepc"))["promise"]
    assert sorted(part["id"] for part in found["parts"]) == ["old", "young"]
    assert found["is_kept"]


def test_a_promise_that_cannot_be_made_accepts_nothing_and_says_why(tmp_path, signed):
    desk = new_desk(tmp_path, clf=signed, audit=0.05)
    decide_all(desk, "ada", truth(desk))
    found = refit(desk.events, desk.judge, silent, str(tmp_path / "new.sepc"))
    assert not found["promise"]["is_kept"]
    assert found["promise"]["n_more"] > 0
    assert found["held_back"]["after"]["accepted"] == 0


def given_table(n, seed):
    """Return records with the answers of a model elsewhere, and their labels."""
    X, y = records(n, seed)
    return X.assign(p_ill=1.0 / (1.0 + np.exp(X.age + X.dose - 2.2))), y


def test_a_model_around_another_one_learns_by_its_written_answers(tmp_path):
    X, y = given_table(300, 0)
    given = {"scores": {"ill": "p_ill"}}
    save(TrustedClassifier(GivenScores(**given)).fit(X, y), tmp_path / "model.sepc")
    path = tmp_path / "model.sepc"
    desk = new_desk(tmp_path, n=0)
    desk.judge = judge_of(path, file_digest(path), 1, given, None)
    X, desk.truth = given_table(200, 1)
    rows = pa.Table.from_pandas(X, preserve_index=False)
    unanswered = np.arange(200) < 5
    desk.add("ada", "new.csv", "new", [Batch(rows, rows, None, unanswered, 1)])
    decide_all(desk, "ada", truth(desk))
    assert watch(desk.events, desk.judge, silent)["report"]["n"] == 195
    found = refit(desk.events, desk.judge, silent, str(tmp_path / "new.sepc"))
    assert min(found["learned"]) > 5
    new = judge_of(tmp_path / "new.sepc", found["digest"], 2, given, None)
    assert new.clf.answer_columns == ["p_ill"]
