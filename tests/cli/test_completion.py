"""Scripts for shells: all commands and options are in them, and bash takes them."""

import re
import shutil
import subprocess
from argparse import SUPPRESS

import pytest
from command_line import do

from sepc.cli.completion import command_words, completion_script
from sepc.cli.parser import SHELLS, make_parser


def commands():
    (found,) = (action for action in make_parser()._actions if hasattr(action, "_choices_actions"))
    return found.choices


@pytest.mark.parametrize("shell", SHELLS)
def test_all_commands_and_options_are_named(shell, capsys):
    assert do(f"completion {shell}") == 0
    script = capsys.readouterr().out
    for name, command in commands().items():
        lines = {
            "bash": re.findall(rf"^        {name}:[^\n]*", script, re.M),
            "zsh": re.findall(rf"^    {name}\)\n(?:.*\n)*?        ;;", script, re.M),
            "fish": re.findall(rf"^[^\n]*from {name}'[^\n]*", script, re.M),
        }[shell]
        assert lines, name
        for action in command._actions:
            for option in action.option_strings if action.help != SUPPRESS else ():
                spelled = f"-l {option[2:]}" if shell == "fish" and option.startswith("--") else option
                spelled = f"-s {option[1:]}" if shell == "fish" and not option.startswith("--") else spelled
                assert any(spelled in line for line in lines), (name, option)


def test_words_of_an_option_are_its_choices():
    fit = next(words for words in command_words(make_parser()) if words.name == "fit")
    assert fit.choices["--format"] == ("csv", "tsv", "parquet", "arrow", "xlsx")
    assert "--test" in fit.valued
    assert "--json" not in fit.valued


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "proposed"),
    [
        (["sepc", "pred"], "predict"),
        (["sepc", "fit", "--hold"], "--holdout"),
        (["sepc", "fit", "--trust", "lo"], "local"),
        (["sepc", "completion", "zs"], "zsh"),
        (["sepc", "fit", "--test", "x"], ""),
    ],
)
def test_bash_proposes(typed, proposed, tmp_path):
    (tmp_path / "sepc.bash").write_text(completion_script(make_parser(), "bash"))
    words = " ".join(f'"{word}"' for word in typed)
    script = f'source sepc.bash; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _sepc; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (proposed, "")


def test_quotes_in_a_help_end_no_word():
    parser = make_parser()
    (commands,) = (action for action in parser._actions if action.dest == "command")
    commands.choices["fit"].add_argument("--whose", help="the paper's experiments")
    assert "paper'\\''s experiments" in completion_script(parser, "zsh")
