"""What the README and the demo promise works as it stands there."""

import re
from pathlib import Path

import pytest

from sepc import demo

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_s_python_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Predicted ")


def test_the_demo_tells_the_whole_story(capsys):
    demo.main()
    told = capsys.readouterr().out
    for part in (
        "to compile the kernels",
        "Right on",
        "accepted",
        "Where the test records lie",
        "benign#1",
        "Predicted",
    ):
        assert part in told


@pytest.mark.parametrize(
    "target", ["CITATION.cff", "docs/estimator.md", "docs/landscape.md", "docs/kernels.md", "docs/partition.png"]
)
def test_files_that_the_readme_names_are_there(target):
    assert f"]({target})" in README.read_text(encoding="utf-8")
    assert (README.parent / target).exists()
