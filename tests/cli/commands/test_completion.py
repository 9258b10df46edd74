"""Scripts for shells: commands and options are in them, and bash proposes what can follow."""

import shutil
import subprocess

import pytest
from command_line import COMMANDS, do

from sepc.cli.parser import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_all_commands_are_named(shell, capsys):
    assert do(f"completion {shell}") == 0
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)


@pytest.mark.parametrize("shell", ["fish", "sh"])
def test_another_shell_is_bad_usage(shell, capsys):
    assert do(f"completion {shell}") == 2
    assert "bash" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "proposed"),
    [
        (["sepc", "pred"], "predict"),
        (["sepc", "fit", "--hold"], "--holdout"),
        (["sepc", "fit", "--trust", "lo"], "local"),
        (["sepc", "completion", "zs"], "zsh"),
        (["sepc", "fit", "--test", "tr"], "train.csv"),
        (["sepc", "fit", "tr"], "train.csv"),
    ],
)
def test_bash_proposes(typed, proposed, tmp_path, capsys):
    assert do("completion bash") == 0
    (tmp_path / "sepc.bash").write_text(capsys.readouterr().out)
    (tmp_path / "train.csv").touch()
    words = " ".join(f'"{word}"' for word in typed)
    script = f"source sepc.bash; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _shtab_sepc; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == proposed
