"""The command line: what goes in, what comes out, and what it says when something is wrong."""

import csv
import gzip
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet
from sklearn.datasets import load_breast_cancer

import sepc
from sepc.cli import console, main, reading, text_files
from sepc.cli.commands import explain
from sepc.cli.commands.predict import OURS

COLUMNS = ("size", "weight", "colour", "note")
COMMANDS = ("landscape", "fit", "predict", "explain", "report", "feedback", "inspect", "demo")


def records(n, seed=0):
    """Return rows of texts: two numbers, one with gaps, a category, a free text, and the label."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        big = rng.random() < 0.5
        size = rng.normal(6.0 if big else 0.0)
        weight = "" if rng.random() < 0.05 else f"{rng.normal(3.0 if big else 0.0):.3f}"
        colour = rng.choice(["red", "blue"] if big else ["green", "blue"])
        rows.append([f"{size:.4f}", weight, str(colour), "same", "yes" if big else "no"])
    return rows


def as_csv(rows, names=(*COLUMNS, "label"), delimiter=","):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows([names, *rows])
    return out.getvalue()


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with training data, a model of it, and new data."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "train.csv").write_text(as_csv(records(300)))
    (folder / "new.csv").write_text(as_csv([row[:-1] for row in records(120, seed=1)], COLUMNS))
    assert main(["fit", f"{folder}/train.csv", "--target", "label", "-o", f"{folder}/model.sepc"]) == 0
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """An empty current folder; the shared files are linked into it."""
    for name in ("train.csv", "new.csv", "model.sepc"):
        (tmp_path / name).symlink_to(folder / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def do(line):
    """Run a command in this process; return its exit code."""
    return main(shlex.split(line))


def files(folder):
    return {path.name for path in folder.iterdir() if not path.is_symlink()}


def run(*arguments, **options):
    """Run the command line in a process of its own."""
    return subprocess.run([sys.executable, "-m", "sepc", *arguments], capture_output=True, **options)


@pytest.mark.usefixtures("here")
class TestDoor:
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
            "predict model.sepc new.csv -o verdicts.xlsx",
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
            if name not in ("sepc.cli.app", "sepc.cli.parser", "sepc.cli.usage"):
                monkeypatch.delitem(sys.modules, name)
        assert main(["landscape", "train.csv", "--target", "label"]) == 1
        assert "pip install 'sepc[cli]'" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
class TestPredict:
    def test_verdicts_are_those_of_python(self, capsys):
        assert do("predict model.sepc new.csv -o out.csv --min-trust 0.9") == 0
        out, model = read("out.csv"), sepc.load("model.sepc")
        a = model.assess(pd.read_csv("new.csv"))
        assert [row["label"] for row in out] == a.label.tolist()
        assert [float(row["trust"]) for row in out] == a.trust.tolist()
        assert [row["reason"] for row in out] == a.reason.tolist()
        assert [row["region"] for row in out] == a.region.tolist()
        assert [row["accepted"] == "true" for row in out] == a.accepted(0.9).tolist()
        told = capsys.readouterr().err
        assert told.startswith(f"120 rows; {np.count_nonzero(a.accepted(0.9))} (")

    def test_input_columns_come_out_as_they_went_in(self):
        rows = [
            ["1.50", " 2", "blue", 'say "no", or\nyes'],
            ["+3e0", "007.0", "green", ""],
            ["0.1000000000000000055", "NA", "red", "é 🙂 עברית"],
        ]
        Path("odd.csv").write_text(as_csv(rows, COLUMNS), encoding="utf-8")
        assert do("predict model.sepc odd.csv -o out.csv") == 0
        assert [[row[name] for name in COLUMNS] for row in read("out.csv")] == rows

    def test_small_and_large_pieces_give_the_same_file(self, monkeypatch):
        assert do("predict model.sepc new.csv -o whole.csv") == 0
        monkeypatch.setattr(text_files, "BLOCK", 300)
        monkeypatch.setattr(reading, "BLOCK", 300)
        assert do("predict model.sepc new.csv -o pieces.csv") == 0
        assert Path("pieces.csv").read_bytes() == Path("whole.csv").read_bytes()

    @pytest.mark.parametrize(
        "form",
        [
            "csv",
            "tsv",
            "csv.gz",
            "tsv.gz",
            "parquet",
            "arrow",
            "arrows",
            "feather",
            "semicolons",
            "bom",
            "utf-16",
            "latin",
        ],
    )
    def test_the_kind_of_file_does_not_matter(self, form):
        assert do("predict model.sepc new.csv -o plain.csv") == 0
        path, extra = write_as(form)
        assert main(["predict", "model.sepc", path, "-o", "out.csv", *extra]) == 0
        plain = list(csv.reader(io.StringIO(Path("plain.csv").read_text())))
        delimiter = ";" if form == "semicolons" else ","
        found = list(csv.reader(io.StringIO(Path("out.csv").read_text(encoding="utf-8")), delimiter=delimiter))
        assert [row[4:] for row in found] == [row[4:] for row in plain]

    @pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz", "parquet", "arrow", "arrows"])
    def test_verdicts_are_written_in_the_form_of_the_suffix(self, form):
        assert do("predict model.sepc new.csv -o plain.csv") == 0
        assert main(["predict", "model.sepc", "new.csv", "-o", f"out.{form}"]) == 0
        with reading.open_table(f"out.{form}") as source:
            found = pa.Table.from_batches(list(source.batches)).to_pylist()
        plain = read("plain.csv")
        assert [row["trust"] for row in found] == [
            pytest.approx(float(row["trust"])) if form in ("parquet", "arrow", "arrows") else row["trust"]
            for row in plain
        ]
        assert [[row[name] for name in (*COLUMNS, "region")] for row in found] == [
            [row[name] for name in (*COLUMNS, "region")] for row in plain
        ]

    def test_columns_in_any_order_and_others_beside_them(self):
        assert do("predict model.sepc new.csv -o plain.csv") == 0
        rows = [[row["colour"], "x", row["weight"], row["size"]] for row in read("new.csv")]
        Path("other.csv").write_text(as_csv(rows, ("colour", "more", "weight", "size")))
        assert do("predict model.sepc other.csv -o out.csv") == 0
        assert [row["trust"] for row in read("out.csv")] == [row["trust"] for row in read("plain.csv")]

    def test_names_that_are_taken_are_changed_and_told(self, capsys):
        assert do("predict model.sepc train.csv -o once.csv") == 0
        assert "sepc_label for label" in capsys.readouterr().err
        assert do("predict model.sepc once.csv -o twice.csv") == 0
        names = list(read("twice.csv")[0])
        assert names[5:] == ["sepc_label", *OURS[1:], "sepc_sepc_label", *(f"sepc_{name}" for name in OURS[1:])]
        assert [row["label"] for row in read("twice.csv")] == [row["label"] for row in read("train.csv")]

    def test_without_a_file_verdicts_go_to_the_output_and_words_elsewhere(self):
        done = run("predict", "model.sepc", "-", input=Path("new.csv").read_bytes())
        assert done.returncode == 0
        assert done.stdout.decode().splitlines()[0] == ",".join((*COLUMNS, *OURS))
        assert len(done.stdout.decode().splitlines()) == 121
        assert done.stderr.decode().startswith("120 rows")

    def test_an_unseen_category_works_and_is_reported(self, capsys):
        Path("pink.csv").write_text(as_csv([["1", "2", "pink", ""], ["1", "2", "pink", ""]], COLUMNS))
        assert do("predict model.sepc pink.csv -o out.csv --json") == 0
        told = capsys.readouterr()
        assert "column 'colour' has values that the model has never seen: 'pink' (2)" in told.err
        assert json.loads(told.out)["unseen"] == {"colour": {"pink": 2}}
        assert json.loads(told.out)["rows"] == len(read("out.csv")) == 2

    def test_more_texts_can_mean_that_nothing_is_there(self):
        Path("gaps.csv").write_text(as_csv([["1", "unknown", "red", ""], ["1", "", "red", ""]], COLUMNS))
        assert do("predict model.sepc gaps.csv -o out.csv") == 1
        assert do("predict model.sepc gaps.csv -o out.csv --missing unknown") == 0
        assert len({row["trust"] for row in read("out.csv")}) == 1

    def test_a_model_saved_in_python_works_too(self, capsys):
        frame = pd.read_csv("train.csv")[["size"]].assign(n=range(300))
        clf = sepc.SEPClassifier().fit(frame, np.repeat([0, 1], 150))
        sepc.save(clf, "plain.sepc")
        Path("numbers.csv").write_text("n,size\n3,1.5\n200,2\n")
        assert do("predict plain.sepc numbers.csv -o out.csv") == 0
        assert [row["label"] for row in read("out.csv")] == ["0", "1"]
        Path("numbers.csv").write_text("n,size\n3,1.5\n200,\n")
        assert do("predict plain.sepc numbers.csv -o out.csv") == 1
        assert "column 'size' holds something else than numbers" in capsys.readouterr().err
        sepc.save(sepc.SEPClassifier().fit(frame.to_numpy(), np.repeat([0, 1], 150)), "nameless.sepc")
        assert do("predict nameless.sepc numbers.csv -o out.csv") == 1


def write_as(form):
    """Write the new data in some form; return the path, and what the command has to be told."""
    text = Path("new.csv").read_text()
    rows = list(csv.reader(io.StringIO(text)))
    if form in ("parquet", "arrow", "arrows", "feather"):
        numbers = [
            [float(cell) if cell else None for cell in column] for column in list(zip(*rows[1:], strict=True))[:2]
        ]
        texts = list(zip(*rows[1:], strict=True))[2:]
        table = pa.table([*numbers, pa.array(texts[0]).dictionary_encode(), pa.array(texts[1])], names=list(COLUMNS))
        if form == "parquet":
            parquet.write_table(table, "in.parquet")
        elif form == "feather":
            feather.write_feather(table, "in.feather")
        else:
            with (ipc.new_file if form == "arrow" else ipc.new_stream)(f"in.{form}", table.schema) as file:
                file.write(table)
        return f"in.{form}", []
    if form == "semicolons":
        Path("in.csv").write_text(as_csv([[cell.replace(".", ",") for cell in row] for row in rows[1:]], COLUMNS, ";"))
        return "in.csv", []
    tabs = text.replace(",", "\t") if form.startswith("tsv") else text
    raw = tabs.encode({"bom": "utf-8-sig", "utf-16": "utf-16"}.get(form, "utf-8"))
    if form == "latin":
        raw = text.replace("same", "née").encode("latin-1")
    name = f"in.{form}" if form[:3] in ("csv", "tsv") else "in.csv"
    Path(name).write_bytes(gzip.compress(raw) if form.endswith(".gz") else raw)
    return name, {"utf-16": ["--encoding", "utf-16"], "latin": ["--encoding", "latin-1"]}.get(form, [])


GOOD = as_csv(records(40))
BAD_TRAINING = {
    "no such target": (GOOD, "--target lable", "has no column 'lable'. Did you mean 'label'?"),
    "nothing like it": (GOOD, "--target zzz", "It has 'size', 'weight', 'colour', 'note', 'label'"),
    "no such column to drop": (GOOD, "--drop colours", "has no column 'colours'. Did you mean 'colour'?"),
    "nothing left": ("label\na\nb\n", "", "no column left to learn from"),
    "nothing that differs": ("x,label\n1,a\n1,b\n1,a\n1,b\n", "", "tells its rows apart"),
    "empty": ("", "", "is empty"),
    "header only": (GOOD.splitlines()[0], "", "has column names but no rows"),
    "one class": (as_csv([r for r in records(40) if r[-1] == "no"]), "", "y has 1 class"),
    "a row too long": (GOOD + "1,2,red,,no,7\n", "", "row 41 has 6 field(s); expected 5"),
    "a row too short": (GOOD + "1,2\n", "", "row 41 has 2 field(s); expected 5"),
    "wrong encoding": (GOOD.encode() + b"1,2,caf\xe9,,no\n", "", "is not utf-8: byte 0xe9"),
    "wide characters": (GOOD.encode("utf-16"), "", "--encoding utf-16"),
    "two columns of a name": (GOOD.replace("weight", "size"), "", "more than one column named 'size'"),
    "no label": (GOOD + "1,2,red,,\n1,2,red,,NA\n", "", "has no label in 2 of 42 rows, first in row 41"),
    "measurements as labels": (
        "x,label\n" + "".join(f"{i},{i / 7:.3f}\n" for i in range(80)),
        "",
        "80 different numbers",
    ),
    "a text among numbers": (GOOD + "old,2,red,,no\n", "", "column 'size' holds numbers, but 'old' in row 41"),
    "a text that a shell takes apart": (GOOD + "n. a.,2,red,,no\n", "", "--missing 'n. a.' if"),
    "a text that looks like an option": (GOOD + "-x,2,red,,no\n", "", "--missing=-x if"),
    "a number beyond all": (GOOD + "1e400,2,red,,no\n", "", "column 'size' holds '1e400' in data row 41"),
    "thousands with commas": (
        "x,label\n" + "".join(f'"{i * 777:,}",{"ab"[i % 2]}\n' for i in range(50)),
        "",
        "column 'x' holds numbers, but '1,554' in row 3",
    ),
    "thousands with points": (
        "x;label\n" + "".join(f"{1 + i}.{500 + i},5;{'ab'[i % 2]}\n" for i in range(50)),
        "",
        "but '1.500,5' in row 1; expected digits with nothing between them but a decimal point",
    ),
    "commas for points": (
        "x,label\n" + "".join(f'"{i},5",{"ab"[i % 2]}\n' for i in range(50)),
        "",
        "column 'x' holds numbers, but '0,5' in row 1",
    ),
    "a spreadsheet": (b"PK\x03\x04" + b"x" * 99, "", "Save it as CSV first"),
    "half a file": (gzip.compress(GOOD.encode() * 50)[:-99], "", "Is the file complete?"),
    "an endless quote": (GOOD + '"1,2,red,,no\n' + GOOD, "", "row 41 has 1 field(s)"),
}


@pytest.mark.usefixtures("here")
class TestBadData:
    @pytest.mark.parametrize("case", BAD_TRAINING)
    def test_bad_training_data_is_refused_with_a_reason_and_nothing_is_written(self, here, case, capsys):
        content, arguments, message = BAD_TRAINING[case]
        Path("bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
        target = [] if "--target" in arguments else ["--target", "label"]
        assert main(["fit", "bad.csv", *target, *arguments.split(), "-o", "out.sepc"]) == 1
        told = capsys.readouterr()
        assert message in told.err
        assert told.err.startswith("sepc fit: ")
        assert told.out == ""
        assert files(here) == {"bad.csv"}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("size,colour\n1,red\n", "has no column 'weight'"),
            ("size,wieght,colour\n1,2,red\n", "Did you mean 'wieght'?"),
            ("size,weight,colour\n1,2,red\n1,two,red\n", "column 'weight' holds 'two' in data row 2"),
            (
                "size,weight,colour\n" + "1,2,red\n" * 900 + "1e999,2,red\n",
                "column 'size' holds '1e999' in data row 901",
            ),
            ("size,weight,colour\n" + "1,2,red\n" * 900 + "1,2\n", "row 901 has 2 field(s)"),
            ("", "is empty"),
            ("size,weight,colour\n", "has column names but no rows"),
        ],
    )
    def test_bad_new_data_is_refused_with_a_reason_and_nothing_is_written(
        self, here, content, message, monkeypatch, capsys
    ):
        monkeypatch.setattr(text_files, "BLOCK", 1000)
        monkeypatch.setattr(reading, "BLOCK", 1000)
        Path("bad.csv").write_text(content)
        assert do("predict model.sepc bad.csv -o out.csv") == 1
        assert message in capsys.readouterr().err
        assert files(here) == {"bad.csv"}

    def test_what_fails_at_the_first_row_leaves_a_pipe_empty(self, capsys):
        Path("bad.csv").write_text("size,weight,colour\n1,two,red\n")
        parquet.write_table(
            pa.table({"size": [1.0], "weight": [2.0], "colour": ["red"], "list": [[1]]}), "list.parquet"
        )
        for name in ("bad.csv", "list.parquet"):
            assert do(f"predict model.sepc {name}") == 1
            assert capsys.readouterr().out == ""

    def test_a_damaged_model_is_refused(self, capsys):
        Path("broken.sepc").write_bytes(Path("model.sepc").read_bytes()[:-100])
        assert do("predict broken.sepc new.csv -o out.csv") == 1
        assert "broken.sepc" in capsys.readouterr().err

    @pytest.mark.parametrize("path", ["nowhere/out.csv", ".", "nowhere.csv/x"])
    def test_a_place_that_cannot_be_written_is_named_before_the_work(self, path, capsys):
        assert main(["predict", "model.sepc", "new.csv", "-o", path]) in (1, 2)
        assert path in capsys.readouterr().err

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

    def test_a_file_with_a_row_beyond_measure_is_refused(self, monkeypatch, capsys):
        monkeypatch.setattr(text_files, "BLOCK", 100)
        monkeypatch.setattr(reading, "BLOCK", 100)
        Path("long.csv").write_text(f"size,weight,colour\n1,2,red\n1,2,{'x' * 400}\n")
        assert do("predict model.sepc long.csv -o out.csv") == 1
        assert "Look for a quote that is never closed" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
class TestInterruption:
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_in_the_middle_leaves_nothing_behind(self, here, number, code):
        small_pieces = (
            "import sys; from sepc.cli import main, reading, text_files\n"
            "reading.BLOCK = text_files.BLOCK = 1 << 16\n"
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
        assert "nothing was written" in told
        assert files(here) == set()

    def test_a_reader_that_leaves_is_no_traceback(self):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen([sys.executable, "-m", "sepc", "predict", "model.sepc", "-"], **pipes) as process:
            process.stdout.close()
            process.stdin.write(Path("new.csv").read_bytes())
            process.stdin.close()
            assert process.stderr.read() == b""
            assert process.wait() == 141


@pytest.mark.usefixtures("here")
class TestWords:
    """What is printed for a person."""

    @pytest.fixture
    def odd(self, here):
        """A table whose labels, values and columns hold line breaks, commands to the terminal, and odd letters."""
        rows = [
            [row[0], "a\nb" if row[4] == "yes" else "\x1b[31mc", "no😀" if row[4] == "no" else "é\n"]
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
        assert r"é\n#1" in told.out
        assert r"note: two\nlines: text with 2 values" in told.err
        assert r"é\n (" in again.err

    @pytest.mark.usefixtures("odd")
    @pytest.mark.parametrize("option", ["", "--json"])
    def test_a_terminal_that_lacks_letters_gets_them_spelled_out(self, option):
        assert do("fit odd.csv --target label -o odd.sepc") == 0
        done = run("inspect", "odd.sepc", *option.split(), env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=True)
        text = done.stdout.decode("ascii")
        if option:
            assert set(json.loads(text)["classes"]) == {"no😀", "é\n"}
        else:
            assert r"no\U0001f600" in text

    def test_values_are_not_taken_apart_at_the_end_of_a_line(self, monkeypatch, capsys):
        long = "-".join(["long"] * 40)
        monkeypatch.setattr(explain, "read_model", lambda _: None)
        monkeypatch.setattr(
            explain, "Reader", lambda *_: SimpleNamespace(explain=lambda *_: SimpleNamespace(text=f"It is {long}, so."))
        )
        assert do("explain model.sepc new.csv --row 1") == 0
        assert long in capsys.readouterr().out


@pytest.mark.usefixtures("here")
class TestFit:
    def test_labels_come_out_as_they_went_in(self):
        for labels in (("0", "1"), ("01", "1"), ("-3", "12"), ("1.0", "2.0"), ("no ", "yes, so")):
            rows = [[*row[:-1], labels[row[-1] == "yes"]] for row in records(60)]
            Path("data.csv").write_text(as_csv(rows))
            assert do("fit data.csv --target label -o m.sepc") == 0
            assert do("predict m.sepc new.csv -o out.csv") == 0
            assert {row["label"] for row in read("out.csv")} == set(labels)

    def test_it_says_what_it_did(self, capsys):
        assert do("fit train.csv --target label --drop note -o m.sepc --holdout 0.2 --n-imp 0.05") == 0
        told = capsys.readouterr()
        assert "20 % of the rows, held back: right on" in told.out
        assert "n_imp=0.05" in told.out
        assert "colour: text with 3 values" in told.err
        assert "model written to m.sepc" in told.err

    def test_results_on_training_rows_are_called_so(self, capsys):
        assert do("fit train.csv --target label -o m.sepc") == 0
        assert "this flatters" in capsys.readouterr().out

    def test_a_test_file_counts_for_the_results(self, capsys):
        Path("test.csv").write_text(as_csv(records(50, seed=2)))
        assert do("fit train.csv --target label -o m.sepc --test test.csv --json") == 0
        found = json.loads(capsys.readouterr().out)
        model = sepc.load("m.sepc")
        rows = read("test.csv")
        right = model.predict(pd.DataFrame(rows)) == [row["label"] for row in rows]
        assert (found["test"]["rows"], found["test"]["right"]) == (50, np.count_nonzero(right))
        assert found["rows"] == 300
        assert sum(found["classes"].values()) == 300

    def test_labels_that_were_never_learned_are_told(self, capsys):
        Path("test.csv").write_text(as_csv([[*row[:-1], "maybe"] for row in records(3)] + records(20)))
        assert do("fit train.csv --target label -o m.sepc --test test.csv") == 0
        assert "labels that the model has not learned; they count as wrong: maybe (3)." in capsys.readouterr().err

    def test_an_ensemble_and_a_model_without_records(self, capsys):
        assert do("fit train.csv --target label -o m.sepc --ensemble --no-training-rows") == 0
        assert "SEPEnsembleClassifier" in capsys.readouterr().out
        assert do("predict m.sepc new.csv -o out.csv") == 0
        assert len(read("out.csv")) == 120

    def test_numbers_can_be_names(self, capsys):
        code = {"red": "10", "green": "11", "blue": "12"}
        rows = [[code[row[2]], *row[:2], row[-1]] for row in records(100)]
        Path("codes.csv").write_text(as_csv(rows, ("code", "size", "weight", "label")))
        assert do("fit codes.csv --target label -o m.sepc --category code --json") == 0
        assert {"name": "code", "kind": "category"} in json.loads(capsys.readouterr().out)["columns"]

    def test_a_column_without_a_name_is_left_out_with_a_word(self, capsys):
        rows = [[str(i), *row] for i, row in enumerate(records(60))]
        Path("indexed.csv").write_text(as_csv(rows, ("", *COLUMNS, "label")))
        assert do("fit indexed.csv --target label -o m.sepc --json") == 0
        told = capsys.readouterr()
        assert "column without a name, number 1; it is left out" in told.err
        assert "" not in [column["name"] for column in json.loads(told.out)["columns"]]
        assert do("predict m.sepc indexed.csv -o out.csv") == 0
        assert [row[""] for row in read("out.csv")] == [str(i) for i in range(60)]

    def test_an_odd_number_of_quotes_is_told(self, capsys):
        Path("odd.csv").write_text(GOOD + '1,2,red,5" pipe,no\n')
        assert do("fit odd.csv --target label -o m.sepc") == 0
        assert "odd number of quotes" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
class TestOthers:
    def test_landscape_prints_findings_and_as_json_the_same(self, capsys):
        assert do("landscape train.csv --target label") == 0
        assert "Landscape of 300 records" in capsys.readouterr().out
        assert do("landscape train.csv --target label --json") == 0
        assert json.loads(capsys.readouterr().out)["n_records"] == 300

    def test_rows_are_counted_from_one(self, capsys):
        assert do("predict model.sepc new.csv -o out.csv") == 0
        capsys.readouterr()
        for row in (1, 17, 120):
            assert do(f"explain model.sepc new.csv --row {row} --json") == 0
            told = json.loads(capsys.readouterr().out)
            assert told["row"] == row
            assert told["trust"] == float(read("out.csv")[row - 1]["trust"])
        assert do("explain model.sepc train.csv --row 5 --json") == 0
        nearest = min(json.loads(capsys.readouterr().out)["neighbours"], key=lambda neighbour: neighbour["distance"])
        assert (nearest["row"], nearest["distance"]) == (5, 0.0)
        assert do("explain model.sepc new.csv --row 121") == 1
        assert "has 120 rows; expected a row from 1 to 120" in capsys.readouterr().err

    def test_an_explanation_speaks_of_the_columns_of_the_file(self, capsys):
        assert do("explain model.sepc new.csv --row 3") == 0
        told = capsys.readouterr().out
        assert told.startswith("Predicted ")
        assert "size" in told
        assert max(map(len, told.splitlines())) <= 100

    def test_inspect_shows_what_is_in_the_model(self, capsys):
        assert do("inspect model.sepc") == 0
        assert "learned from 300 rows" in capsys.readouterr().out
        assert do("inspect model.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert {"name": "colour", "kind": "category"} in found["columns"]
        assert found["n_regions"] == len(sepc.load("model.sepc").regions())
        assert found["rules"]

    def test_feedback_with_wrong_verdicts_makes_a_new_model(self, capsys):
        rows = [["20", "20", "blue", "", "no"] for _ in range(9)] + [["0", "0", "green", "", ""]]
        Path("labelled.csv").write_text(as_csv(rows))
        assert do("feedback model.sepc labelled.csv --target label -o new.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["feedback"]["n"] == 10
        assert found["feedback"]["n_labelled"] == found["feedback"]["n_wrong"] == 9
        assert found["changes"]["n_added"] == 9
        new = sepc.load("new.sepc")
        assert new.predict(pa.table({"size": [20.0], "weight": [20.0], "colour": ["blue"]})).tolist() == ["no"]

    def test_feedback_without_wrong_verdicts_has_nothing_to_teach(self, here, capsys):
        Path("labelled.csv").write_text(as_csv([["0", "0", "green", "", "no"]]))
        assert do("feedback model.sepc labelled.csv --target label -o new.sepc") == 0
        told = capsys.readouterr()
        assert "nothing to learn, and new.sepc is not written" in told.err
        assert "1 record observed" in told.out
        assert do("predict model.sepc labelled.csv -o out.csv") == 0
        assert capsys.readouterr().err.splitlines()[1].startswith("1 row; 1 (100 %) accepted")
        Path("out.csv").unlink()
        assert files(here) == {"labelled.csv"}

    def test_feedback_needs_a_single_partition(self, capsys):
        assert do("fit train.csv --target label -o m.sepc --ensemble") == 0
        assert do("feedback m.sepc train.csv --target label") == 1
        assert "Fit a model without --ensemble" in capsys.readouterr().err

    def test_feedback_needs_the_training_records(self, capsys):
        assert do("fit train.csv --target label -o bare.sepc --no-training-rows") == 0
        assert do("feedback bare.sepc train.csv --target label -o m2.sepc") == 1
        assert "Fit a model without --no-training-rows." in capsys.readouterr().err
        assert not Path("m2.sepc").exists()

    @pytest.mark.parametrize("suffix", ["html", "md", "json"])
    def test_a_report_is_tested_with_rows_that_were_held_back(self, suffix, capsys):
        assert do(f"report train.csv --target label -o out.{suffix} --title 'Big <or> small'") == 0
        told = capsys.readouterr().err
        n_fitted, n_tested = map(
            int, re.search(r"fitted to (\d+) of the rows, tested with the other (\d+)", told).groups()
        )
        assert n_fitted + n_tested == 300
        assert abs(n_tested - 75) <= 1
        assert f"report written to out.{suffix}" in told
        text = Path(f"out.{suffix}").read_text(encoding="utf-8")
        assert ("Big <or> small" if suffix == "json" else "Big &lt;or&gt; small") in text
        if suffix == "json":
            assert json.loads(text)["results"]["n_records"] == n_tested

    def test_a_report_names_records_by_their_rows_in_the_file(self):
        rows = records(120)
        Path("numbered.csv").write_text(as_csv(rows))
        assert do("report numbered.csv --target label -o r.json") == 0
        content = json.loads(Path("r.json").read_text())
        told = content["records"]
        truth = [content["labels"][code] for code in told["truth"]]
        assert truth == [rows[number - 1][-1] for number in told["id"]]
        for one in content["verdicts"]:
            number = told["id"][one["record"]]
            assert one["values"][0] == float(rows[number - 1][0])

    def test_a_report_on_a_model_takes_all_rows(self):
        Path("test.csv").write_text(as_csv(records(50, seed=2)))
        assert do("report test.csv --target label --model model.sepc -o out.json") == 0
        assert json.loads(Path("out.json").read_text(encoding="utf-8"))["results"]["n_records"] == 50

    def test_a_report_that_cannot_be_written_is_refused_first(self, here):
        assert do("report train.csv --target label -o out.pdf") == 2
        assert do("report train.csv --target lable -o out.html") == 1
        assert files(here) == set()

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


def commands_of(page):
    """Return the commands in the console blocks of a page, with what makes them one."""
    blocks = page.split("```console\n")[1:]
    lines = [line for block in blocks for line in block.split("```")[0].splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


PAGE = Path(__file__).parent.parent / "docs" / "cli.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")
def test_the_commands_of_the_page_work_as_they_stand_there(tmp_path, monkeypatch, capsys):
    data = load_breast_cancer(as_frame=True)
    frame = data.data[["mean radius", "mean texture", "mean concavity", "worst area"]].assign(
        diagnosis=data.target_names[data.target]
    )
    monkeypatch.chdir(tmp_path)
    frame[::2].to_csv("data.csv", index=False)
    frame[1::2].to_csv("labelled.csv", index=False)
    frame[1::2].drop(columns="diagnosis").to_csv("new.csv", index=False)
    lines = commands_of(PAGE.read_text())
    assert {line.split()[1] for line in lines} >= set(COMMANDS)
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, line
    assert "Predicted" in capsys.readouterr().out
