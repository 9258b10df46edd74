"""Arguments of all commands; this must load quickly."""

import codecs
from argparse import SUPPRESS, Action, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from functools import cache
from typing import Any

from sepc import __version__
from sepc.common.text import TRUST_METHODS

SHELLS = ("bash", "zsh", "tcsh")

_ABOUT = """\
Classification with trust: a label for each row, how far to trust it, and why.

Tables are CSV, TSV, JSON lines, Parquet, Arrow or Excel files, also packed (.gz, .bz2, .xz, .zip); - is the standard
input.
Results go to the standard output, messages to the standard error stream.
Exit codes: 0, 1 for bad data, 2 for bad usage, 130 if interrupted. Files are written whole or not at all."""


@cache  # for processes that run several commands
def make_parser() -> ArgumentParser:
    """Return the parser of the command line."""
    parser = ArgumentParser(prog="sepc", description=_ABOUT, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"sepc {__version__}")
    parser.add_argument("--traceback", action="store_true", help=SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in _COMMANDS:
        add(commands)
    return parser


class _Command:
    """A command that options are added to, and groups of options that several commands share."""

    def __init__(self, commands: Any, name: str, about: str, json: bool = True) -> None:
        # A help is a format, a description is not.
        help_ = about.split(";")[0].replace("%", "%%")
        self.parser: ArgumentParser = commands.add_parser(name, help=help_, description=f"{about}.")
        self.add = self.parser.add_argument
        self.flag("-q", "--quiet", help="results and errors only, no messages or progress")
        if json:
            self.flag("--json", help="print the result as JSON, for machines")

    def flag(self, *names: str, help: str) -> None:  # noqa: A002
        self.add(*names, action="store_true", help=help)

    def several(self, name: str, metavar: str, help: str) -> None:  # noqa: A002
        """Add an option that takes several texts, and may be given several times."""
        self.add(name, nargs="+", action="extend", default=[], metavar=metavar, help=help)

    def either(self) -> Any:
        """Return a group of options of which one can be given."""
        return self.parser.add_mutually_exclusive_group()

    def model(self, required: bool = True) -> None:
        number = {} if required else {"nargs": "?"}
        self.add("model", metavar="MODEL", help="a model that fit has written", **number)

    def target(self, about: str = "column of the true labels", required: bool = True) -> None:
        self.add("--target", required=required, metavar="COL", help=about)

    def output(self, metavar: str, about: str, required: bool = False) -> None:
        self.add("-o", "--output", metavar=metavar, required=required, help=about)

    def data(self, required: bool = True) -> None:
        """Add a table and its form; what is not given shows in the columns, or a model remembers it."""
        number = {} if required else {"nargs": "?"}
        self.add("data", metavar="DATA", help="a table; - is the standard input", **number)
        formats = ("csv", "tsv", "jsonl", "parquet", "arrow", "xlsx")
        self.add("--format", choices=formats, help="format of the file (default: detected)")
        encoding = "encoding of a text file, such as latin-1 (default: utf-8)"
        self.add("--encoding", type=_encoding, default="utf-8", help=encoding)
        self.several("--missing", "TEXT", "more texts that stand for a missing value")
        self.add(
            "--sheet",
            metavar="NAME",
            help="sheet of a workbook, by its name or number (default: the first that holds something)",
        )
        skipped = "lines of a text file, or rows of a sheet, above the names of the columns (default: 0)"
        self.add("--skip-rows", type=_count, default=0, metavar="N", help=skipped)
        footers = "lines of a text file, or rows of a sheet, at the end, such as totals (default: 0)"
        self.add("--skip-footer", type=_count, default=0, metavar="N", help=footers)
        between = "separator of columns, such as ';' or tab (default: detected)"
        self.add("--sep", type=_separator, metavar="CHAR", help=between)
        self.add("--decimal", choices=(".", ","), help="decimal mark (default: detected by column)")
        thousands = "thousands separator (default: detected by column)"
        self.add("--thousands", choices=(".", ",", "'", " "), help=thousands)
        date = "order of day and month in 01/02/2020 (default: detected by column)"
        self.add("--date", choices=("dmy", "mdy"), help=date)

    def dates(self) -> None:
        text = "column with the date of each row, for expected accuracy by month (default: the only column of dates)"
        self.add("--dates", metavar="COL", help=text)

    def unlabelled(self) -> None:
        self.add("--unlabelled", choices=["drop"], help="drop: leave rows without a label out (default: an error)")

    def labelled_data(self) -> None:
        self.data()
        self.target("column of the labels")
        self.unlabelled()
        self.several("--drop", "COL", "columns to leave out, such as row numbers")
        self.several("--categorical-features", "COL", "columns whose numbers are codes of categories")

    def classifier(self) -> None:
        """Add what makes a classifier, and what is drawn for it."""
        self.add(
            "--n-imp",
            type=_n_imp,
            metavar="N",
            help="how many records of other labels an ellipsoid may hold: a count, a share of the smaller class, or "
            "auto, which tries several by cross-validation (default: 2, or 0.02 where that is more; for an ensemble "
            "0.05)",
        )
        self.add("--trust", choices=TRUST_METHODS, help="how the regions are read (default: local)")
        self.flag("--ensemble", help="fit many partitions instead of one: ranks better")
        self.add(
            "--sample-weight",
            metavar="COL",
            help="column with the weight of each row: how often it counts, 0 for not at all; test rows count once "
            "(default: 1)",
        )
        self.add(
            "--random-state",
            type=_count,
            default=0,
            metavar="N",
            help="seed for the rows held back, the folds of --n-imp auto and an ensemble's members (default: 0)",
        )

    def parts_and_confidence(self, confidence: str, by: str) -> None:
        """Add for which parts a promise is made, and how surely."""
        about = f"confidence that the whole promise holds (default: {confidence})"
        self.add("--confidence", type=_inner_share, help=about)
        self.add(
            "--by",
            metavar="PART",
            help="label, region or the name of a column: one promise for each label, each region of the model, or each "
            f"value of the column, which the model need not use; all: a single promise (default: {by})",
        )

    def answers(
        self, about: str = "columns of another model's answers; by default those that the model was fitted to"
    ) -> None:
        """Add columns that another model has written."""
        scores = (
            f"{about}: the probability of each label, as LABEL=COL,LABEL=COL, or as COL,COL in the order of the sorted "
            "labels. The last label of the former, or the first of the latter, may be left out"
        )
        self.add("--scores", type=_scores, metavar="COLS", help=scores)
        self.add("--given", metavar="COL", help="column of the label that the other model gives")
        self.add(
            "--given-score",
            metavar="COL",
            help="column of the probability of the label in --given; other labels share the rest as in training",
        )

    def change_limits(self, default: str) -> None:
        """Add limits of changes to other labels."""
        self.add(
            "--fixed",
            nargs="*",
            action="extend",
            metavar="COL",
            help=f"columns that a change to another label must leave alone, such as age (default: {default})",
        )
        self.add(
            "--ranges",
            nargs=2,
            action=_AddRange,
            metavar=("COL", "LOW:HIGH"),
            help="range that a change keeps a column in, such as --ranges age 20:60; either end may be left out "
            f"(default: {default})",
        )

    def policy(self) -> None:
        """Add shares of the classes, and costs."""
        self.add(
            "--class-prior",
            nargs=2,
            action=_AddNumber,
            default=[],
            metavar=("LABEL", "SHARE"),
            help="share of a label where the model is used; repeat it for several labels, the others share the rest as "
            "in training",
        )
        self.add(
            "--costs",
            nargs=3,
            action=_AddNumber,
            default=[],
            metavar=("TRUE", "GIVEN", "NUMBER"),
            help="cost of giving a label where another is true; repeat it for each kind of error. Each row then gets "
            "the label of least expected cost",
        )
        asking = "cost of asking a person, who is asked where that costs less"
        self.add("--asking-cost", type=_number, metavar="NUMBER", help=asking)

    def listening(self, port: int, who: str) -> None:
        """Add where a server listens, and by which names it is reached."""
        self.add("--port", type=_count, default=port, metavar="N", help=f"default: {port}; 0 for any that is free")
        self.add("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: this machine)")
        self.add(
            "--hostname", action="append", default=[], metavar="NAME", help=f"name that {who} reach it by; repeat it"
        )
        self.add("--tls", nargs=2, metavar=("CERT", "KEY"), help="files of a certificate and its key")
        self.flag("--behind-proxy", help="a proxy in front has the certificate")

    def acceptance(self, usual: str = "0.95") -> None:
        self.add("--min-trust", type=_share, help=f"trust from which a label is accepted (default: {usual})")
        self.add(
            "--min-typicality",
            type=_share,
            default=0.01,
            help="typicality from which a label is accepted: it refuses about this share of ordinary rows as strange "
            "(default: 0.01)",
        )


def _landscape(commands: Any) -> None:
    _Command(commands, "landscape", "Describe labelled data before a fit; names what to check").labelled_data()


def _fit(commands: Any) -> None:
    command = _Command(commands, "fit", "Learn from labelled data; writes a model")
    command.labelled_data()
    command.classifier()
    command.answers(
        "go around another model, in any language, by columns that it has written; the rows count as held out, so it "
        "must not have learned from them"
    )
    command.flag("--no-training-rows", help="save the model without training records; counts stay")
    command.change_limits("none")
    test = command.either()
    test.add_argument("--test", metavar="FILE", help="labelled data to test the model with")
    held_out = "hold back this share of the rows to test the model with"
    test.add_argument("--holdout", type=_inner_share, metavar="SHARE", help=held_out)
    command.add(
        "--max-error",
        type=_inner_share,
        metavar="ERROR",
        help="promise that at most this share of accepted labels is wrong, such as 0.05; the model keeps the promise, "
        "and predict accepts by it",
    )
    command.parts_and_confidence("0.95", "one for all labels")
    command.add(
        "--calibration",
        type=_inner_share,
        metavar="SHARE",
        help="share of the rows of each label to make the promise from, besides those of --holdout or --test; the "
        "model does not learn from them (default: 0.3)",
    )
    command.add("--name", default="", metavar="TEXT", help="name of the model, kept in it; inspect shows it")
    tag = "a fact to keep in the model, such as site=north; repeat it for several"
    command.add("--tag", type=_tag, action="append", default=[], metavar="KEY=VALUE", help=tag)
    command.output("MODEL", "the model to write", required=True)


def _promise(commands: Any) -> None:
    about = "Make or renew a promise; needs labelled rows that the model has not learned from"
    command = _Command(commands, "promise", about)
    command.model()
    command.data()
    command.target()
    command.unlabelled()
    command.answers()
    limit = command.either()
    limit.add_argument(
        "--max-error",
        type=_inner_share,
        metavar="ERROR",
        help="largest share of wrong labels among the accepted ones (default: as the model has promised, else 0.05)",
    )
    cost = "instead: largest mean cost of an accepted label; needs --costs"
    limit.add_argument("--max-cost", type=_number, metavar="NUMBER", help=cost)
    command.parts_and_confidence("as the model has promised, else 0.95", "as the model has promised, else one for all")
    command.policy()
    command.output("MODEL", "the model with its promise (default: only show the promise)")


def _predict(commands: Any) -> None:
    command = _Command(
        commands,
        "predict",
        "Label new rows; writes all columns as they came, then label, trust, reason, region, distance, typicality, "
        "stability, accepted and refusal, in UTF-8. Works through files of any size",
    )
    command.model()
    command.data()
    command.answers()
    command.policy()
    command.acceptance("as the model has promised, else 0.95; 0 with --costs, which then decides")
    command.add(
        "--coverage",
        type=_inner_share,
        nargs="?",
        const=0.9,
        metavar="SHARE",
        help="add to each row a set of labels that holds the true one with this probability (0.9 without a number). "
        "Fit the model with --holdout or --test for this",
    )
    command.flag("--per-class", help="make --coverage hold within each class")
    command.add(
        "--to",
        metavar="DB",
        help="send the rows to a desk, which judges them by its model, and where people decide the refused ones",
    )
    command.output("FILE", "output file: CSV, TSV, Parquet, Arrow or Excel by its suffix (default: CSV to the output)")


def _explain(commands: Any) -> None:
    command = _Command(commands, "explain", "Explain the labels of rows; and what would change them")
    command.model()
    command.data()
    command.answers()
    command.policy()
    command.add(
        "--row",
        type=_row,
        nargs="+",
        action="extend",
        default=[],
        metavar="N",
        help="which rows; the first below the names is 1 (default with -o: all)",
    )
    command.flag("--details", help="print the rest, too: regions, log odds, the paper's rule, neighbours, changes")
    command.flag(
        "--changes",
        help="with -o: look for the smallest change of each row to another label, too, which takes several times as "
        "long; the limits below ask for it as well",
    )
    command.change_limits("those that the model keeps; --fixed alone: none")
    command.add(
        "--min-typicality",
        type=float,
        metavar="SHARE",
        help="how ordinary the changed record must be: the share of training records that are at least as strange "
        "(default 0.1)",
    )
    command.add(
        "--max-columns",
        type=int,
        metavar="N",
        help="most columns that the second, short change may use (default 3)",
    )
    command.output(
        "FILE",
        "output file, by its suffix: a table (.csv, .tsv, .parquet, ...), .json, .jsonl or .txt (default: a text to "
        "the output)",
    )


def _report(commands: Any) -> None:
    about = "Write a report; on a model fitted to 75 % of the rows and tested with the others, or on another model"
    command = _Command(commands, "report", about, json=False)
    command.labelled_data()
    command.classifier()
    command.answers()
    command.policy()
    test = command.either()
    test.add_argument("--test", metavar="FILE", help="labelled data to test with; all rows of DATA are learned from")
    test.add_argument("--model", help="a model to test with all rows, instead of fitting one")
    command.dates()
    command.flag("--changes", help="show the smallest change of each verdict to another label, too; takes longer")
    command.add("--title", help="of the report (default: the name of the file and of the label column)")
    command.add(
        "--max-records",
        type=_count,
        metavar="N",
        help="number of verdicts to explain one by one, which takes long (default: 200, for an ensemble 25)",
    )
    command.flag("--no-training-rows", help="show nothing of the training records, to pass the report on")
    command.output("FILE", "the report: .html, .md or .json", required=True)


def _compare(commands: Any) -> None:
    about = "Compare two models; shows on which rows they differ, and which is right"
    command = _Command(commands, "compare", about)
    command.add("model", metavar="MODEL_A", help="a model that fit has written")
    command.add("other", metavar="MODEL_B", help="another one; it may use other columns")
    command.data()
    command.target("column of the true labels; may have gaps (default: none)", required=False)
    command.answers()
    command.acceptance("as each model has promised, else 0.95")
    command.output("FILE", "the rows on which they differ, by its suffix as CSV, TSV, Parquet or Arrow")


def _feedback(commands: Any) -> None:
    about = "Tell a model the true labels of rows; watches for drift and can write a model that has learned"
    command = _Command(commands, "feedback", about)
    command.model()
    command.data()
    command.target("column of the true labels; may have gaps")
    command.answers()
    command.add("--labels", choices=["all"], help="all: every row was meant to get a label; for the alarm on errors")
    chance = "column with the chance that each labelled row had of being chosen; for the alarm on errors"
    command.add("--probability", metavar="COL", help=chance)
    command.dates()
    command.flag("--once", help="count repeated rows only once")
    state = "file that keeps what was observed, so that evidence adds up over calls"
    command.add("--state", metavar="FILE", help=state)
    forget = command.either()
    auto = "let old records count less, by as much as predicts the newest rows best"
    forget.add_argument("--forget", choices=["auto"], help=auto)
    window = "learn only from the last N labelled rows"
    forget.add_argument("--window", type=_row, metavar="N", help=window)
    half_life = "halve the weight of a labelled row after N more"
    forget.add_argument("--half-life", type=_row, metavar="N", help=half_life)
    command.output("MODEL", "the new model (default: only report)")


def _desk(commands: Any) -> None:
    about = "Open a page for people to decide what the model refuses; goes on where it stopped"
    command = _Command(commands, "desk", about)
    command.model(required=False)
    command.data(required=False)
    command.answers()
    command.add("--db", metavar="FILE", help="file of the desk (default: MODEL.desk.db beside the model)")
    command.add(
        "--person", action="append", default=[], metavar="NAME", help="who decides; repeat it. Each gets an address"
    )
    audit = "share of all rows in a random sample, whose accepted ones are asked, too (default: 0.05)"
    command.add("--audit", type=_share, metavar="SHARE", help=audit)
    second = "share of the asked rows that two people decide (default: 0)"
    command.add("--second-opinion", type=_share, metavar="SHARE", help=second)
    command.flag("--not-blind", help="show verdicts of audited rows before the decision, too")
    command.add(
        "--min-trust", type=_share, help="trust from which a label is accepted (default: as promised, else 0.95)"
    )
    training = "training file, for a model that was saved without its rows; with --target"
    command.add("--training", metavar="FILE", help=training)
    command.target("column of the labels in --training", required=False)
    command.listening(8642, "people")
    command.flag("--no-browser", help="print the address only")
    command.add("--export", metavar="FILE", help="write what was decided to a .csv, .parquet or .jsonl file, and end")
    command.flag("--verify", help="check that no event was altered or is missing, and end")
    command.add("--head", metavar="DIGEST", help="with --verify: a digest that an earlier check has printed")


def _serve(commands: Any) -> None:
    about = "Serve a model over HTTP: JSON, CSV and the tensors of KServe; takes over a new file without a stop"
    command = _Command(commands, "serve", about)
    command.model()
    command.answers()
    command.policy()
    command.acceptance("as the model has promised, else 0.95; 0 with --costs, which then decides")
    command.add("--name", metavar="NAME", help="name of the model in addresses (default: that of the file)")
    command.add("--desk", metavar="DB", help="send refused records to this desk, where people decide them")
    command.add("--max-bytes", type=_count, default=64 << 20, metavar="N", help="of a request (default: 67108864)")
    command.add("--max-rows", type=_count, default=100_000, metavar="N", help="of a request (default: 100000)")
    explained = "rows that a request may ask to explain (default: 100)"
    command.add("--max-explained", type=_count, default=100, metavar="N", help=explained)
    seconds = "seconds that a request may take (default: 30)"
    command.add("--timeout", type=_number, default=30.0, metavar="SECONDS", help=seconds)
    command.listening(8643, "clients")
    token = "file with the token that requests must carry, as Authorization: Bearer (default: that in SEPC_TOKEN)"
    command.add("--token-file", metavar="FILE", help=token)


def _export(commands: Any) -> None:
    command = _Command(commands, "export", "Write a model as an ONNX graph, for programs without sepc")
    command.model()
    command.add("onnx", metavar="ONNX", help="file to write, such as model.onnx")
    command.policy()
    trust = "trust from which a label is accepted (default: as promised, else 0.95; 0 with --costs)"
    command.add("--min-trust", type=_share, help=trust)
    command.several("--outputs", "NAME", "outputs of the graph, such as label accepted (default: all)")
    command.add("--dtype", choices=["float64", "float32"], default="float64", help="of numbers (default: float64)")


def _inspect(commands: Any) -> None:
    _Command(commands, "inspect", "Show what is in a model").model()


def _demo(commands: Any) -> None:
    command = _Command(commands, "demo", "Run the main steps on records of breast cancer", json=False)
    command.add("--out", default="sepc-demo", metavar="DIR", help="folder for the report (default: sepc-demo)")


def _completion(commands: Any) -> None:
    command = _Command(commands, "completion", "Print a script that completes commands in a shell", json=False)
    command.add("shell", choices=SHELLS, help="the shell")


def _n_imp(text: str) -> int | float | str:
    if text == "auto":
        return text
    try:
        return int(text) if text.isdecimal() else _inner_share(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{text} is no count, no share strictly between 0 and 1, and not auto") from error


def _scores(text: str) -> list[str] | dict[str, str]:
    parts = [part.strip() for part in text.split(",")]
    pairs = [part.partition("=") for part in parts]
    named = {label.strip(): column.strip() for label, _, column in pairs}
    are_pairs = [bool(between) for _, between, _ in pairs]
    if not all(parts) or any(are_pairs) != all(are_pairs) or (all(are_pairs) and len(named) < len(parts)):
        raise ArgumentTypeError(f"{text!r}: expected columns as no=p_no,yes=p_yes, or as p_no,p_yes")
    return named if all(are_pairs) else parts


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**32:
        raise ArgumentTypeError(f"{text!r} is no whole number from 0 to {2**32 - 1}")
    return int(text)


def _tag(text: str) -> tuple[str, str]:
    key, between, value = text.partition("=")
    if not key or not between:
        raise ArgumentTypeError(f"{text!r} is no tag; expected KEY=VALUE, such as site=north")
    return key, value


def _row(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no row; they are counted from 1")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no number") from error


def _share(text: str) -> float:
    share = _number(text)
    if not 0.0 <= share <= 1.0:
        raise ArgumentTypeError(f"{text} is not between 0 and 1")
    return share


def _inner_share(text: str) -> float:
    share = _share(text)
    if share in (0.0, 1.0):
        raise ArgumentTypeError(f"{text} is not strictly between 0 and 1")
    return share


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

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        name, text = values
        # The only colon, or the one between blanks: times have colons too.
        low, between, high = text.partition(" : " if " : " in text else ":")
        if not between or not (low.strip() or high.strip()) or (":" in high and between == ":"):
            parser.error(
                f"argument {option_string}: {text!r} is no range; expected LOW:HIGH, such as 20:60, 20: or :60"
            )
        ends = (low.strip() or None, high.strip() or None)
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), (name, ends)])


def _separator(text: str) -> str:
    character = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise ArgumentTypeError(f"{text!r} cannot separate columns; expected one character, such as ; or tab")
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
    _desk,
    _serve,
    _export,
    _inspect,
    _demo,
    _completion,
)
