"""Exit codes and messages: bad usage, missing packages, full disks, interruptions; and the page of commands."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import do, files
from said import said

from sepc.cli import main


@pytest.mark.usefixtures("here")
class TestErrors:
    @pytest.mark.parametrize(
        "arguments",
        [
            "",
            "no-such-command",
            "predict model.sepc",
            "predict model.sepc new.csv --min-trust 2",
            "predict model.sepc new.csv --min-trust high",
            "predict model.sepc new.csv -o new.csv",
            "predict model.sepc new.csv -o model.sepc.csv/../model.sepc",
            "predict model.sepc new.csv -o verdicts.ods",
            "predict model.sepc new.csv --sep ab",
            "fit train.csv --target label --drop label -o m.sepc",
            "predict model.sepc new.csv --json",
            "predict model.sepc new.csv --encoding klingon",
            "explain model.sepc new.csv --row 0",
            "fit train.csv --target label -o m.sepc --n-imp many",
            "fit train.csv --target label -o m.sepc --ensemble --trust paper",
            "fit train.csv --target label -o m.sepc --holdout 1.5",
        ],
    )
    def test_bad_usage_ends_with_2_and_a_word(self, here, arguments, capsys):
        assert do(arguments) == 2
        assert capsys.readouterr().err.startswith(("sepc", "usage: sepc"))
        assert files(here) == set()

    def test_a_traceback_only_on_request(self, capsys):
        assert main(["inspect", "nowhere.sepc"]) == 1
        assert capsys.readouterr().err == "sepc inspect: nowhere.sepc: No such file or directory\n"
        with pytest.raises(FileNotFoundError):
            main(["--traceback", "inspect", "nowhere.sepc"])

    def test_a_missing_package_is_named_with_a_remedy(self, monkeypatch, capsys):
        monkeypatch.setitem(sys.modules, "sepc.cli.commands.landscape", None)
        monkeypatch.delitem(sys.modules, "sepc.cli.commands.landscape")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        for name in [name for name in sys.modules if name.startswith("sepc.cli.") and "console" not in name]:
            if name not in ("sepc.cli.app", "sepc.cli.parser", "sepc.cli.console"):
                monkeypatch.delitem(sys.modules, name)
        assert main(["landscape", "train.csv", "--target", "label"]) == 1
        missing = said(capsys.readouterr().err)["not-installed"]
        assert (missing.module, missing.extra) == ("pyarrow", "cli")


@pytest.mark.processes
@pytest.mark.usefixtures("here")
class TestFullDisk:
    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here that is always full")
    @pytest.mark.parametrize(
        "arguments", ["predict model.sepc new.csv -o /dev/full", "fit train.csv --target label -o /dev/full"]
    )
    def test_a_full_disk_is_an_error(self, arguments, capsys):
        assert do(arguments) == 1
        assert "/dev/full: No space left on device" in capsys.readouterr().err

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here that is always full")
    def test_a_full_disk_behind_the_output_is_an_error(self):
        command = [sys.executable, "-m", "sepc", "predict", "model.sepc", "new.csv"]
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1
        assert done.stderr == b"sepc predict: standard output: No space left on device\n"


@pytest.mark.processes
@pytest.mark.usefixtures("here")
class TestInterruption:
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_in_the_middle_leaves_nothing_behind(self, here, number, code):
        small_pieces = (
            # A child of a shell's background job ignores interruptions unless it asks for them.
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "import sys; from sepc.cli import main, reading\n"
            "reading.BLOCK = 1 << 16\n"
            "sys.exit(main(['predict', 'model.sepc', '-', '-o', 'out.csv']))"
        )
        head, _, body = Path("new.csv").read_bytes().partition(b"\n")
        with subprocess.Popen(
            [sys.executable, "-c", small_pieces], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            process.stdin.write(head + b"\n" + body * 200)
            process.stdin.flush()
            deadline = time.monotonic() + 60.0
            while not any(path.stat().st_size for path in here.glob(".*.tmp")) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert len(list(here.glob(".*.tmp"))) == 1
            process.send_signal(number)
            told = process.communicate()[1].decode()
        assert process.returncode == code
        assert len(told.splitlines()) == 1
        assert list(said(told)) == ["interrupted" if number == signal.SIGINT else "stopped"]
        assert files(here) == set()

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_ends_a_long_call_that_does_not_return_to_python(self, here, number, code):
        busy = (
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "import hashlib, sys; from sepc.cli import main; from sepc.common import archive\n"
            "def write(arrays):\n"
            "    print('busy', flush=True)\n"
            "    hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)\n"
            "archive._shared = write\n"
            "sys.exit(main(['fit', 'train.csv', '--target', 'label', '-o', 'new.sepc']))"
        )
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", busy], **pipes) as process:
            assert process.stdout.readline() == b"busy\n"
            assert len(list(here.glob(".*.tmp"))) == 1
            process.send_signal(number)
            told = process.communicate(timeout=60.0)[1].decode()
        assert process.returncode == code
        assert list(said(told.splitlines()[-1])) == ["interrupted" if number == signal.SIGINT else "stopped"]
        assert files(here) == set()

    def test_a_reader_that_leaves_is_no_traceback(self):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen([sys.executable, "-m", "sepc", "predict", "model.sepc", "-"], **pipes) as process:
            process.stdout.close()
            process.stdin.write(Path("new.csv").read_bytes())
            process.stdin.close()
            assert process.stderr.read() == b""
            assert process.wait() == 141
