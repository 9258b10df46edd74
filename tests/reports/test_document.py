"""A report is the same in all three forms, written whole or not at all."""

import json
import re

import numpy as np
import pytest
from coded import raises
from report_forms import PageReader, payload, shown_by_markdown

from sepc import SEPClassifier, report
from sepc.reports import Report


def test_sepc_report_is_a_function_whatever_was_imported_first():
    import sepc.reports

    assert callable(sepc.report)
    assert sepc.report is report
    assert sepc.reports.Report is Report


def test_the_dict_is_ready_for_json_and_a_copy(wdbc_report):
    content = wdbc_report.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    content["labels"].clear()
    assert wdbc_report.to_dict()["labels"] == ["benign", "malignant"]


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(iris):
    X, X_test, y, y_test = iris
    # Even another order of the training rows changes nothing but their numbers, which are left out here.
    fits = (SEPClassifier().fit(X[::step], y[::step]) for step in (1, -1))
    first, again = (report(clf, X_test, y_test, max_records=5, training_rows=False) for clf in fits)
    told = [re.sub(r"row \d+|\"row\":\d+", "", form) for r in (first, again) for form in (r.html(), r.markdown())]
    assert told[:2] == told[2:]
    assert report(SEPClassifier().fit(X, y), X_test, y_test, max_records=5, training_rows=False).html() == first.html()


@pytest.mark.slow
def test_all_forms_tell_the_same(wdbc_report, tmp_path):
    content = wdbc_report.to_dict()
    page, (_, shown) = wdbc_report.html(), shown_by_markdown(wdbc_report.markdown())
    words = " ".join(" ".join(PageReader(page).words).replace("\u00a0", " ").split())
    told = [content["title"], content["summary"], content["card"]["meaning"], *content["card"]["not_guaranteed"]]
    told += [finding[part] for finding in content["landscape"]["findings"] for part in ("title", "evidence", "remedy")]
    told += [row[0] for row in content["regions"]["rows"]] + [row[-1] for row in content["regions"]["rows"]]
    for text in told:
        assert text in words
        assert text in shown
    assert payload(page)["verdicts"] == content["verdicts"]
    for verdict in content["verdicts"]:
        assert " ".join(verdict["text"].split()) in shown
    wdbc_report.write(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == content


@pytest.mark.slow
def test_which_records_are_told_one_by_one_is_said_where_some_are_not(iris, iris_clf):
    _, X_test, _, y_test = iris
    n, sentences = len(X_test), []
    for max_records in (4, n - 1, n):
        text = report(iris_clf, X_test, y_test, max_records=max_records).markdown()
        (told,) = re.findall(rf"^{max_records} of {n} .*$", text, re.MULTILINE)
        sentences.append(told.removeprefix(f"{max_records} "))
    assert sentences[0] == sentences[1] != sentences[2]


@pytest.mark.slow
@pytest.mark.parametrize("X_test", [[[0.5]], [[0.5], [7.0], [-40.0]]])
def test_one_feature_few_records_and_no_explanation_at_all(X_test):
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    found = report(clf, X_test, ["low", "high", "high"][: len(X_test)], min_trust=1.0, max_records=0)
    assert found.to_dict()["verdicts"] == []
    assert found.to_dict()["results"]["at"]["accuracy"] is None
    assert 'id="list"' not in found.html()


def test_progress_is_told_and_an_error_ends_the_run(iris, iris_clf):
    _, X_test, _, y_test = iris
    steps = []
    report(iris_clf, X_test, y_test, max_records=4, on_step=lambda *step: steps.append(step))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report(iris_clf, X_test, y_test, max_records=4, on_step=stop)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"), [("a.html", "<!DOCTYPE"), ("a.HTM", "<!DOCTYPE"), ("a.md", "# "), ("a.json", "{")]
)
def test_the_ending_of_a_name_says_what_is_written(iris, iris_clf, tmp_path, name, start):
    _, X_test, _, y_test = iris
    report(iris_clf, X_test, y_test, max_records=1).write(tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


@pytest.mark.slow
def test_what_cannot_be_written_leaves_nothing_behind(iris, iris_clf, tmp_path, monkeypatch):
    _, X_test, _, y_test = iris
    found = report(iris_clf, X_test, y_test, max_records=1)
    path = tmp_path / "a.html"
    path.write_text("before")
    with raises("report-path"):
        found.write(tmp_path / "a.pdf")

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        found.write(path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


@pytest.mark.slow
def test_half_a_surrogate_pair_is_written_by_its_number(tmp_path):
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    found = report(clf, [[0.5]], ["low"], title="half \ud83d")
    for name in ("a.html", "a.md", "a.json"):
        found.write(tmp_path / name)
        assert "half \\ud83d" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({"y_test": ["setosa"] * 38}, raises("report-labels-unknown", label="setosa", classes=[0, 1, 2])),
        ({"y_test": [0, 1]}, raises("labels-shape", what="test")),
        ({"y_test": [None] * 38}, raises("labels-missing", name="y_test")),
        ({"X_test": np.empty((0, 4)), "y_test": []}, raises("no-records", what="test")),
        ({"max_records": -1}, raises("max-records", max_records=-1)),
        ({"max_records": True}, raises("max-records", max_records=True)),
        ({"min_trust": 1.5}, raises("not-between-0-and-1", name="min_trust", value=1.5)),
    ],
)
def test_bad_input_is_refused_in_words(iris, iris_clf, asked, refusal):
    _, X_test, _, y_test = iris
    with refusal:
        report(iris_clf, **({"X_test": X_test, "y_test": y_test} | asked))


@pytest.mark.slow
def test_a_notebook_shows_the_page_in_a_frame_of_its_own(hostile):
    shown = hostile._repr_html_()
    read = PageReader(shown)
    assert read.elements == ["iframe"]
    assert 'sandbox="allow-scripts"' in shown
