"""Numbers on pages of measurements come from result files, and these say what they measured."""

import sys

import figures
import measure
import pytest

ROOT = figures.ROOT
INDEX, PAGE = figures.MEASURED / "index.md", figures.MEASURED / "page.md"
RESULT = {
    "command": "python bench/kernels.py",
    "commit": "abc1234",
    "date": "2026-01-02",
    "versions": "Python 3.11",
    "machine": "two cores",
    "code": "0",
    "tables": {"speed": {"columns": ["n", "d", "ms"], "rows": [["1,000", "2", "0.5 s, 20 x"], ["1,000", "10", "7"]]}},
    "figures": {"start": 0.25},
}


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A folder of result files with one file in it."""
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    figures.write("made_up", RESULT)
    yield
    figures.result.cache_clear()


def faults(text):
    return list(figures.faults_of_page(text, INDEX))


@pytest.mark.slow
def test_every_number_of_the_site_and_the_readme_comes_from_a_result_file():
    assert list(figures.faults()) == []


def test_another_number_in_the_readme_is_found():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = figures.README_BLOCK.search(readme)[0]
    other = readme.replace(block, block.replace("2", "3", 1))
    assert other != readme
    assert figures.with_measured(other) == readme


@pytest.mark.parametrize(
    "text",
    [
        "It takes 12 s.",
        "It takes\n.93 of the time.",
        "The 16 sets:\n\n| set | ms |\n|---|---|\n| iris | few |\n",
        "| set | ms |\n|---|---|\n| iris | 7.5 |\n",
        "## 3 times faster",
        "It takes {{ 12 }} s.",
        "It takes {{ 3 * 4 }} s.",
        'It takes {{ "12" | upper }} s.',
        '{{ cell("nothing/speed", "1,000", "ms") }}',
        '{{ table("made_up/nothing") }}',
        '{{ cell("made_up/speed", "5,000", "ms") }}',
        '{{ cell("made_up/speed", "1,000", "s") }}',
        '{{ number("made_up/speed", "1,000", "ms", part=2) }}',
        '{{ figure("made_up/nothing") }}',
        "{{ nothing }}",
    ],
)
@pytest.mark.usefixtures("made_up")
def test_a_number_of_no_result_and_a_placeholder_of_nothing_are_found(text):
    assert len(faults(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "`n_imp=0.01` on an H200, x86-64, by R2a, for monk_2: [there](page2.md#part-3).",
        "```text\n12 s\n```\n",
        "**What was asked.** How long do\n100 fits take?\n\nNot long.",
        "<!-- 12 -->",
        "{{ 300 | setting }} trees",
        '{{ (2 * figure("made_up/start")) | fixed(1) }}',
    ],
)
@pytest.mark.usefixtures("made_up")
def test_code_addresses_settings_and_results_are_no_numbers_typed_by_hand(text):
    assert faults(text) == []


def test_a_page_that_does_not_say_how_it_was_measured_is_found():
    assert len(list(figures.faults_of_page("Fast.", PAGE))) == 1


@pytest.mark.parametrize("key", figures.HEADER)
@pytest.mark.usefixtures("made_up")
def test_a_result_file_that_does_not_say_what_it_measured_is_found(key):
    figures.write("made_up", {**RESULT, key: ""})
    assert list(figures.faults_of_result("made_up")) == [f"made_up.json has no {key}."]


@pytest.mark.usefixtures("made_up")
def test_placeholders_say_what_the_result_file_has():
    assert (
        figures.table("made_up/speed", columns=["ms", "n"], rows=("1,000", "10"))
        == "| ms | n |\n|---|---|\n| 7 | 1,000 |"
    )
    assert figures.cell("made_up/speed", "1,000", "ms") == "0.5 s, 20 x"
    assert figures.column("made_up/speed", "ms") == [0.5, 7.0]
    said = '{{ number("made_up/speed", ("1,000", "2"), "ms", part=1) | fixed(1) }}, {{ 1000 | setting }}'
    assert figures.render(said) == "20.0, 1,000"


@pytest.mark.usefixtures("made_up")
def test_a_page_that_is_older_than_the_code_says_so():
    note = "the code that is measured has changed since"
    assert note in figures.header("made_up")
    figures.write("made_up", {**RESULT, "code": figures.code_digest(ROOT / "bench" / "kernels.py")})
    assert note not in figures.header("made_up")


def project(folder, **modules):
    """Write modules, the dots of whose names are doubled underscores; return the script among them."""
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "bench" / "script.py"


USES = "from sepc.fits import fit\nfit()\n"
FITS = "from .sums import total\ndef fit():\n    return total\n"


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        ({}, False),
        ({"bench__script": '"""Measures a fit."""\n# By a call.\n' + USES}, False),
        ({"src__sepc__fits": FITS.replace("    return", '    """Fit."""\n    return')}, False),
        ({"src__sepc__other": "total = 2"}, False),
        ({"src__sepc__fits": FITS.replace("return total", "return -total")}, True),
        ({"src__sepc__sums": "total = 0"}, True),
        ({"src__sepc__sums": "total = False"}, True),
        ({"bench__script": USES + "fit()\n"}, True),
    ],
)
def test_the_digest_is_of_the_code_that_a_script_imports(change, matters, tmp_path):
    code = {"bench__script": USES, "src__sepc__fits": FITS, "src__sepc__sums": "total = 1", "src__sepc__other": ""}
    before, after = (
        figures.code_digest(project(tmp_path / name, **modules), tmp_path / name)
        for name, modules in (("before", code), ("after", code | change))
    )
    assert (before != after) == matters


def recorded(monkeypatch, *options):
    script = ROOT / "bench" / "kernels.py"
    monkeypatch.setattr(sys, "argv", [str(script), *options, "--record", "made_up"])
    monkeypatch.setattr(measure, "commit", lambda: "def5678")
    monkeypatch.setattr(measure, "RECORD", {"tables": {}, "figures": {}})
    with measure.recording():
        measure.versions("numpy")
        measure.table("speed", "n", "ms")
        measure.row(1000, "8")
        measure.figure("start", 0.5)
    return figures.result("made_up")


@pytest.mark.usefixtures("made_up")
def test_a_script_records_its_tables_and_figures_and_how_they_came_about(monkeypatch):
    found = recorded(monkeypatch, "--full")
    assert found["command"] == "python bench/kernels.py --full"
    assert found["commit"] == "def5678"
    assert found["tables"] == {"speed": {"columns": ["n", "ms"], "rows": [["1000", "8"]]}}
    assert found["figures"] == {"start": 0.5}
    assert not figures.is_out_of_date("made_up")
    assert list(figures.faults_of_result("made_up")) == []


@pytest.mark.usefixtures("made_up")
def test_results_that_are_only_shown_keep_how_they_came_about(monkeypatch):
    found = recorded(monkeypatch, "--show")
    assert {key: found[key] for key in figures.HEADER} == {key: RESULT[key] for key in figures.HEADER}
    assert found["figures"] == {"start": 0.5}


def test_two_tables_of_one_name_are_refused(monkeypatch):
    monkeypatch.setattr(measure, "RECORD", {"tables": {}, "figures": {}})
    measure.table("speed", "n")
    with pytest.raises(ValueError, match="two tables 'speed'"):
        measure.table("speed", "n")
