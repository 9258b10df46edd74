"""Arguments of all commands; this must load quickly."""

import codecs
from argparse import SUPPRESS, Action, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import Any

from sepc import __version__
from sepc.common.text import READINGS

SHELLS = ("bash", "zsh", "tcsh")

_ABOUT = """\
Classification with trust: a label for each row, how far to trust it, and why.

Tables are CSV, TSV, Parquet, Arrow or Excel files; text files may be packed with gzip, and - is the standard input.
Results go to the standard output, messages to the standard error stream.
Exit codes: 0, 1 for bad data, 2 for bad usage, 130 if interrupted. Files are written whole or not at all."""


def make_parser() -> ArgumentParser:
    """Return the parser of the command line."""
    parser = ArgumentParser(prog="sepc", description=_ABOUT, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"sepc {__version__}")
    parser.add_argument("--traceback", action="store_true", help=SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in _COMMANDS:
        add(commands)
    return parser


def _command(commands: Any, name: str, about: str, json: bool = True) -> ArgumentParser:
    # A help is a format, a description is not.
    help_ = about.split(";")[0].replace("%", "%%")
    command: ArgumentParser = commands.add_parser(name, help=help_, description=f"{about}.")
    command.add_argument("-q", "--quiet", action="store_true", help="results and errors only, no messages or progress")
    if json:
        command.add_argument("--json", action="store_true", help="print the result as JSON, for machines")
    return command


def _landscape(commands: Any) -> None:
    command = _command(commands, "landscape", "Describe labelled data before anything is fitted; says what to look at")
    _labelled_data(command)


def _fit(commands: Any) -> None:
    command = _command(commands, "fit", "Learn from labelled data; writes a model")
    _labelled_data(command)
    _classifier(command)
    command.add_argument(
        "--no-training-rows", action="store_true", help="leave the training records out of the model; counts stay"
    )
    test = command.add_mutually_exclusive_group()
    test.add_argument("--test", metavar="FILE", help="labelled data to test the model with")
    test.add_argument(
        "--holdout", type=_share, metavar="SHARE", help="keep this share of the rows back, to test the model with"
    )
    command.add_argument(
        "--promise",
        type=_share,
        metavar="ERROR",
        help="promise that at most this share of accepted labels is wrong, such as 0.05; the model keeps the promise, "
        "and predict accepts by it",
    )
    _by_and_confidence(command, "0.95", "one for all labels")
    command.add_argument(
        "--calibration",
        type=_share,
        metavar="SHARE",
        help="of the rows of each label that the promise is made from, beside those of --holdout or --test; the model "
        "does not learn from them (default: 0.3)",
    )
    _seed(command, "of what is drawn: the rows held back, the folds of --n-imp auto, an ensemble's members")
    _output(command, "MODEL", "the model to write", required=True)


def _promise(commands: Any) -> None:
    command = _command(
        commands, "promise", "Make a promise, or renew one; from labelled rows that the model has not learned from"
    )
    _model_and_data(command)
    command.add_argument("--target", required=True, metavar="COL", help="column of the true labels")
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--max-error",
        type=_share,
        metavar="ERROR",
        help="largest share of wrong labels among the accepted ones (default: as the model has promised, else 0.05)",
    )
    what.add_argument(
        "--max-cost", type=_number, metavar="NUMBER", help="in its place: what an accepted label may cost; needs --cost"
    )
    _by_and_confidence(command, "as the model has promised, else 0.95", "as the model has promised, else one for all")
    _policy(command)
    _output(command, "MODEL", "the model with its promise (default: only show it)")


def _by_and_confidence(command: ArgumentParser, confidence: str, by: str) -> None:
    command.add_argument(
        "--confidence", type=_share, help=f"with which all that is promised holds together (default: {confidence})"
    )
    command.add_argument(
        "--by",
        metavar="PART",
        help="label, region or the name of a column: a promise for each label, each region of the model, or each value "
        "of the column, which the model need not know; all for one promise "
        f"(default: {by})",
    )


def _predict(commands: Any) -> None:
    command = _command(
        commands,
        "predict",
        "Label new rows; writes all columns as they came, then label, trust, reason, region, distance, typicality, "
        "stability, accepted and refusal, in UTF-8. Works through files of any size",
    )
    _model_and_data(command)
    _policy(command)
    _acceptance(command, "as the model has promised, else 0.95; 0 with --cost, which then decides")
    command.add_argument(
        "--label-sets",
        type=_share,
        nargs="?",
        const=0.9,
        metavar="COVERAGE",
        help="add the set of labels that a row may well have; it holds the true one with this probability (0.9 if none "
        "is named). The model has to be fitted with --holdout or --test",
    )
    command.add_argument(
        "--per-class", action="store_true", help="let the coverage of --label-sets hold within each class"
    )
    _output(
        command,
        "FILE",
        "where to write, by its suffix as CSV, TSV, Parquet, Arrow or Excel (default: CSV to the output)",
    )


def _compare(commands: Any) -> None:
    command = _command(commands, "compare", "Show two models side by side; on which rows they differ, and who is right")
    command.add_argument("model", metavar="MODEL_A", help="a model that fit has written")
    command.add_argument("other", metavar="MODEL_B", help="another one; it may use other columns")
    _data(command)
    command.add_argument("--target", metavar="COL", help="column of the true labels; may have gaps (default: none)")
    _acceptance(command)
    _output(command, "FILE", "the rows on which they differ, by its suffix as CSV, TSV, Parquet or Arrow")


def _completion(commands: Any) -> None:
    command = _command(commands, "completion", "Print a script that completes commands in a shell", json=False)
    command.add_argument("shell", choices=SHELLS, help="where it is for")


def _explain(commands: Any) -> None:
    command = _command(commands, "explain", "Say why rows get their labels; and what would have to change")
    _model_and_data(command)
    _policy(command)
    command.add_argument(
        "--row",
        type=_row,
        nargs="+",
        action="extend",
        default=[],
        metavar="N",
        help="which rows; the first below the names is 1 (default with -o: all)",
    )
    command.add_argument(
        "--fixed",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns that a change to another label must leave alone, such as age",
    )
    command.add_argument(
        "--range",
        nargs=2,
        action=_AddRange,
        default=[],
        metavar=("COL", "LOW:HIGH"),
        help="from where to where a change may take a column, such as --range age 20:60; either end may be left out",
    )
    _output(
        command,
        "FILE",
        "where to write, by its suffix: a table (.csv, .tsv, .parquet, ...), .json, .jsonl or .txt (default: a text to "
        "the output)",
    )


def _report(commands: Any) -> None:
    command = _command(
        commands,
        "report",
        "Write a report; on a model that is fitted to 75 % of the rows and tested with the others, or on another one",
        json=False,
    )
    _labelled_data(command)
    _classifier(command)
    _policy(command)
    test = command.add_mutually_exclusive_group()
    test.add_argument("--test", metavar="FILE", help="labelled data to test with; all rows of DATA are learned from")
    test.add_argument("--model", help="a model to test with all rows, instead of fitting one")
    command.add_argument("--title", help="of the report (default: the name of the file and of the label column)")
    command.add_argument(
        "--max-records",
        type=_count,
        metavar="N",
        help="verdicts that are told one by one with their explanations, which is what takes long (default: 200, of an "
        "ensemble 25)",
    )
    command.add_argument(
        "--no-training-rows", action="store_true", help="show nothing of the training records, for one to be passed on"
    )
    _seed(command, "of what is drawn: the rows held back, the folds of --n-imp auto, an ensemble's members")
    _output(command, "FILE", "the report: .html, .md or .json", required=True)


def _feedback(commands: Any) -> None:
    command = _command(
        commands, "feedback", "Tell a model what became of its verdicts; writes a model that has learned"
    )
    command.add_argument("model", metavar="MODEL", help="a model that fit has written")
    _data(command)
    command.add_argument("--target", required=True, metavar="COL", help="column of the true labels; may have gaps")
    command.add_argument("--labels", choices=["all"], help="all: every row was to get a label; for the alarm on errors")
    command.add_argument(
        "--probability", metavar="COL", help="column of the chance with which each labelled row was chosen for a label"
    )
    command.add_argument("--once", action="store_true", help="count rows that repeat another one only once")
    command.add_argument(
        "--state",
        metavar="FILE",
        help="keep what is observed in this file, and go on from what it holds: evidence adds up over calls",
    )
    forget = command.add_mutually_exclusive_group()
    forget.add_argument(
        "--forget",
        choices=["auto"],
        help="let old records count less in the new model, as much as predicts the newest rows best",
    )
    forget.add_argument(
        "--window", type=_row, metavar="N", help="the new model learns from the last N labelled rows alone"
    )
    forget.add_argument(
        "--half-life", type=_row, metavar="N", help="a labelled row counts half in the new model after N more"
    )
    _output(command, "MODEL", "the new model (default: only report)")


def _inspect(commands: Any) -> None:
    command = _command(commands, "inspect", "Show what is in a model")
    command.add_argument("model", metavar="MODEL", help="a model that fit has written")


def _demo(commands: Any) -> None:
    command = _command(commands, "demo", "Show the main job on records of breast cancer", json=False)
    command.add_argument("--out", default="sepc-demo", metavar="DIR", help="folder for the report (default: sepc-demo)")


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


def _classifier(command: ArgumentParser) -> None:
    command.add_argument(
        "--n-imp",
        type=_n_imp,
        metavar="N",
        help="how many records of other labels an ellipsoid may hold: a count, a share of the smaller class, or auto, "
        "which tries several by cross-validation (default: 2, or 0.02 where that is more; for an ensemble 0.05)",
    )
    command.add_argument("--trust", choices=READINGS, help="how the regions are read (default: local)")
    command.add_argument("--ensemble", action="store_true", help="many partitions, not one: ranks better")
    command.add_argument(
        "--weight",
        metavar="COL",
        help="column that tells how often each row is there, 0 for not at all; test rows count once (default: once)",
    )


def _model_and_data(command: ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a model that fit has written")
    _data(command)


def _data(command: ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help="a table; - is the standard input")
    command.add_argument(
        "--format",
        choices=("csv", "tsv", "parquet", "arrow", "xlsx"),
        help="what kind of file it is (default: as it looks)",
    )
    command.add_argument(
        "--encoding", type=_encoding, default="utf-8", help="of a text file, such as latin-1 (default: utf-8)"
    )
    command.add_argument(
        "--missing", nargs="+", action="extend", default=[], metavar="TEXT", help="more texts that mean: no value"
    )
    _notation(command)


def _notation(command: ArgumentParser) -> None:
    """Add how a text file is written; what is not given is told by the columns, or by what a model remembers."""
    command.add_argument(
        "--sep", type=_separator, metavar="CHAR", help="between the columns, such as ';' or tab (default: as it looks)"
    )
    command.add_argument("--decimal", choices=(".", ","), help="decimal sign of the numbers (default: by column)")
    command.add_argument(
        "--thousands", choices=(".", ",", "'", " "), help="what stands between thousands (default: by column)"
    )
    command.add_argument(
        "--date", choices=("dmy", "mdy"), help="what comes first in 01/02/2020, day or month (default: by column)"
    )


def _policy(command: ArgumentParser) -> None:
    command.add_argument(
        "--prior",
        nargs=2,
        action=_AddNumber,
        default=[],
        metavar=("LABEL", "SHARE"),
        help="how frequent a label is where the model is used; may be given for several, the others share the rest as "
        "in training",
    )
    command.add_argument(
        "--cost",
        nargs=3,
        action=_AddNumber,
        default=[],
        metavar=("TRUE", "GIVEN", "NUMBER"),
        help="what it costs to give a label where another is true; once for each kind of error. Labels are then those "
        "of the least expected cost",
    )
    command.add_argument(
        "--ask", type=_number, metavar="NUMBER", help="what it costs to ask a person, who is asked where it costs less"
    )


def _acceptance(command: ArgumentParser, usual: str = "0.95") -> None:
    command.add_argument(
        "--min-trust",
        type=_trust,
        help=f"trust from which a label is accepted (default: {usual})",
    )
    command.add_argument(
        "--min-typicality",
        type=_trust,
        default=0.01,
        help="typicality from which a label is accepted: about this share of ordinary rows is refused as strange "
        "(default: 0.01)",
    )


def _output(command: ArgumentParser, metavar: str, about: str, required: bool = False) -> None:
    command.add_argument("-o", "--output", metavar=metavar, required=required, help=about)


def _seed(command: ArgumentParser, about: str) -> None:
    command.add_argument("--seed", type=_count, default=0, metavar="N", help=f"{about} (default: 0)")


def _n_imp(text: str) -> int | float | str:
    if text == "auto":
        return text
    try:
        return int(text) if text.isdecimal() else _share(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{text} is no count, no share strictly between 0 and 1, and not auto") from error


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**32:
        raise ArgumentTypeError(f"{text!r} is no whole number from 0 to {2**32 - 1}")
    return int(text)


def _row(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no row; they are counted from 1")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no number") from error


class _AddNumber(Action):
    """Reads ``ill well 10`` as texts and a number, once more each time that it is given."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        try:
            number = _number(values[-1])
        except ArgumentTypeError as error:
            parser.error(f"argument {option_string}: {error}")
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), (*values[:-1], number)])


class _AddRange(Action):
    """Reads ``age 20:60`` as a name and a pair."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:  # noqa: ARG002
        name, text = values
        # The only colon, or the one between blanks: times have colons too.
        low, between, high = text.partition(" : " if " : " in text else ":")
        if not between or not (low.strip() or high.strip()) or (":" in high and between == ":"):
            parser.error(f"argument --range: {text!r} is no range; expected LOW:HIGH, such as 20:60, 20: or :60")
        ends = (low.strip() or None, high.strip() or None)
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), (name, ends)])


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


def _separator(text: str) -> str:
    character = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise ArgumentTypeError(f"{text!r} cannot part columns; expected one character, such as ; or tab")
    return character


def _encoding(text: str) -> str:
    try:
        codecs.lookup(text)
    except LookupError as error:
        raise ArgumentTypeError(f"{text} is no encoding that Python knows, such as latin-1 or cp1252") from error
    return text


_COMMANDS = (
    _landscape,
    _fit,
    _promise,
    _predict,
    _explain,
    _report,
    _compare,
    _feedback,
    _inspect,
    _demo,
    _completion,
)
