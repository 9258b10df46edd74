"""Arguments: each command explains itself, and help comes at once."""

import subprocess
import sys

import pytest
from command_line import COMMANDS

from sepc.cli import main


@pytest.mark.usefixtures("here")
class TestHelp:
    @pytest.mark.parametrize("command", [*COMMANDS, "reproduce"])
    def test_each_command_explains_itself(self, command, capsys):
        assert main([command, "--help"]) == 0
        assert "usage: sepc " + command in capsys.readouterr().out

    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys; from sepc.cli import main; main(['--help'])\n"
            "print({'numpy', 'pandas', 'pyarrow', 'sklearn', 'rich', 'numba'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "set()"
