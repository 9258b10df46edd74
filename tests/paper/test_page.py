"""The page has every statement, table and figure, and the committed one is up to date."""

import json
import re
import sys
from math import nan
from pathlib import Path

import pytest
from coded import raises
from paper_data import NEEDS_DATA, require_data

from paper import EXPERIMENTS
from paper.page import rendered
from paper.results import Result, document
from sepc import SepcError

pytestmark = pytest.mark.study

COMMITTED = Path(__file__).parents[2] / "docs" / "reproduction"


def test_the_page_has_every_statement_table_and_figure(runs):
    results = [runs(name) for name in ("xor", "circles")]
    content = document(results)
    for kind in ("md", "html"):
        page = rendered(kind, content)
        for result in results:
            assert f"{result.experiment.name}.png" in page
            assert page.count(result.experiment.statements[0].text) >= 2
        assert "accuracy of the accepted" in page
    assert sum(content["verdicts"].values()) == sum(len(r.experiment.statements) for r in results)


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


def test_every_claim_that_does_not_match_has_a_reason_and_false_ones_a_case_to_run():
    kept = json.loads((COMMITTED / "results.json").read_text())["experiments"]
    for name, one in kept.items():
        for row in one["statements"]:
            assert row["reason"], (name, row["statement"])
    claims = {s.text: s for s in EXPERIMENTS["claims"].statements}
    differing = [row for row in kept["claims"]["statements"] if row["verdict"] == "differs"]
    assert len(differing) >= 6
    assert all(claims[row["statement"]].example for row in differing)


def test_the_page_opens_with_claims_verdicts_and_reasons_and_ends_with_how_it_was_run(runs):
    for kind, mark in (("md", "## {}"), ("html", ">{}</h2>")):
        page = rendered(kind, document([runs("xor"), runs("claims")]))
        at = [page.index(part) for part in ("Two separable strips", mark.format("XOR"), mark.format("How it was run"))]
        assert at == sorted(at)


def test_html_escapes_labels(runs):
    page = rendered("html", document([runs("adult_stratum")]))
    assert "&lt;=50K" in page
    assert not re.search(r"<=\d", page)


def test_a_page_without_jinja2_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with raises("template-engine-missing", SepcError, needed_for="a page", otherwise=""):
        rendered("md", document([]))


def test_numbers_on_the_page_for_readers_are_those_of_the_full_run():
    text = " ".join((COMMITTED.parent / "understand" / "paper.md").read_text().split())
    kept = {
        name: one["measures"]
        for name, one in json.loads((COMMITTED / "results.json").read_text())["experiments"].items()
    }
    places = {
        "wdbc": "on WDBC",
        "vertebral": "on the Vertebral Column",
        "adult": "on Adult",
        "adult_stratum": "on the stratum of it",
        "imbalance": "with a minority of 1:10",
    }
    for name, place in places.items():
        assert f"{kept[name]['paper.accepted']['median']:.0%}".replace("%", " %") + f" {place}" in text
    three = kept["wdbc"]["raw.three"]["values"]
    assert (
        f"3 and 3 in {sum(three):.0f} of 80 splits, but in all four splits of a run only in {three.count(4)} of 20"
        in text
    )
    assert min(kept[name]["paper.accepted"]["median"] for name in ("circles", "moons", "iris")) > 0.96
