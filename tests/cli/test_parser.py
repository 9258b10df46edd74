"""Arguments: each command explains itself, and help comes at once."""

import subprocess
import sys

import pytest
from command_line import COMMANDS
from said import said

from sepc.cli import main


@pytest.mark.usefixtures("here")
class TestHelp:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_each_command_explains_itself(self, command, capsys):
        assert main([command, "--help"]) == 0
        assert "usage: sepc " + command in capsys.readouterr().out

    @pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
    def test_percent_signs_are_shown_once(self, command, capsys):
        assert main([*command, "--help"]) == 0
        assert "%%" not in capsys.readouterr().out

    def test_a_share_in_a_description_is_shown(self, capsys):
        main(["report", "--help"])
        assert "75 % of" in " ".join(capsys.readouterr().out.split())

    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys; from sepc.cli import main; main(['--help'])\n"
            "print({'numpy', 'pandas', 'pyarrow', 'sklearn', 'rich', 'numba'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.usefixtures("here")
class TestQuiet:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "line",
        [
            "landscape train.csv --target label",
            "fit train.csv --target label -o m.sepc",
            "predict model.sepc new.csv -o out.csv",
            "inspect model.sepc",
            "feedback model.sepc train.csv --target label",
        ],
    )
    def test_there_are_no_messages(self, line, capsys):
        assert main([*line.split(), "--quiet"]) == 0
        assert capsys.readouterr().err == ""

    def test_errors_are_still_told(self, capsys):
        assert main(["inspect", "-q", "nothing.sepc"]) == 1
        assert "nothing.sepc" in capsys.readouterr().err

    def test_the_next_command_speaks_again(self, capsys):
        assert main(["predict", "model.sepc", "new.csv", "-o", "out.csv", "-q"]) == 0
        assert main(["predict", "model.sepc", "new.csv", "-o", "out.csv"]) == 0
        assert said(capsys.readouterr().err)["predicted"].n == 120


@pytest.mark.usefixtures("here")
class TestContradictions:
    @pytest.mark.parametrize(
        ("options", "values"),
        [
            ("--drop label", ("--drop", "'label'")),
            ("--drop note label", ("--drop", "'label'")),
            ("--categorical-features label", ("--categorical-features", "'label'")),
            ("--drop colour --categorical-features colour", ("--drop", "--categorical-features", "'colour'")),
        ],
    )
    @pytest.mark.parametrize("command", ["landscape train.csv", "fit train.csv -o m.sepc", "report train.csv -o r.md"])
    def test_options_that_contradict_each_other_are_bad_usage(self, command, options, values, here, capsys):
        assert main(f"{command} --target label {options}".split()) == 2
        told = capsys.readouterr().err
        assert all(value in told for value in values)
        assert not {"m.sepc", "r.md"} & {path.name for path in here.iterdir()}

    @pytest.mark.parametrize(
        "line",
        [
            "fit train.csv --target label -o m.sepc --n-imp auto --ensemble",
            "fit train.csv --target label -o m.sepc --n-imp some",
            "fit train.csv --target label -o m.sepc --random-state -1",
            "predict model.sepc new.csv -o out.csv --per-class",
            "predict model.sepc new.csv -o out.csv --coverage 1",
            "completion fish",
        ],
    )
    def test_bad_usage_exits_with_2(self, line, capsys):
        assert main(line.split()) == 2
        assert capsys.readouterr().err
