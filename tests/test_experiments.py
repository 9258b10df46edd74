"""The paper's experiments: each runs in its quick form, verdicts follow the numbers, and pages hold what came out."""

import json
import os
import re
import sys
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from sepc import InputError, SepcError
from sepc.cli import main
from sepc.datasets import make_moons
from sepc.experiments import EXPERIMENTS, running
from sepc.experiments.figures import style
from sepc.experiments.page import rendered
from sepc.experiments.readings import beyond, classifier, trust_in
from sepc.experiments.results import Result, document, numbers
from sepc.experiments.running import reproduce, run
from sepc.experiments.statements import Expectation, Kind, Statement, spread, spread_in_words
from sepc.experiments.vertebral import fold_sizes

COMMITTED = Path(__file__).parents[1] / "docs" / "reproduction"
NEEDS_DATA = {
    "adult": "adult_train_clean.csv",
    "adult_stratum": "adult_train_clean.csv",
    "vertebral": "vertebral_2c.csv",
}


def require_data(name):
    folder, file = os.environ.get("SEPC_DATA"), NEEDS_DATA.get(name)
    if file and not (folder and (Path(folder) / file).exists()):
        pytest.skip(f"set SEPC_DATA to the folder that holds {file}")


@pytest.fixture(scope="module")
def runs():
    """One run of each experiment that was asked for."""
    kept = {}

    def of(name):
        require_data(name)
        if name not in kept:
            kept[name] = Result.of(EXPERIMENTS[name], False, [EXPERIMENTS[name].run(0)])
        return kept[name]

    return of


# Each experiment.


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_quick_form_gives_every_measure_and_every_statement_a_verdict(name):
    require_data(name)
    result = run(EXPERIMENTS[name], False, 1, None)
    assert result.n_runs == EXPERIMENTS[name].quick
    assert set(result.values) == set(result.experiment.measures())
    for statement in result.experiment.statements:
        for e in (*statement.expects, *(e for reading in statement.others for e in reading)):
            assert e.measure in result.values
        verdict = statement.judge(result.values)
        assert verdict.kind in Kind
        assert verdict.sentence.endswith(".")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_figure_has_named_axes_and_fits_a_column(runs, name):
    result = runs(name)
    with style():
        figure = result.experiment.draw(result.values)
    assert figure.get_figwidth() in (3.4, 7.0)
    for ax in figure.axes:
        assert ax.get_ylabel()
    assert all(ax.get_xlabel() for ax in figure.axes if ax.yaxis.get_label_position() == "left")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_changed_number_flips_a_verdict(runs, name):
    result = runs(name)
    for statement in result.experiment.statements:
        expectations = (*statement.expects, *(e for reading in statement.others for e in reading))
        as_said = {e.measure: [e.high if e.low == -inf else e.low] for e in expectations}
        beyond_it = {e.measure: [e.low - 1.0 if e.high == inf else e.high + 1.0] for e in expectations}
        assert statement.judge({**result.values, **as_said}).kind is Kind.MATCHES
        assert statement.judge({**result.values, **beyond_it}).kind is Kind.DIFFERS
        for e in statement.expects:
            one = {e.measure: beyond_it[e.measure]}
            assert statement.judge({**result.values, **as_said, **one}).kind is not Kind.MATCHES


def test_every_experiment_has_at_least_20_seeds_in_its_full_form_and_fewer_in_its_quick_one():
    assert all(one.full >= 20 > one.quick for one in EXPERIMENTS.values())


def test_vertebral_column_gives_the_paper_s_figures_exactly(runs):
    values = {name: column[0] for name, column in runs("vertebral").values.items()}
    assert (values["normal.outside"], values["abnormal.outside"]) == (7, 157)
    assert round(values["normal.ovr"], 3) == 0.667
    assert round(values["abnormal.ovr"], 4) == 0.0056


def test_xor_is_two_flat_ellipsoids_that_cross(runs):
    values = {name: column[0] for name, column in runs("xor").values.items()}
    assert (values["plain.n"], values["plain.meet"], values["plain.right"]) == (2, 1, 4)
    assert values["plain.flatness"] < 1e-5 < values["added.flatness"]


def test_the_worst_and_best_fold_of_the_paper_are_shares_of_14_or_28():
    assert (9 * 1000 // 14, 13 * 1000 // 14) == (642, 928)
    assert fold_sizes(0.642, 0.928) == [14, 28]


def test_beyond_agrees_with_the_centroids_of_sets_of_one_size():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 3)), rng.standard_normal((40, 3)) + 0.5
    c, d = A.mean(axis=0), B.mean(axis=0)
    of_a, of_b = beyond(A, B)
    assert np.array_equal(of_a, (A - c) @ (c - d) >= 0.0)
    assert np.array_equal(of_b, (B - d) @ (c - d) <= 0.0)


def test_trust_in_the_labels_of_an_assessment_is_its_own():
    data = make_moons(noise=0.25)
    a = classifier("paper", 2).fit(data.X, data.y).assess(data.X)
    other = np.where(a.label == "upper", "lower", "upper")
    assert np.array_equal(trust_in(a.label, a, data.y), a.trust)
    own, rest = a.counts.T
    assert np.allclose(trust_in(other, a, data.y), 1.0 / (1.0 + own * 100 / ((rest + 1) * 101)))


# Verdicts.

FOUR = Expectation("n", "iterations", "count", 4, 4)
NONE = Expectation("left", "left over", "count", 0, 0)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"n": [4, 4, 5], "left": [0, 0, 1]}, Kind.MATCHES),
        ({"n": [5, 4, 5], "left": [1, 0, 1]}, Kind.IN_PART),  # both in one run
        ({"n": [5, 4, 5], "left": [0, 1, 1]}, Kind.DIFFERS),  # each in a run, never both
        ({"n": [5, 5, 5], "left": [0, 0, 0]}, Kind.IN_PART),  # one of the numbers
        ({"n": [5, 5, 5], "left": [1, 1, 1]}, Kind.DIFFERS),
        ({"n": [nan, nan], "left": [1, 1]}, Kind.DIFFERS),
    ],
)
def test_verdicts_follow_the_rule(values, kind):
    assert Statement("", "4", (FOUR, NONE)).judge(values).kind is kind


def test_another_reading_makes_it_a_match_in_part_only_if_all_of_its_numbers_do():
    statement = Statement("", "4", (FOUR,), ((FOUR._replace(measure="m"), NONE),))
    differs = {"n": [5, 5], "m": [4, 4], "left": [1, 1]}
    assert statement.judge(differs).kind is Kind.DIFFERS
    assert "no other reading" in statement.judge(differs).sentence.lower()
    told = statement.judge({**differs, "left": [0, 0]})
    assert told.kind is Kind.IN_PART
    assert "Another reading comes to it" in told.sentence


def test_sentences_give_the_range_of_other_readings_number_by_number():
    others = tuple(
        (FOUR._replace(measure=f"n_{key}"), NONE._replace(measure=f"left_{key}")) for key in ("small", "large")
    )
    values = {"n": [9], "left": [9], "n_small": [5], "n_large": [7], "left_small": [3], "left_large": [3]}
    sentence = Statement("", "4 and 0", (FOUR, NONE), others).judge(values).sentence
    assert sentence.endswith("No other reading that was tried comes to it; they give 5 to 7 and 3.")


def test_sentences_give_the_median_the_range_and_how_often():
    sentence = Statement("", "4", (FOUR,)).judge({"n": [4, 4, 4, 7, 9]}).sentence
    assert sentence == "Iterations: 4 (4 to 9), expected 4 (in 3 of 5 runs)."


def test_spreads_leave_out_what_is_no_number():
    assert spread([nan, 2.0, 4.0]) == (2, 2.0, 2.0, 4.0)
    assert spread_in_words([nan], "share") == "none"
    assert spread_in_words([1.0, 0.0, 1.0], "yes") == "yes (no to yes)"


# What is written.


def test_reproduce_writes_figures_numbers_and_pages_that_agree(tmp_path):
    (result,) = reproduce(["reduced_hulls"], tmp_path, n_jobs=1)
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"index.{kind}" for kind in ("md", "html")),
        *(f"reduced_hulls.{kind}" for kind in ("png", "svg")),
        "results.json",
    }
    kept = json.loads((tmp_path / "results.json").read_text())["experiments"]["reduced_hulls"]
    assert kept["runs"] == result.experiment.quick
    for statement, row in zip(result.experiment.statements, kept["statements"], strict=True):
        verdict = statement.judge(result.values)
        assert (row["verdict"], row["sentence"]) == (verdict.kind, verdict.sentence)
        for kind in ("md", "html"):
            assert verdict.sentence in (tmp_path / f"index.{kind}").read_text()


def test_figures_are_the_same_to_the_byte(tmp_path):
    for folder in ("a", "b"):
        reproduce(["reduced_hulls"], tmp_path / folder, n_jobs=1)
    for file in ("reduced_hulls.svg", "reduced_hulls.png", "results.json", "index.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on(tmp_path, monkeypatch):
    def interrupt(name, n_done, n_runs):  # noqa: ARG001
        if name == "reduced_hulls":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["xor", "reduced_hulls"], tmp_path, n_jobs=1, on_progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == [".unfinished"]

    ran = []
    monkeypatch.setattr(running, "run", lambda one, *rest: ran.append(one.name) or run(one, *rest))
    told = []
    reproduce(["xor", "reduced_hulls"], tmp_path, n_jobs=1, on_progress=lambda *step: told.append(step))
    assert ran == ["reduced_hulls"]
    assert told[0] == ("xor", 4, 4)
    assert not (tmp_path / ".unfinished").exists()


@pytest.mark.parametrize("damage", ["", "[]", '{"version": "0"}'])
def test_what_was_kept_of_another_version_or_is_damaged_is_run_again(tmp_path, damage):
    xor = EXPERIMENTS["xor"]
    file = tmp_path / "xor.json"
    Result.of(xor, False, [xor.run(seed) for seed in range(xor.quick)]).save(file)
    assert Result.load(file, xor, full=False) is not None
    assert Result.load(file, xor, full=True) is None
    assert Result.load(file, replace(xor, quick=3), full=False) is None
    file.write_text(damage)
    assert Result.load(file, xor, full=False) is None


def test_what_was_kept_is_what_came_out(tmp_path):
    hulls = EXPERIMENTS["reduced_hulls"]
    runs = [{**hulls.run(seed), "after.kept": nan} for seed in range(hulls.quick)]
    Result.of(hulls, False, runs).save(tmp_path / "a.json")
    values = Result.load(tmp_path / "a.json", hulls, full=False).values
    assert values["before.kept"] == [1.0] * hulls.quick
    assert np.isnan(values["after.kept"]).all()


def test_the_page_has_every_statement_table_and_figure(runs):
    results = [runs(name) for name in ("xor", "circles")]
    content = document(results)
    for kind in ("md", "html"):
        page = rendered(kind, content)
        for result in results:
            assert f"{result.experiment.name}.png" in page
            assert page.count(result.experiment.statements[0].text) == 2
        assert "accuracy of the accepted" in page
    assert sum(content["verdicts"].values()) == sum(len(r.experiment.statements) for r in results)


def test_every_number_of_ours_on_the_page_comes_from_the_values(runs):
    """Other values must change every cell: a number that stayed would have been typed."""
    result = runs("circles")
    shifted = replace(result, values={name: [v + 1.2345 for v in column] for name, column in result.values.items()})
    before, after = (document([r])["sections"][0] for r in (result, shifted))
    for old, new in zip(before["tables"], after["tables"], strict=True):
        for (_, was), (_, now) in zip(old["rows"], new["rows"], strict=True):
            assert not set(was) & set(now) - {"none"}
    assert before["statements"][0]["ours"] != after["statements"][0]["ours"]
    assert numbers([result]) != numbers([shifted])


@pytest.mark.parametrize("kind", ["md", "html"])
def test_the_committed_page_is_what_its_numbers_give(kind):
    for name in NEEDS_DATA:
        require_data(name)
    kept = json.loads((COMMITTED / "results.json").read_text())["experiments"]
    assert list(kept) == list(EXPERIMENTS)
    results = []
    for name, one in kept.items():
        values = {
            measure: [nan if value is None else value for value in found["values"]]
            for measure, found in one["measures"].items()
        }
        assert (one["form"], one["runs"]) == ("full", EXPERIMENTS[name].full)
        results.append(Result(EXPERIMENTS[name], True, values))
    assert rendered(kind, document(results)) == (COMMITTED / f"index.{kind}").read_text()


def test_html_escapes_labels(runs):
    page = rendered("html", document([runs("adult_stratum")]))
    assert "&lt;=50K" in page
    assert not re.search(r"<=\d", page)


def test_an_unknown_experiment_is_refused_with_the_names_of_all(tmp_path):
    with pytest.raises(InputError, match=r"'sums'.*moons, xor"):
        reproduce(["sums"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_prints_how_the_statements_fare(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(running, "run", lambda one, full, _, tell: run(one, full, 1, tell))
    assert main(["reproduce", "xor", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "3 statements: 3 matches, 0 matches in part, 0 differs"
    assert (tmp_path / "index.html").exists()
    assert "xor: 4 runs" in said.err
    assert main(["reproduce", "sums"]) == 1
    assert "there is no experiment 'sums'" in capsys.readouterr().err


def test_an_interruption_of_the_command_says_that_it_can_go_on(tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "xor", "--out", str(tmp_path)])
    assert ended.value.code == 130
    assert "goes on from there" in capsys.readouterr().err


def test_a_page_without_jinja2_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(SepcError, match=r"sepc\[report\]"):
        rendered("md", document([]))
