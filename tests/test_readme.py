"""The README is short, and what it names and counts is so; its code is run with that of all pages."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_it_is_read_in_a_minute():
    assert len(TEXT.splitlines()) < 100


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_files_that_the_readme_names_are_there(target):
    assert (README.parent / target).exists()


def test_the_verdicts_on_the_paper_are_those_of_the_full_run():
    page = (README.parent / "docs" / "reproduction" / "index.md").read_text(encoding="utf-8")
    told = re.compile(r"(\d+)\s+claims,?\s+(\d+)\s+match,\s+(\d+)\s+match\s+in\s+part\s+and\s+(\d+)\s+differ")
    assert told.search(TEXT).groups() == told.search(page).groups()
