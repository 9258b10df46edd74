"""A report tells the truth, the same in all three forms, and shows every text as text."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from markdown_it import MarkdownIt
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import (
    InputError,
    Report,
    SepcError,
    SEPClassifier,
    SEPEnsembleClassifier,
    make_table_pipeline,
    metrics,
    report,
)
from sepc.model import Model
from sepc.reports.subject import Subject
from sepc.reports.verdicts import choose

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes' & </script><b>bold</b>",
    "{{7*7}} 🙂 | `code` *star*",
    "ערך وقيمة",
]


@pytest.fixture(scope="module")
def wdbc():
    data = load_breast_cancer(as_frame=True)
    return train_test_split(data.data, data.target_names[data.target], random_state=0, stratify=data.target)


@pytest.fixture(scope="module")
def wdbc_clf(wdbc):
    X, _, y, _ = wdbc
    return SEPClassifier().fit(X, y)


@pytest.fixture(scope="module")
def wdbc_report(wdbc, wdbc_clf):
    _, X_test, _, y_test = wdbc
    return report(wdbc_clf, X_test, y_test)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def iris_clf(iris):
    X, _, y, _ = iris
    return SEPClassifier().fit(X, y)


@pytest.fixture(scope="module")
def hostile():
    """Four classes whose labels, columns and row names try to be something else than text."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2, 3], 30)
    X = rng.normal(size=(120, 4)) + 2.5 * np.eye(4)[codes]
    names = [f"{HOSTILE[j % 4]} row {i}" for i, j in enumerate(codes)]
    frame = pd.DataFrame(X, columns=HOSTILE, index=names)
    y = np.array(HOSTILE, dtype=object)[codes]
    clf = SEPClassifier().fit(frame[::2], y[::2])
    return report(clf, frame[1::2], y[1::2], title=HOSTILE[0], date=HOSTILE[1], max_records=12)


def test_sepc_report_is_a_function_whatever_was_imported_first():
    import sepc.reports

    assert callable(sepc.report)
    assert sepc.report is report
    assert sepc.reports.Report is Report


@pytest.mark.parametrize("ensemble", [False, True])
def test_scores_are_those_of_metrics_and_of_scikit_learn(iris, iris_clf, ensemble):
    X, X_test, y, y_test = iris
    clf = SEPEnsembleClassifier(n_estimators=4).fit(X, y) if ensemble else iris_clf
    told = report(clf, X_test, y_test, max_records=2).to_dict()["results"]
    outcome = y_test, clf.predict(X_test), clf.trust_score(X_test)
    assert told["accuracy"] == accuracy_score(*outcome[:2])
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(*outcome[:2]))
    for name in ("aurc", "e_aurc", "augrc"):
        assert told[name] == getattr(metrics, name)(*outcome)
    assert told["ece"] == metrics.expected_calibration_error(*outcome)
    gaps = [b["n_records"] * abs(b["trust"] - b["accuracy"]) for b in told["reliability"]]
    assert sum(gaps) / len(y_test) == pytest.approx(told["ece"])
    coverage, risk, threshold = metrics.risk_coverage_curve(*outcome)
    assert told["curve"] == {"coverage": [*coverage], "risk": [*risk], "threshold": [*threshold]}


def test_the_brier_score_of_two_classes_is_twice_scikit_learn_s(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, y_test = wdbc
    half = brier_score_loss(y_test == wdbc_clf.classes_[1], wdbc_clf.predict_proba(X_test)[:, 1])
    assert wdbc_report.to_dict()["results"]["brier"] == pytest.approx(2.0 * half)


@pytest.mark.parametrize("min_trust", [0.0, 0.5, 0.99, 1.0])
def test_a_threshold_accepts_what_the_assessment_accepts(wdbc, wdbc_clf, min_trust):
    _, X_test, _, y_test = wdbc
    told = report(wdbc_clf, X_test, y_test, min_trust=min_trust, max_records=0).to_dict()["results"]
    a = wdbc_clf.assess(X_test)
    accepted, right = a.accepted(min_trust), a.label == y_test
    assert told["at"]["n_accepted"] == accepted.sum()
    assert told["at"]["n_errors"] == (accepted & ~right).sum()
    assert told["at"]["accuracy"] == (right[accepted].mean() if accepted.any() else None)
    given = np.where(accepted, a.label, "zz abstained")
    labels = [*wdbc_clf.classes_, "zz abstained"]
    assert told["confusion"]["counts"] == confusion_matrix(y_test, given, labels=labels)[:2].tolist()
    (row,) = [row for row in told["thresholds"]["rows"] if row[0] == min_trust]
    assert row[1] == accepted.sum()


def test_shadows_are_those_of_the_ellipsoids(wdbc_clf, wdbc_report):
    view = wdbc_report.to_dict()["picture"]["views"][0]
    some = [list(wdbc_clf.feature_names_in_).index(axis["title"]) for axis in view["axes"]]
    ellipses = {e["region"]: e for e in view["ellipses"]}
    for name, block in zip(wdbc_clf.regions()["region"], wdbc_clf.partitions_[0].blocks, strict=True):
        shadow = block.ellipsoid.shadow(some)
        scale = wdbc_clf.scale_[some]
        spread = np.outer(scale, scale) * ((shadow.axes * np.square(shadow.radii)) @ shadow.axes.T)
        factor = np.array(ellipses[name]["factor"])
        np.testing.assert_allclose(factor @ factor.T, spread, rtol=1e-4)
        np.testing.assert_allclose(ellipses[name]["center"], shadow.center * scale + wdbc_clf.mean_[some], rtol=1e-4)


def test_explanations_are_those_of_the_classifier(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, _ = wdbc
    content = wdbc_report.to_dict()
    for told in content["verdicts"][::40]:
        why = wdbc_clf.explain(X_test.iloc[told["record"]])
        assert told["text"] == why.text
        assert told["values"] == X_test.iloc[told["record"]].tolist()
        assert told["counterfactual"]["label"] == why.counterfactual.label
        nearest = why.neighbours[0]
        assert told["neighbours"][0]["row"] == nearest.row
        np.testing.assert_allclose(content["neighbours"][str(nearest.row)], [*nearest.values.values()], rtol=1e-5)


def test_wrong_verdicts_are_told_first_and_then_those_of_little_trust(wdbc, wdbc_clf):
    _, X_test, _, y_test = wdbc
    subject = Subject.of(wdbc_clf, X_test, y_test)
    wrong = np.flatnonzero(~subject.right)
    for most in (1, len(wrong), 40, len(y_test) + 1):
        rows = choose(subject, most)
        assert len(rows) == len(set(rows.tolist())) == min(most, len(y_test))
        assert set(rows.tolist()) <= set(wrong.tolist()) or set(wrong.tolist()) <= set(rows.tolist())
    least = np.argsort(subject.trust)[: 20 - len(wrong)]
    assert set(least.tolist()) <= set(choose(subject, 40).tolist())


def test_the_dict_is_ready_for_json_and_a_copy(wdbc_report):
    content = wdbc_report.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    content["labels"].clear()
    assert wdbc_report.to_dict()["labels"] == ["benign", "malignant"]


def test_the_same_input_gives_the_same_bytes(iris):
    X, X_test, y, y_test = iris
    # Even another order of the training rows changes nothing but their numbers, which are left out here.
    fits = (SEPClassifier().fit(X[::step], y[::step]) for step in (1, -1))
    first, again = (report(clf, X_test, y_test, max_records=5, training_rows=False) for clf in fits)
    told = [re.sub(r"row \d+|\"row\":\d+", "", form) for r in (first, again) for form in (r.html(), r.markdown())]
    assert told[:2] == told[2:]
    assert report(SEPClassifier().fit(X, y), X_test, y_test, max_records=5, training_rows=False).html() == first.html()


def test_the_page_is_small_and_names_nothing_outside_of_it(wdbc_report):
    page = wdbc_report.html()
    assert len(page.encode()) < 3_000_000
    assert not re.findall(r"(?:https?:)?//[a-z]|url\(|@import", page)
    assert set(re.findall(r'(?:src|href)="([^"#]*)', page)) == {""}


class _Reader(HTMLParser):
    """Collects what a page shows, and the elements it has."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words, self.data = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.elements.append(tag)

    def handle_data(self, data):
        (self.data if self.elements[-1:] in (["script"], ["style"]) else self.words).append(data)


_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', flags=re.DOTALL)


def _payload(page):
    return json.loads(_DATA.search(page)[1])


def _shown_by_markdown(text):
    page = MarkdownIt("commonmark").enable("table").render(text)
    return page, " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


def test_all_forms_tell_the_same(wdbc_report, tmp_path):
    content = wdbc_report.to_dict()
    page, (_, shown) = wdbc_report.html(), _shown_by_markdown(wdbc_report.markdown())
    words = " ".join(" ".join(_Reader(page).words).replace("\u00a0", " ").split())
    told = [content["title"], content["summary"], content["card"]["meaning"], *content["card"]["not_guaranteed"]]
    told += [finding[part] for finding in content["landscape"]["findings"] for part in ("title", "evidence", "remedy")]
    told += [row[0] for row in content["regions"]["rows"]] + [row[-1] for row in content["regions"]["rows"]]
    for text in told:
        assert text in words
        assert text in shown
    assert _payload(page)["verdicts"] == content["verdicts"]
    for verdict in content["verdicts"]:
        assert " ".join(verdict["text"].split()) in shown
    wdbc_report.write(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == content


def test_hostile_texts_are_texts(hostile):
    page = hostile.html()
    read = _Reader(page)
    assert read.elements.count("script") == 2
    words = " ".join(read.words)
    rendered, shown = _shown_by_markdown(hostile.markdown())
    for text in HOSTILE:
        assert text in words
        assert " ".join(text.split()) in shown
    assert not re.search(r"<(script|b|code)>(alert|bold|code)", rendered)
    assert not set("<>&\u2028\u2029") & set(_DATA.search(page)[1])
    assert _payload(page)["labels"] == hostile.to_dict()["labels"]
    assert sorted(hostile.to_dict()["labels"]) == sorted(HOSTILE)


def test_arrays_pandas_and_polars_give_the_same_report(iris):
    X, X_test, y, y_test = iris
    told = []
    for kind in (lambda frame: frame.reset_index(drop=True), lambda frame: pl.DataFrame(dict(frame))):
        clf = SEPClassifier().fit(kind(X), y)
        told.append(report(clf, kind(X_test), y_test, max_records=5).to_dict())
    assert told[0] == told[1]
    bare = report(SEPClassifier().fit(X.to_numpy(), y), X_test.to_numpy(), y_test, max_records=5).to_dict()
    assert bare["columns"] == ["x0", "x1", "x2", "x3"]
    assert bare["results"] == told[0]["results"]


@pytest.mark.parametrize("trust", ["local", "counts", "bound", "paper"])
def test_every_reading_of_the_regions_can_be_reported(iris, trust):
    X, X_test, y, y_test = iris
    told = report(SEPClassifier(trust=trust).fit(X, y), X_test, y_test, max_records=3)
    assert trust in told.to_dict()["card"]["parameters"]["trust"]
    assert told.to_dict()["card"]["meaning"] in unescape(told.html())


@pytest.fixture(scope="module")
def raw_table():
    """Numbers, texts, dates, yes or no, and missing cells; two thirds are to be trained on."""
    rng = np.random.default_rng(0)
    y = np.array(["ill", "well"])[rng.integers(0, 2, 150)]
    table = pd.DataFrame(
        {
            "age": np.where(y == "ill", rng.normal(60, 8, 150), rng.normal(45, 9, 150)).round(),
            "smoker": np.where(rng.random(150) < np.where(y == "ill", 0.7, 0.2), "yes", "no"),
            "seen <on>": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, 150), "D"),
            "ward": rng.choice(["A", "B", "C"], 150),
        }
    )
    table.loc[::17, "age"] = None
    table.loc[120, "ward"] = "Z"
    return table[:100], table[100:], y[:100], y[100:]


@pytest.mark.parametrize("ensemble", [False, True])
def test_reports_on_raw_tables_speak_of_their_columns_and_values(raw_table, ensemble):
    X, X_test, y, y_test = raw_table
    clf = make_table_pipeline(SEPEnsembleClassifier(n_estimators=3) if ensemble else None).fit(X, y)
    found = report(clf, X_test[X_test.columns[::-1]], y_test, max_records=6)  # columns may come in any order
    content = found.to_dict()
    assert content["columns"] == X.columns.tolist()
    assert content["results"]["accuracy"] == accuracy_score(y_test, clf.predict(X_test))
    for told in content["verdicts"]:
        row = X_test.iloc[told["record"]]
        assert told["text"] == clf.explain(row).text
        assert told["values"][1:] == [row["smoker"], str(row["seen <on>"].date()), row["ward"]]
        assert set(content["neighbours"][str(told["neighbours"][0]["row"])]) & {"yes", "no"}
    findings = {finding["code"]: finding for finding in content["landscape"]["findings"]}
    assert findings["unseen-category"]["evidence"] == "ward: Z (1 record)."
    assert "linear-dependence" not in findings  # the encoder's own doing
    assert content["card"]["preparation"] == clf["columns"].notes
    assert "seen &lt;on&gt;" in found.html()
    assert report(clf, pl.from_pandas(X_test), y_test, max_records=0).to_dict()["results"] == content["results"]
    closed = report(clf, X_test, y_test, max_records=6, training_rows=False).to_dict()
    assert closed["neighbours"] == {}


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_test_with_training_records_is_called_what_it_is(iris, ensemble):
    X, _, y, _ = iris
    clf = (SEPEnsembleClassifier(n_estimators=2) if ensemble else SEPClassifier()).fit(X, y)
    told = [report(clf, A, y, max_records=0).to_dict() for A in (X, X + 0.01)]
    codes = [[finding["code"] for finding in one["landscape"]["findings"]] for one in told]
    assert codes[0][0] == "known-test-records"
    assert "known-test-records" not in codes[1]
    assert told[0]["landscape"]["findings"][0]["title"] == f"{len(X)} of {len(X)} test records are training records"
    assert "others" not in told[0]["summary"]


def test_a_label_that_training_never_had_is_wrong_and_has_a_row_of_its_own(iris, iris_clf):
    _, X_test, _, y_test = iris
    y_test = y_test.to_numpy().copy()
    y_test[0] = 99
    found = report(iris_clf, X_test, y_test, max_records=3)
    content = found.to_dict()
    assert content["labels"] == ["0", "1", "2", "99"]
    assert sum(content["results"]["confusion"]["counts"][3]) == 1
    assert content["results"]["n_right"] == (iris_clf.predict(X_test) == y_test).sum()
    assert 0 in [verdict["record"] for verdict in content["verdicts"]]
    assert "99" in found.html()


@pytest.mark.parametrize("X_test", [[[0.5]], [[0.5], [7.0], [-40.0]]])
def test_one_feature_few_records_and_no_explanation_at_all(X_test):
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    found = report(clf, X_test, ["low", "high", "high"][: len(X_test)], min_trust=1.0, max_records=0)
    assert found.to_dict()["verdicts"] == []
    assert found.to_dict()["results"]["at"]["accuracy"] is None
    assert 'id="list"' not in found.html()


def test_training_records_stay_out_where_they_must():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 4.0, [[9.123456, -3.654321]]])
    y = np.repeat(["a", "b", "c"], [30, 30, 1])
    with pytest.warns(sepc.SepcWarning, match="c: fewer"):
        clf = SEPClassifier().fit(X, y)
    X_test = rng.normal(size=(40, 2)) + 2.0
    y_test = rng.choice(["a", "b"], 40)
    open_, closed = (report(clf, X_test, y_test, training_rows=allowed).to_dict() for allowed in (True, False))
    assert any("row" in finding["evidence"] for finding in open_["landscape"]["findings"])
    assert not any(re.search(r"rows? \d", finding["evidence"]) for finding in closed["landscape"]["findings"])
    assert open_["neighbours"]
    assert closed["neighbours"] == {}
    told = [verdict["counterfactual"] for verdict in closed["verdicts"]]
    values = np.array([change["values"] for change in told if change])
    assert np.abs(values[:, None] - X).max(axis=2).min() > 1e-6
    hidden = [
        (a["text"], b["text"])
        for a, b in zip(open_["verdicts"], closed["verdicts"], strict=True)
        if a["text"] != b["text"]
    ]
    assert len(hidden) == sum(change is None for change in told)
    assert all("leads to a training record" in text for _, text in hidden)
    assert "9.123" not in json.dumps([verdict["text"] for verdict in closed["verdicts"]])


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_model_without_its_training_records_can_be_reported_on(iris, ensemble, monkeypatch):
    X, X_test, y, y_test = iris
    clf = (SEPEnsembleClassifier(n_estimators=3) if ensemble else SEPClassifier()).fit(X, y)
    whole = report(clf, X_test, y_test, max_records=0).to_dict()

    def missing(_):
        raise SepcError("the training records are not in this model")

    monkeypatch.setattr(Model, "points", property(missing))
    found = report(clf, X_test, y_test, max_records=0)
    assert found.to_dict()["landscape"]["findings"] == []
    assert found.to_dict()["results"] == whole["results"]
    assert len(found.to_dict()["picture"]["views"]) > 1
    assert "no training records" in found.html()


def test_progress_is_told_and_an_error_ends_the_run(iris, iris_clf):
    _, X_test, _, y_test = iris
    steps = []
    report(iris_clf, X_test, y_test, max_records=4, on_step=lambda *step: steps.append(step))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report(iris_clf, X_test, y_test, max_records=4, on_step=stop)


@pytest.mark.parametrize(
    ("name", "start"), [("a.html", "<!DOCTYPE"), ("a.HTM", "<!DOCTYPE"), ("a.md", "# "), ("a.json", "{")]
)
def test_the_ending_of_a_name_says_what_is_written(iris, iris_clf, tmp_path, name, start):
    _, X_test, _, y_test = iris
    report(iris_clf, X_test, y_test, max_records=1).write(tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_what_cannot_be_written_leaves_nothing_behind(iris, iris_clf, tmp_path, monkeypatch):
    _, X_test, _, y_test = iris
    found = report(iris_clf, X_test, y_test, max_records=1)
    path = tmp_path / "a.html"
    path.write_text("before")
    with pytest.raises(InputError, match=r"\.html, \.md or \.json"):
        found.write(tmp_path / "a.pdf")

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        found.write(path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_half_a_surrogate_pair_is_written_by_its_number(tmp_path):
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    found = report(clf, [[0.5]], ["low"], title="half \ud83d")
    for name in ("a.html", "a.md", "a.json"):
        found.write(tmp_path / name)
        assert "half \\ud83d" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"y_test": ["setosa"] * 38}, "no label that the classifier knows"),
        ({"y_test": [0, 1]}, "y_test has shape"),
        ({"y_test": [None] * 38}, "missing label"),
        ({"X_test": np.empty((0, 4)), "y_test": []}, "X_test has no rows"),
        ({"max_records": -1}, "max_records is -1"),
        ({"max_records": True}, "max_records is True"),
        ({"min_trust": 1.5}, "min_trust is 1.5"),
    ],
)
def test_bad_input_is_refused_in_words(iris, iris_clf, asked, message):
    _, X_test, _, y_test = iris
    with pytest.raises(InputError, match=message):
        report(iris_clf, **({"X_test": X_test, "y_test": y_test} | asked))


def test_another_classifier_is_refused_with_a_way_out(iris):
    X, X_test, y, y_test = iris
    pipe = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
    with pytest.raises(InputError, match=r"clf\[-1\], clf\[:-1\]\.transform"):
        report(pipe, X_test, y_test)
    assert report(pipe[-1], pipe[:-1].transform(X_test), y_test, max_records=0).to_dict()["n_classes"] == 3


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(hostile):
    shown = hostile._repr_html_()
    read = _Reader(shown)
    assert read.elements == ["iframe"]
    assert 'sandbox="allow-scripts"' in shown
