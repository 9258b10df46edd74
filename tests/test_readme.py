"""Code, commands and links of the README work as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_python_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Predicted ")
    assert {"model.sepc", "report.html"} == {path.name for path in tmp_path.iterdir()}


@pytest.mark.first_use
def test_the_quick_start_works_line_by_line_in_an_empty_folder(tmp_path):
    (commands,) = blocks("console")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    said = {}
    for line in commands.splitlines():
        command = line.removeprefix("$ ")
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        said[command.split()[1]] = done.stdout
    assert "overlap" in said["landscape"]
    assert said["explain"].startswith("Predicted ")
    header, *rows = (tmp_path / "verdicts.csv").read_text().splitlines()
    assert header.endswith("label,trust,reason,region,distance,typicality,stability,accepted,refusal")
    assert len(rows) == len((tmp_path / "demo" / "new.csv").read_text().splitlines()) - 1
    assert "<html" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_files_that_the_readme_names_are_there(target):
    assert (README.parent / target).exists()


def test_the_verdicts_on_the_paper_are_those_of_the_full_run():
    page = (README.parent / "docs" / "reproduction" / "index.md").read_text(encoding="utf-8")
    told = re.compile(r"(\d+)\s+claims,?\s+(\d+)\s+match,\s+(\d+)\s+match\s+in\s+part\s+and\s+(\d+)\s+differ")
    assert told.search(TEXT).groups() == told.search(page).groups()
