"""Output for a person: names on one line, letters that a terminal lacks, progress."""

import io
import json
import sys

import pytest
from command_line import as_csv, do, records
from said import said

from sepc.cli import console


@pytest.mark.usefixtures("here")
class TestWords:
    @pytest.fixture
    def odd(self, here):
        """A table whose labels, values and columns hold line breaks, commands to the terminal, and odd letters."""
        rows = [
            [row[0], "a\nb" if row[4] == "yes" else "\x1b[31mc", "no😀" if row[4] == "no" else "é\nà"]
            for row in records(60)
        ]
        (here / "odd.csv").write_text(as_csv(rows, ("size", "two\nlines", "label")), encoding="utf-8")

    @pytest.mark.usefixtures("odd")
    def test_a_name_starts_no_line_and_commands_no_terminal(self, capsys):
        assert do("fit odd.csv --target label -o odd.sepc") == 0
        told = capsys.readouterr()
        for line in ("inspect odd.sepc", "predict odd.sepc odd.csv -o out.csv", "explain odd.sepc odd.csv --row 1"):
            assert do(line) == 0
        again = capsys.readouterr()
        assert "\x1b" not in told.out + told.err + again.out + again.err
        assert r"é\nà#1" in told.out
        assert r"note: two\nlines: " in told.err
        assert r"é\nà (" in said(again.err)["labels"].labels

    @pytest.mark.usefixtures("odd")
    @pytest.mark.parametrize("option", ["", "--json"])
    def test_a_terminal_that_lacks_letters_gets_them_spelled_out(self, option, monkeypatch):
        assert do("fit odd.csv --target label -o odd.sepc") == 0
        printed = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
        assert do(f"inspect odd.sepc {option}") == 0
        sys.stdout.flush()
        text = printed.getvalue().decode("ascii")
        if option:
            assert set(json.loads(text)["classes"]) == {"no😀", "é\nà"}
        else:
            assert r"no\U0001f600" in text


@pytest.mark.usefixtures("here")
class TestProgress:
    def test_progress_is_shown_to_a_person_only(self, monkeypatch):
        watched = io.StringIO()
        monkeypatch.setattr(sys, "stderr", watched)
        with console.progress("reading", lambda: 50, 100) as tell:
            tell(1234)
        assert watched.getvalue() == ""
        watched.isatty = lambda: True
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        with console.progress("reading", lambda: 50, 100) as tell:
            tell(1234)
        assert "1,234 rows" in watched.getvalue()
        assert "\x1b[3" not in watched.getvalue()
