"""The pages of a desk: what they show, and what a blind record keeps to itself."""

import re
from html import unescape
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from desks import LABELS, decide_all, new_desk, records, truth
from sklearn.linear_model import LogisticRegression

from sepc import SEPClassifier, SEPEnsembleClassifier, TrustedClassifier, make_table_pipeline
from sepc.common.templates import template_environment
from sepc.common.text import percent
from sepc.desk import pages, running
from sepc.desk.batches import Batch
from sepc.desk.desk import Filters

HOSTILE = ["<script>alert(1)</script>", "\"quotes' </script><img src=x onerror=alert(2)>", "{{7*7}} 🙂", "ערך וקيمة"]
NO_JOB = {"state": None, "last": {}}
# Columns of the queue that a verdict decides on.
OF_THE_VERDICT = ("label", "trust", "region", "refusal", "stability", "typicality", "cost", "is_audit", "sampled")


def rendered(page, content):
    environment = template_environment("sepc.desk", pages.FILTERS, "tests")
    environment.globals["static"] = lambda name: f"/static/{name}"
    return environment.get_template(f"{page}.html.j2").render(**content)


def record_page(desk, person, number, filters=Filters()):  # noqa: B008
    return rendered("record", pages.record(desk, person, number, filters))


def words(html):
    """Return the words of a page, without its markup."""
    html = re.sub(r"</?(?:b|bdi|span)\b[^>]*>", "", html)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@pytest.fixture
def desk(tmp_path):
    return new_desk(tmp_path, 200, audit=0.15)


def numbers(desk, where):
    return [row["record"] for row in desk.events.rows(f"SELECT record FROM queue WHERE {where} ORDER BY record")]


def pages_before_a_decision(desk, person, number):
    """Return all pages that show something of a record, as they are before anything is decided."""
    return (
        record_page(desk, person, number),
        rendered("details", pages.details(desk, person, number)),
        rendered("queue", pages.queue(desk, person, Filters())),
    )


def test_a_blind_page_does_not_depend_on_the_verdict(desk):
    for number in numbers(desk, "blind")[:6]:
        label = desk.record(number).view["label"]
        before = pages_before_a_decision(desk, "ada", number)
        other = next(name for name in LABELS if name != label)
        changed = (other, 0.123, "~nowhere#7", "strange", 0.1, 0.2, 3.0, 1, 1)
        assigned = ", ".join(f"{name} = ?" for name in OF_THE_VERDICT)
        desk.events._writer.execute(f"UPDATE queue SET {assigned} WHERE record = ?", (*changed, number))
        assert pages_before_a_decision(desk, "ada", number) == before


def test_a_blind_page_says_nothing_of_the_verdict_until_it_is_asked_for(desk):
    for number in numbers(desk, "blind AND NOT second")[:6]:
        record = desk.record(number)
        why = desk.judge.explain(record.batch, changes=True)[0]
        telling = [percent(record.view["trust"]), record.view["region"], why.text[:40], why.details[:40], "Accept "]
        shown = words(" ".join(pages_before_a_decision(desk, "ada", number)[:2]))
        assert not [text for text in telling if text in shown]
        desk.decide("ada", number, "label", "ill")
        decided = words(record_page(desk, "ada", number))
        assert not [text for text in telling if text in decided]
        listed = pages.queue(desk, "ada", Filters())["last"][0]
        assert (listed["record"], listed["beside"]) == (number, "")
        desk.show("ada", number)
        assert why.text in words(record_page(desk, "ada", number)).replace("\u00a0", " ")
        assert why.details in words(rendered("details", pages.details(desk, "ada", number))).replace("\u00a0", " ")


def test_neighbours_of_a_blind_record_have_no_labels(desk):
    number = numbers(desk, "blind")[0]
    titles = pages.details(desk, "ada", number)["table"]["titles"]
    assert titles[:2] == ["column", "this record"]
    assert len(titles) > 4
    assert all(re.fullmatch(r"row \d+", title) for title in titles[2:])


def test_labels_and_columns_of_a_blind_record_keep_their_order(desk):
    for number in numbers(desk, "blind")[:3]:
        html = record_page(desk, "ada", number)
        assert re.findall(r'<button name="label" value="(\w+)"', html) == list(LABELS)
        assert re.findall(r'<th scope="row"><bdi>(\w+)', html) == ["patient", "age", "dose"]


def test_a_record_that_is_not_blind_shows_verdict_evidence_and_neighbours(desk):
    number = numbers(desk, "NOT blind")[0]
    html, why = record_page(desk, "ada", number), desk.judge.explain(desk.record(number).batch)[0]
    shown = words(html).replace("\u00a0", " ")
    assert why.text in shown
    assert "refused: " in shown
    amounts = re.findall(r'class="amount">([^<]+)<', html)
    known = sum(float(amount.replace("−", "-")) for amount in amounts)  # noqa: RUF001
    assert known == pytest.approx(why.evidence.log_odds, abs=0.03)
    assert all(f'<td class="number">{near.row}</td>' in html for near in why.neighbours)
    assert f"Accept {desk.record(number).view['label']}" in shown


def test_usual_values_are_marked_where_they_hold_the_record(desk):
    number = numbers(desk, "NOT blind")[0]
    found = {one["name"]: one for one in pages.record(desk, "ada", number)["values"]}
    assert found["patient"]["usual"] is None
    for column in desk.judge.columns(desk.record(number).batch)[0]:
        assert found[column.name]["usual"] == [
            (usual.in_words(), usual.low <= column.value <= usual.high) for usual in column.usual
        ]
        assert len(found[column.name]["strip"]) == 1 + 3 * len(LABELS)


def test_a_second_opinion_is_not_swayed_by_the_first(tmp_path):
    seen = []
    for label in LABELS:
        folder = tmp_path / label
        folder.mkdir()
        desk = new_desk(folder, 60, second=1.0)
        number = numbers(desk, "blind")[0]
        desk.decide("ada", number, "label", label, reason="value looks wrong", note="Look at the dose.")
        opinions = pages.record(desk, "ben", number)["opinions"]
        seen.append((opinions, words(" ".join(pages_before_a_decision(desk, "ben", number)[:2]))))
    assert seen[0] == seen[1]
    assert seen[0][0] == []
    assert "Look at the dose." not in seen[0][1]


def test_a_disagreement_shows_both_decisions_and_their_reasons(tmp_path):
    desk = new_desk(tmp_path, 60, second=1.0)
    number = numbers(desk, "NOT blind")[0]
    desk.decide("ada", number, "label", "ill", reason="value looks wrong", note="The dose is off.")
    desk.decide("ben", number, "label", "well")
    shown = words(record_page(desk, "cleo", number, Filters(state="disagreement")))
    assert "Two people disagree" in shown
    assert "value looks wrong · The dose is off." in shown
    given = desk.record(number).view["label"]
    for person, label in (("ada", "ill"), ("ben", "well")):
        assert f"{person} {label} ({'as the model' if label == given else f'the model: {given}'})" in shown


def test_the_last_decision_is_shown_and_the_next_undone_one_is_kept_as_a_draft(desk):
    number = desk.take("ada", Filters())
    desk.decide("ada", number, "cannot tell", reason="value looks wrong", note="Nobody could.")
    after = desk.take("ada", Filters())
    assert f"Saved: record {number} as cannot tell" in words(record_page(desk, "ada", after))
    assert "Saved" not in words(record_page(desk, "ben", after))
    assert desk.undo("ada") == number
    content = pages.record(desk, "ada", number)
    assert content["saved"] is None
    assert content["draft"] == {"reason": "value looks wrong", "note": "Nobody could."}


def test_the_queue_shows_progress_people_and_filters(desk):
    decide_all(desk, "ada", truth(desk), Filters(search="p-000"))
    n = desk.progress()
    content = pages.queue(desk, "ada", Filters(search="p-001"))
    assert content["n"] == desk.count("ada", Filters(search="p-001")) == len(content["rows"])
    assert all("P-001" in row["text"] for row in content["rows"])
    shown = words(rendered("queue", content))
    assert f"{n['decided']} decided" in shown
    assert f"ada {n['decided']} last" in shown
    assert 'value="p-001"' in rendered("queue", content)


def test_pages_of_the_queue_are_whole(desk, monkeypatch):
    monkeypatch.setattr(pages, "AT_ONCE", 10)
    seen, later = [], {"page": "0"}
    while later:
        content = pages.queue(desk, "ada", Filters(), page=int(later["page"]))
        assert content["first"] == len(seen) + 1
        seen += [row["number"] for row in content["rows"]]
        later = dict(parse_qsl((content["later"] or "?")[1:]))
    assert seen == [row["record"] for row in desk.listed("ada", Filters(), most=1000)]


def test_an_address_names_what_is_not_usual():
    assert pages.query(Filters()) == ""
    named = pages.query(Filters(label="a&b", search="ü"), "cost", page=2)
    assert dict(parse_qsl(named[1:])) == {"label": "a&b", "search": "ü", "order": "cost", "page": "2"}


def test_hostile_texts_are_shown_as_text(tmp_path):
    rng, codes = np.random.default_rng(0), np.repeat([0, 1, 2, 3], 30)
    X = pd.DataFrame(rng.normal(size=(120, 4)) + 2.0 * np.eye(4)[codes], columns=HOSTILE)
    desk = new_desk(tmp_path, 0, clf=SEPClassifier().fit(X[::2], np.array(HOSTILE, dtype=object)[codes[::2]]))
    rows = pa.Table.from_pandas(X[1::2], preserve_index=False)
    shown = rows.append_column("<b>id</b>", pa.array([HOSTILE[code] for code in codes[1::2]]))
    desk.add("ada", HOSTILE[1], "digest", [Batch(shown, rows, None, np.zeros(60, dtype=bool), 1)])
    number = numbers(desk, "NOT blind")[0]
    desk.decide("ada", number, "label", HOSTILE[1], reason=HOSTILE[0], note=HOSTILE[2])
    made = [
        record_page(desk, "ada", number, Filters(search=HOSTILE[1])),
        rendered("details", pages.details(desk, "ada", number)),
        rendered("queue", pages.queue(desk, "ada", Filters(search=HOSTILE[1]))),
        rendered("learned", pages.learned(desk, "ada", NO_JOB)),
        rendered("message", {"text": HOSTILE[1], "back": "/"}),
    ]
    for html in made:
        assert not re.search(r"<script>alert|<img src=x|<b>id", html)
        assert "49 🙂" not in html
    assert all(text in words(made[0]) for text in (*HOSTILE, "<b>id</b>"))


def test_pages_ask_nothing_that_the_content_security_policy_forbids(desk):
    number = numbers(desk, "NOT blind")[0]
    made = [
        record_page(desk, "ada", number),
        rendered("details", pages.details(desk, "ada", number)),
        rendered("queue", {**pages.queue(desk, "ada", Filters()), "can_add": True}),
        rendered("learned", pages.learned(desk, "ada", NO_JOB)),
        rendered("enter", {}),
        rendered("message", {"text": "No.", "back": "/"}),
    ]
    for html in made:
        assert not re.search(r"\sstyle=|\son\w+=|javascript:|<style|<script(?! src)", html)
        assert not re.search(r'(?:src|href|action)="(?!/|#|\?)', html)
        named = set(re.findall(r'\sid="([^"]+)"', html))
        assert named.issuperset(re.findall(r'\s(?:for|aria-labelledby|aria-describedby|list)="([^"]+)"', html))
        keys = re.findall(r'aria-keyshortcuts="([^"]+)"', html)
        assert len(keys) == len(set(keys))


def test_more_labels_than_keys_have_a_list(tmp_path):
    rng, codes = np.random.default_rng(0), np.repeat(np.arange(12), 12)
    X = pd.DataFrame(rng.normal(size=(144, 2)) + 1.5 * np.c_[codes % 4, codes // 4], columns=["x", "y"])
    names = np.array([f"kind {code:02d}" for code in range(12)])
    desk = new_desk(tmp_path, 0, clf=SEPClassifier().fit(X[::2], names[codes[::2]]))
    rows = pa.Table.from_pandas(X[1::2], preserve_index=False)
    desk.add("ada", "new.csv", "digest", [Batch(rows, rows, None, np.zeros(72, dtype=bool), 1)])
    html = record_page(desk, "ada", 1)
    assert re.findall(r"<option>(kind \d+)", html) == names.tolist()
    assert re.findall(r'<button name="label" value="([^"]+)"', html) == names[:9].tolist()
    # Of several fields of a form with one name the last one counts: a button must come after the list.
    assert html.index("<select") < html.index('<button name="label"')


def test_a_row_without_an_answer_has_no_verdict(tmp_path):
    desk = new_desk(tmp_path, 0)
    rows = pa.table({"age": [0.5, 1.5], "dose": [0.5, 1.5]})
    desk.add("ada", "new.csv", "digest", [Batch(rows, rows, None, np.array([True, True]), 1)])
    shown = words(record_page(desk, "ada", 1))
    assert "refused: the other model has no answer for it" in shown
    assert "The model gives no answer for this record." in shown
    assert "Accept" not in shown
    assert "nothing more" in words(rendered("details", pages.details(desk, "ada", 1)))


def _table(n, seed):
    X, y = records(n, seed)
    rng = np.random.default_rng(seed)
    dose = X["dose"].where(rng.random(n) > 0.2)  # some are missing
    site = np.where(rng.random(n) < 0.8, y, "north | <b>south</b>")
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    return X.assign(dose=dose, site=site, day=day), y


KINDS = {
    "ensemble": (lambda: SEPEnsembleClassifier(n_estimators=3), records),
    "counts": (lambda: SEPClassifier(trust="counts"), records),
    "table": (make_table_pipeline, _table),
    "around": (lambda: TrustedClassifier(LogisticRegression()), records),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_has_its_pages(tmp_path, monkeypatch, kind):
    make, of = KINDS[kind]
    opened = []
    monkeypatch.setattr(running, "serve", lambda desk, *_, **__: opened.append(desk))
    running.run(make().fit(*of(200, 0)), of(60, 1)[0], tmp_path / "new.desk.db", people=["ada"])
    for number in numbers(opened[0], "1")[:12]:
        record = opened[0].record(number)
        html = record_page(opened[0], "ada", number) + rendered("details", pages.details(opened[0], "ada", number))
        assert set(re.findall(r'<th scope="row"><bdi>([^<]+)', html)) >= set(of(2, 2)[0].columns)
        assert ("Predicted" in html) == (not record.view["blind"])
        assert "None" not in words(html)
        assert "nan" not in words(html).split()


def test_a_refit_is_compared_on_no_record_whose_verdict_is_hidden(desk):
    decide_all(desk, "ada", truth(desk))
    some = numbers(desk, "state = 'decided'")
    blind = set(numbers(desk, "blind"))
    decided = {"record": some, "label": ["ill"] * len(some), "before": ["well"] * len(some)}
    decided |= {"after": ["well", "ill"] * (len(some) // 2) + ["well"] * (len(some) % 2)}
    decided |= {"right": [after == "ill" for after in decided["after"]], "held_back": [False] * len(some)}
    shown = pages._compared(desk, "ada", decided)
    listed = [row["record"] for _, rows in shown for row in rows]
    assert sorted(listed) == [number for number in some if number not in blind]
    assert all(row["right"] == ("right" in caption) for caption, rows in shown for row in rows)
    first = min(blind)
    desk.show("ada", first)
    assert first in [row["record"] for _, rows in pages._compared(desk, "ada", decided) for row in rows]


def test_what_is_learned_is_shown(desk):
    decide_all(desk, "ada", truth(desk))
    shown = words(rendered("learned", pages.learned(desk, "ada", NO_JOB)))
    audits = pages.learned(desk, "ada", NO_JOB)["summary"]["audits"]
    assert f"{audits['hits']} of {audits['n']}" in shown
    assert "Refit on old and new records" in shown
    running = {"state": "running", "kind": "refit", "step": "fitting", "seconds": 3.7, "error": None, "last": {}}
    shown = words(rendered("learned", pages.learned(desk, "ada", running)))
    assert "The refit: fitting, 3 s" in shown
    assert "Cancel" in shown
    assert "Refit on old" not in shown


def test_files_of_the_pages_are_the_reports_and_the_desks():
    style = pages.static("style.css").decode()
    assert style.index("--page: light-dark(") < style.index("/* The desk;")
    assert pages.static("icon.svg").startswith(b"<svg")
    with pytest.raises(KeyError):
        pages.static("../style.css")
