"""Runs write what agrees, and go on after an interruption."""

import json
from dataclasses import replace

import pytest
from coded import raises

from paper import EXPERIMENTS, running
from paper.results import Result
from paper.running import reproduce, run


@pytest.mark.slow
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
        verdict = statement.verdict(result.values)
        assert (row["verdict"], row["sentence"]) == (verdict.kind, verdict.sentence)
        for kind in ("md", "html"):
            assert statement.line(result.values) in (tmp_path / f"index.{kind}").read_text()


@pytest.mark.slow
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


def test_an_unknown_experiment_is_refused_with_the_names_of_all(tmp_path):
    with raises("paper-unknown-experiment", name="sums"):
        reproduce(["sums"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_experiments_that_were_not_asked_for_stay_on_the_page_in_their_order(tmp_path, monkeypatch):
    reproduce(["claims"], tmp_path, n_jobs=1)
    before = json.loads((tmp_path / "results.json").read_text())["experiments"]["claims"]
    ran = []
    monkeypatch.setattr(running, "run", lambda one, *rest: ran.append(one.name) or run(one, *rest))
    results = reproduce(["xor"], tmp_path, n_jobs=1)
    assert ran == ["xor"]
    assert [result.experiment.name for result in results] == ["xor", "claims"]
    kept = json.loads((tmp_path / "results.json").read_text())["experiments"]
    assert list(kept) == ["xor", "claims"]
    assert kept["claims"] == before
    assert "## Claims about the method" in (tmp_path / "index.md").read_text()


def test_what_stands_of_another_form_or_with_other_measures_does_not_stay(tmp_path):
    reproduce(["xor"], tmp_path, n_jobs=1)
    file = tmp_path / "results.json"
    assert list(Result.load_all(file, EXPERIMENTS, full=False)) == ["xor"]
    assert Result.load_all(file, EXPERIMENTS, full=True) == {}
    assert Result.load_all(tmp_path / "none.json", EXPERIMENTS, full=False) == {}
    content = json.loads(file.read_text())
    del content["experiments"]["xor"]["measures"]["plain.n"]
    file.write_text(json.dumps(content))
    assert Result.load_all(file, EXPERIMENTS, full=False) == {}
