"""The command `python -m paper`."""

import pytest

from paper import running
from paper.__main__ import main
from paper.running import run


@pytest.mark.slow
def test_the_command_prints_how_the_statements_fare(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(running, "run", lambda one, full, _, tell: run(one, full, 1, tell))
    assert main(["xor", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "4 statements: 3 matches, 1 matches in part, 0 differs"
    assert (tmp_path / "index.html").exists()
    assert "xor: 4 runs" in said.err


def test_an_unknown_experiment_is_named(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["sums"])
    assert ended.value.code == 2
    assert "there is no experiment 'sums'" in capsys.readouterr().err


def test_an_interruption_of_the_command_says_that_it_can_go_on(tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", interrupted)
    assert main(["xor", "--out", str(tmp_path)]) == 130
    assert "goes on from there" in capsys.readouterr().err
