"""What makes a release agrees: versions, lower bounds, fragments of the changelog."""

import re
import tomllib
from pathlib import Path

import pytest

import sepc

ROOT = Path(__file__).parents[1]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONFIGURATION["project"]
# Extras for users; those for developers have no versions to hold.
EXTRAS = ("plot", "cli", "report", "xlsx", "scale", "all")


def bounds(requirements):
    """Yield name and lower bound of each requirement, but those on extras of the package itself."""
    for requirement in requirements:
        if not requirement.startswith("sepc["):
            name, version = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement).groups()
            yield name, version


def test_the_lowest_versions_that_are_tested_are_those_of_the_package():
    requirements = [*PROJECT["dependencies"], *(r for extra in EXTRAS for r in PROJECT["optional-dependencies"][extra])]
    lines = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == sorted(
        {f"{name}=={version}" for name, version in bounds(requirements)}
    )


def test_a_dependency_has_one_lower_bound():
    found = {}
    for requirements in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        for name, version in bounds(r.partition(";")[0] for r in requirements):
            assert found.setdefault(name, version) == version, name


@pytest.mark.parametrize("python", [c[-4:] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)])
def test_each_supported_python_is_tested(python):
    workflows = ROOT / ".github" / "workflows"
    for name in ("test", "package"):
        assert f'"{python}"' in (workflows / f"{name}.yml").read_text(encoding="utf-8")


def test_actions_are_pinned_to_commits():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for action in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), action


def test_citation_and_changelog_name_the_released_version():
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)[1]
    newest = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert cited == newest
    assert sepc.__version__ == newest or ".dev" in sepc.__version__


def test_fragments_are_of_a_known_kind():
    kinds = "|".join(kind["directory"] for kind in CONFIGURATION["tool"]["towncrier"]["type"])
    for path in (ROOT / "changes").iterdir():
        assert path.name == "README.md" or re.fullmatch(rf"\+[\w-]+\.({kinds})\.md", path.name), path.name
        assert path.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize(
    "name", ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md", "changes/README.md"]
)
def test_files_that_a_page_for_contributors_names_are_there(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
