import numpy as np
import pytest
from desks import batch, decide_all, new_desk, records, truth
from hypothesis import given, settings
from hypothesis import strategies as st

from sepc import SepcError, SEPClassifier, save
from sepc.desk.desk import ConflictError, Filters
from sepc.desk.judge import Judge, file_digest
from sepc.desk.opening import about_model, judge_in_force, model_file, open_desk


@pytest.fixture
def desk(tmp_path):
    return new_desk(tmp_path)


def rows(desk, where="1"):
    return desk.events.rows(f"SELECT * FROM queue WHERE {where}")


def test_refused_records_are_asked_and_a_sample_of_the_others(desk):
    X, _ = records(200, 1)
    a = desk.judge.clf.assess(X)
    refused = ~a.accepted()
    asked = {row["row"] - 1: row for row in rows(desk)}
    assert set(np.flatnonzero(refused)) <= set(asked)
    audits = [i for i, row in asked.items() if row["is_audit"]]
    assert audits
    assert not refused[audits].any()
    assert len(asked) == refused.sum() + len(audits)
    assert {asked[i]["chance"] for i in audits} == {0.2}
    assert {row["chance"] for i, row in asked.items() if refused[i]} == {1.0}
    for i, row in asked.items():
        assert (row["label"], row["trust"]) == (a.label[i], a.trust[i])
        assert row["refusal"] == a.refusals()[i]


def test_audits_are_those_of_the_monitor(desk):
    from sepc.feedback.audits import audit_of

    X, _ = records(200, 1)
    a = desk.judge.clf.assess(X)
    audit = audit_of(desk.judge.clf.points(X), a.accepted(), a.trust, 0.2, 0, by_trust=False)
    assert sorted(row["row"] - 1 for row in rows(desk, "is_audit")) == audit.rows.tolist()


def test_as_many_refused_records_are_blind_as_audits(desk):
    audits, refused = len(rows(desk, "is_audit AND blind")), len(rows(desk, "NOT is_audit AND blind"))
    assert audits == len(rows(desk, "is_audit"))
    assert refused == max(audits, len(rows(desk, "NOT is_audit AND sampled")))


def test_the_place_of_a_blind_record_says_nothing(desk):
    keys = {row["key_trust"] for row in rows(desk, "NOT is_audit")} | {
        row["trust"] for row in rows(desk, "NOT is_audit")
    }
    assert {row["key_trust"] for row in rows(desk, "blind")} <= keys
    audits = rows(desk, "is_audit")
    assert all(row["key_trust"] != row["trust"] for row in audits)


def test_the_order_of_rows_changes_nothing_of_what_is_asked(tmp_path):
    X, _ = records(150, 5)
    asked = []
    for turned in (False, True):
        folder = tmp_path / str(turned)
        folder.mkdir()
        desk = new_desk(folder, 0)
        desk.add("ada", "new.csv", "d", [batch(X[::-1] if turned else X)])
        asked.append(
            {(row["trust"], row["is_audit"], row["blind"], row["sampled"], row["second"]) for row in rows(desk)}
        )
    assert asked[0] == asked[1]


@pytest.mark.parametrize("order", ["trust", "stability", "typicality", "cost"])
def test_the_queue_is_in_the_order_that_is_asked(desk, order):
    keys = [row[f"key_{order}"] for row in desk.listed("ada", Filters(), order, 1000)]
    assert keys == sorted(keys)
    assert len(keys) == len(rows(desk))
    with pytest.raises(SepcError, match="no order by"):
        desk.listed("ada", Filters(), "colour")


def test_filters_do_not_give_blind_records_away(desk):
    label = Filters(label="ill")
    assert {row["blind"] for row in desk.listed("ada", label, most=1000)} == {0}
    assert {row["label"] for row in desk.listed("ada", label, most=1000)} == {"ill"}
    for row in desk.listed("ada", Filters(), most=1000):
        desk.decide("ada", row["record"], "label", "ill")
    decided = Filters(label="ill", state="decided")
    assert {row["blind"] for row in desk.listed("ada", decided, most=1000)} == {0}
    audit = rows(desk, "is_audit AND label = 'ill'")[0]["record"]
    desk.show("ada", audit)
    assert {row["record"] for row in desk.listed("ada", decided, most=1000) if row["blind"]} == {audit}
    assert not any(row["blind"] for row in desk.listed("ben", decided, most=1000))


def test_a_search_looks_for_texts_and_nothing_else(desk):
    found = desk.listed("ada", Filters(search="p-00007"), most=10)
    assert [row["row"] for row in found] in ([7], [])
    some = rows(desk)[0]["row"]
    assert desk.count("ada", Filters(search=f"P-{some:05d}")) == desk.count("ada", Filters(search=f"p-{some:05d}")) == 1
    assert rows(desk)[0]["text"].startswith(f"P-{some:05d} ")
    assert desk.count("ada", Filters(search="P-99999'); DROP TABLE queue; --")) == 0


def test_two_people_never_get_the_same_record(desk):
    first, second = desk.take("ada", Filters()), desk.take("ben", Filters())
    assert first != second
    assert desk.take("ada", Filters()) == first
    n = len(rows(desk))
    mine = {"ada": [], "ben": []}
    while len(mine["ada"]) + len(mine["ben"]) < n:
        for person, numbers in mine.items():
            number = desk.take(person, Filters())
            if number is not None:
                desk.decide(person, number, "cannot tell")
                numbers.append(number)
    assert not set(mine["ada"]) & set(mine["ben"])
    assert desk.take("ada", Filters()) is None


def test_a_page_that_is_out_of_date_changes_nothing(desk):
    number = desk.take("ada", Filters())
    version = desk.version(number)
    desk.decide("ada", number, "label", "ill", version=version)
    for person in ("ada", "ben"):
        with pytest.raises(ConflictError, match="has changed since"):
            desk.decide(person, number, "label", "well", version=version)
    assert len(desk.events.rows("SELECT * FROM decisions")) == 1


@pytest.mark.parametrize(("kind", "label"), [("label", "purple"), ("override", None), ("delete", "ill"), ("", None)])
def test_what_is_no_decision_is_refused(desk, kind, label):
    with pytest.raises(SepcError, match="is no decision"):
        desk.decide("ada", 1, kind, label)
    with pytest.raises(SepcError, match="no record 99999"):
        desk.decide("ada", 99999, "cannot tell")


def test_a_postponed_record_comes_last(desk):
    first = desk.take("ada", Filters())
    desk.decide("ada", first, "postpone")
    assert desk.listed("ada", Filters(), most=1000)[-1]["record"] == first
    assert decide_all(desk, "ada", truth(desk))[-1] == first


def test_undo_goes_back_to_the_beginning(desk):
    order = decide_all(desk, "ada", truth(desk))
    back = [desk.undo("ada") for _ in order]
    assert back == order[::-1]
    assert desk.undo("ada") is None
    assert desk.progress()["waiting"] == len(order)
    assert desk.events.verify()[0] > 2 * len(order)


def test_back_goes_through_what_was_decided(desk):
    order = decide_all(desk, "ada", truth(desk))
    assert desk.before("ada", 0) == order[-1]
    assert desk.before("ada", order[-1]) == order[-2]
    assert desk.before("ada", order[0]) is None
    assert desk.before("ben", 0) is None


def test_a_second_opinion_is_for_somebody_else(tmp_path):
    desk = new_desk(tmp_path, second=1.0)
    mine = decide_all(desk, "ada", truth(desk))
    assert desk.progress()["second"] == len(mine)
    assert desk.take("ada", Filters()) is None
    wrong = set(mine[:3])
    theirs = decide_all(desk, "ben", lambda r: "ill" if (truth(desk)(r) == "well") == (r.number in wrong) else "well")
    assert set(theirs) == set(mine)
    progress = desk.progress()
    assert progress["disagreement"] == len(wrong)
    assert progress["decided"] == len(mine) - len(wrong)
    for row in desk.listed("cy", Filters(state="disagreement")):
        desk.decide("cy", row["record"], "label", str(desk.truth[row["row"] - 1]))
    assert desk.progress()["decided"] == len(mine)
    right = [row["decided_label"] == desk.truth[row["row"] - 1] for row in rows(desk)]
    assert all(right)


def test_a_record_can_be_given_to_one_person(desk):
    number = desk.take("ada", Filters())
    desk.assign("ada", number, "ben")
    assert number not in decide_all(desk, "ada", truth(desk))
    assert desk.take("ben", Filters()) == number
    with pytest.raises(SepcError, match="no person 'eve'"):
        desk.assign("ada", number, "eve")


def test_a_verdict_is_hidden_until_the_decision_and_then_on_request(desk):
    number = rows(desk, "blind")[0]["record"]
    assert desk.is_hidden("ada", desk.record(number))
    with pytest.raises(SepcError, match="decided blind"):
        desk.show("ada", number)
    desk.decide("ada", number, "label", "ill")
    assert desk.is_hidden("ada", desk.record(number))
    desk.show("ada", number)
    assert not desk.is_hidden("ada", desk.record(number))
    assert desk.is_hidden("ben", desk.record(number))
    assert not desk.is_hidden("ben", desk.record(rows(desk, "NOT blind")[0]["record"]))


def test_what_is_changed_after_the_verdict_was_shown_does_not_measure(desk):
    number, other = (row["record"] for row in rows(desk, "is_audit")[:2])
    desk.decide("ada", number, "label", "ill")
    desk.show("ada", number)
    desk.undo("ada")
    desk.decide("ada", number, "label", "well")
    found = rows(desk, f"record = {number}")[0]
    assert (found["decided_label"], found["measured_label"]) == ("well", "ill")
    desk.decide("ada", other, "label", "ill")
    desk.undo("ada")
    desk.decide("ada", other, "label", "well")
    assert rows(desk, f"record = {other}")[0]["measured_label"] == "well"


steps = st.lists(
    st.tuples(
        st.sampled_from(["ada", "ben", "cy"]),
        st.sampled_from(["ill", "well", "cannot tell", "postpone", "undo", "show", "resolve"]),
    ),
    max_size=40,
)


@settings(max_examples=15)
@given(done=steps, second=st.sampled_from([0.0, 0.5, 1.0]))
def test_views_follow_from_the_events_whatever_people_do(tmp_path_factory, done, second):
    desk = new_desk(tmp_path_factory.mktemp("desk"), 30, people=("ada", "ben", "cy"), second=second)
    n = len(rows(desk))
    for person, what in done:
        state = "disagreement" if what == "resolve" else "waiting"
        number = desk.take(person, Filters(state=state))
        if what == "undo":
            desk.undo(person)
        elif number is not None and what == "show":
            desk.decide(person, number, "label", "ill")
            desk.show(person, number)
        elif number is not None:
            kind = what if what in ("cannot tell", "postpone") else "label"
            desk.decide(person, number, kind, "well" if what in ("well", "resolve") else "ill")
    desk.events.verify()
    assert sum(desk.progress().values()) == n
    for row in rows(desk, "state = 'decided'"):
        last = desk.events.rows("SELECT * FROM decisions WHERE record = ? AND undone IS NULL", row["record"])
        assert row["decided_label"] in {one["label"] for one in last}


def test_a_file_comes_once(desk):
    assert desk.knows("digest-1")
    n = desk.events.verify()[0]
    with pytest.raises(SepcError, match="on the desk already"):
        desk.add("ada", "new.csv", "digest-1", [batch(records(10)[0])])
    assert desk.events.verify()[0] == n


def test_a_record_shows_its_values_and_what_is_usual(desk):
    X, _ = records(200, 1)
    record = desk.record(3)
    row = record.view["row"]
    assert record.batch.shown["patient"].to_pylist() == [f"P-{row:05d}"]
    columns = {column.name: column for column in desk.judge.columns(record.batch)[0]}
    assert list(columns) == ["age", "dose"]
    assert float(columns["age"].value) == pytest.approx(X["age"].iloc[row - 1], rel=1e-3)
    assert [" to " in usual.in_words() for usual in columns["dose"].usual] == [True, True]


def test_the_same_model_goes_on_and_another_one_is_refused(tmp_path):
    desk = new_desk(tmp_path, 50)
    n = len(rows(desk))
    path = desk.events.path
    desk.events.close()
    again = open_desk(path, tmp_path / "model.sepc")
    assert len(rows(again)) == n
    other = tmp_path / "other.sepc"
    save(SEPClassifier().fit(*records(200, 9)), other)
    with pytest.raises(SepcError, match="is no model that the desk"):
        open_desk(path, other)
    other.replace(tmp_path / "model.sepc")
    with pytest.raises(SepcError, match="is no model that the desk"):
        open_desk(path, tmp_path / "model.sepc")


def taken_over(desk, clf):
    path = model_file(desk.events.path, 2)
    save(clf, path)
    judge = Judge(clf, 2)
    desk.take_over("ada", judge, about_model(2, path, file_digest(path), clf))
    return path


def test_a_new_model_judges_what_waits(desk):
    X, y = records(200, 1)
    before = {row["record"]: row for row in rows(desk)}
    some = desk.take("ada", Filters())
    desk.decide("ada", some, "label", "ill")
    clf = SEPClassifier().fit(X, y)  # it has learned from these very records, and accepts many of them
    taken_over(desk, clf)
    a = clf.assess(X)
    for row in rows(desk):
        i = row["row"] - 1
        if row["record"] == some:
            assert row["trust"] == before[some]["trust"]
        else:
            assert (row["label"], row["trust"]) == (a.label[i], a.trust[i])
            assert (row["state"] == "settled") == (a.accepted()[i] and not row["sampled"])
    assert rows(desk, "state = 'settled'")
    desk.events.verify()


def test_what_is_decided_while_a_new_model_judges_stays_decided(desk, monkeypatch):
    clf = SEPClassifier().fit(*records(200, 1))
    leaving = [row["record"] for row in rows(desk) if clf.assess(records(200, 1)[0]).accepted()[row["row"] - 1]]
    number = next(n for n in leaving if not desk.record(n).view["sampled"])
    judged = Judge.verdicts

    def verdicts(self, some):
        if desk.record(number).view["state"] == "waiting":
            desk.decide("ben", number, "label", "ill")
        return judged(self, some)

    monkeypatch.setattr(Judge, "verdicts", verdicts)
    taken_over(desk, clf)
    assert desk.record(number).view["state"] == "decided"
    assert rows(desk, "state = 'settled'")
    desk.events.verify()


def test_the_model_in_force_must_be_as_it_was(desk):
    path = taken_over(desk, SEPClassifier().fit(*records(200, 9)))
    assert judge_in_force(desk.events).number == 2
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(SepcError, match="model 2 of the desk"):
        judge_in_force(desk.events)
