"""Arguments of all commands; this must load quickly."""

import codecs
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import Any

from sepc import __version__
from sepc.common.text import READINGS

_ABOUT = """\
Classification with trust: a label for each row, how far to trust it, and why.

Tables are CSV, TSV, Parquet or Arrow files; text files may be packed with gzip, and - is the standard input.
Results go to the standard output, messages to the standard error stream.
Exit codes: 0, 1 for bad data, 2 for bad usage, 130 if interrupted. Files are written whole or not at all."""


def make_parser() -> ArgumentParser:
    """Return the parser of the command line.

    Examples
    --------
    >>> make_parser().parse_args(["inspect", "model.sepc"]).model
    'model.sepc'
    """
    parser = ArgumentParser(prog="sepc", description=_ABOUT, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"sepc {__version__}")
    parser.add_argument("--traceback", action="store_true", help=SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_landscape, _fit, _predict, _explain, _report, _feedback, _inspect, _demo, _reproduce):
        add(commands)
    return parser


def _command(commands: Any, name: str, about: str, json: bool = True) -> ArgumentParser:
    command: ArgumentParser = commands.add_parser(name, help=about.split(";")[0], description=f"{about}.")
    if json:
        command.add_argument("--json", action="store_true", help="print the result as JSON, for machines")
    return command


def _landscape(commands: Any) -> None:
    command = _command(commands, "landscape", "Describe labelled data before anything is fitted; says what to look at")
    _labelled_data(command)


def _fit(commands: Any) -> None:
    command = _command(commands, "fit", "Learn from labelled data; writes a model")
    _labelled_data(command)
    command.add_argument(
        "--n-imp",
        type=_count_or_share,
        help="how many records of other labels an ellipsoid may hold: a count, or a share of the smaller class "
        "(default: 2; for an ensemble 0.05)",
    )
    command.add_argument("--trust", choices=READINGS, help="how the regions are read (default: local)")
    command.add_argument("--ensemble", action="store_true", help="many partitions instead of one: better calibrated")
    command.add_argument(
        "--no-training-rows", action="store_true", help="leave the training records out of the model; counts stay"
    )
    test = command.add_mutually_exclusive_group()
    test.add_argument("--test", metavar="FILE", help="labelled data to test the model with")
    test.add_argument(
        "--holdout", type=_share, metavar="SHARE", help="keep this share of the rows back, to test the model with"
    )
    _output(command, "MODEL", "the model to write", required=True)


def _predict(commands: Any) -> None:
    command = _command(
        commands,
        "predict",
        "Label new rows; writes all columns as they came, then label, trust, reason, region, distance, typicality, "
        "stability, accepted and refusal, in UTF-8. Works through files of any size",
    )
    _model_and_data(command)
    command.add_argument(
        "--min-trust", type=_trust, default=0.95, help="trust from which a label is accepted (default: 0.95)"
    )
    command.add_argument(
        "--min-typicality",
        type=_trust,
        default=0.01,
        help="typicality from which a label is accepted: about this share of ordinary rows is refused as strange "
        "(default: 0.01)",
    )
    _output(command, "FILE", "where to write, by its suffix as CSV, TSV, Parquet or Arrow (default: CSV to the output)")


def _explain(commands: Any) -> None:
    command = _command(commands, "explain", "Say why one row gets its label; and what would have to change")
    _model_and_data(command)
    command.add_argument("--row", type=_row, required=True, help="which row; the first below the names is 1")


def _report(commands: Any) -> None:
    command = _command(
        commands,
        "report",
        "Write a report; on a model that is fitted to 75 %% of the rows and tested with the others, or on another one",
        json=False,
    )
    _labelled_data(command)
    command.add_argument("--model", help="a model to test with all rows, instead of fitting one")
    command.add_argument("--title", help="of the report")
    _output(command, "FILE", "the report: .html, .md or .json", required=True)


def _feedback(commands: Any) -> None:
    command = _command(
        commands, "feedback", "Tell a model what became of its verdicts; writes a model that has learned"
    )
    command.add_argument("model", metavar="MODEL", help="a model that fit has written")
    _data(command)
    command.add_argument("--target", required=True, metavar="COL", help="column of the true labels; may have gaps")
    _output(command, "MODEL", "the new model (default: only report)")


def _inspect(commands: Any) -> None:
    command = _command(commands, "inspect", "Show what is in a model")
    command.add_argument("model", metavar="MODEL", help="a model that fit has written")


def _demo(commands: Any) -> None:
    command = _command(commands, "demo", "Show the main job on records of breast cancer", json=False)
    command.add_argument("--out", default="sepc-demo", metavar="DIR", help="folder for the report (default: sepc-demo)")


def _reproduce(commands: Any) -> None:
    command = _command(
        commands, "reproduce", "Run the paper's experiments; writes figures, numbers and a page", json=False
    )
    command.add_argument(
        "names", nargs="*", metavar="NAME", help="of experiments, such as moons or iris (default: all)"
    )
    command.add_argument(
        "--out", default="reproduction", metavar="DIR", help="folder to write to (default: reproduction)"
    )
    command.add_argument("--full", action="store_true", help="at least 20 seeds for each, instead of a few")


def _labelled_data(command: ArgumentParser) -> None:
    _data(command)
    command.add_argument("--target", required=True, metavar="COL", help="column of the labels")
    command.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns to leave out, such as numbers of rows",
    )
    command.add_argument(
        "--category", nargs="+", action="extend", default=[], metavar="COL", help="columns whose numbers are mere names"
    )


def _model_and_data(command: ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a model that fit has written")
    _data(command)


def _data(command: ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help="a table; - is the standard input")
    command.add_argument(
        "--format", choices=("csv", "tsv", "parquet", "arrow"), help="what kind of file it is (default: as it looks)"
    )
    command.add_argument(
        "--encoding", type=_encoding, default="utf-8", help="of a text file, such as latin-1 (default: utf-8)"
    )
    command.add_argument(
        "--missing", nargs="+", action="extend", default=[], metavar="TEXT", help="more texts that mean: no value"
    )


def _output(command: ArgumentParser, metavar: str, about: str, required: bool = False) -> None:
    command.add_argument("-o", "--output", metavar=metavar, required=required, help=about)


def _count_or_share(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else _share(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{text} is neither a count nor a share, strictly between 0 and 1") from error


def _row(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no row; they are counted from 1")
    return int(text)


def _share(text: str) -> float:
    share = _trust(text)
    if share in (0.0, 1.0):
        raise ArgumentTypeError(f"{text} is not strictly between 0 and 1")
    return share


def _trust(text: str) -> float:
    try:
        trust = float(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no number") from error
    if not 0.0 <= trust <= 1.0:
        raise ArgumentTypeError(f"{text} is not between 0 and 1")
    return trust


def _encoding(text: str) -> str:
    try:
        codecs.lookup(text)
    except LookupError as error:
        raise ArgumentTypeError(f"{text} is no encoding that Python knows, such as latin-1 or cp1252") from error
    return text
