"""``sepc desk``: a page on which people decide what the model refuses."""

import webbrowser
from argparse import Namespace
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from sepc.cli.cell_values import CellParser
from sepc.cli.console import UsageError, note, note_text, say, show_json
from sepc.cli.given_answers import answered, given_by
from sepc.cli.labelled_tables import open_by_options, require_columns
from sepc.cli.model_inputs import BatchPredictor, group_column_of, notation_of, read_labelled_for, read_model
from sepc.cli.writing import require_writable
from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError
from sepc.desk.batches import Batch
from sepc.desk.desk import Desk
from sepc.desk.events import Events
from sepc.desk.export import FORMS, exported
from sepc.desk.judge import file_digest
from sepc.desk.listening import Address
from sepc.desk.opening import open_desk, owner
from sepc.desk.running import serve


def run(options: Namespace) -> None:
    """Serve a desk, or check or export one."""
    if options.verify or options.export is not None:
        _look_at(options)
        return
    if options.model is None:
        raise UsageError("desk-needs-model")
    desk = _opened(options)
    stated = {
        "audit": options.audit,
        "second": options.second_opinion,
        "blind": False if options.not_blind else None,
        "min_trust": options.min_trust,
    }
    desk.agree(owner(), desk.terms._replace(**{name: value for name, value in stated.items() if value is not None}))
    if options.data is not None:
        add_file(desk, options, Path(options.data))
    progress = desk.progress()
    say("desk-progress", n=progress["waiting"] + progress["second"], n_decided=progress["decided"])
    tls = None if options.tls is None else tuple(options.tls)
    address = Address(options.host, options.port, options.hostname, tls, options.behind_proxy)
    read = partial(batches_of, options, desk)
    training = None if options.training is None else partial(_training_rows, options, desk)
    serve(desk, address, options.person, on_start=partial(_announce, options), read=read, training=training)
    say("desk-closed", path=desk.events.path)


def _look_at(options: Namespace) -> None:
    """Check the events of a desk, or export its decisions."""
    if options.db is None:
        raise UsageError("desk-needs-db")
    events = Events(options.db, create=False)
    if options.verify:
        n, head = events.verify(options.head)
        say("desk-verified", path=options.db, n=n, head=head)
        if options.json:
            show_json({"db": options.db, "events": n, "head": head})
    if options.export is not None:
        form = Path(options.export).suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise UsageError("desk-export-form", path=options.export, forms=", ".join(f".{one}" for one in FORMS))
        require_writable(options.export, options.db)
        with written_whole(options.export) as file:
            file.write(exported(events, form))
        say("desk-exported", path=options.export, n=events.one("SELECT count(*) FROM queue WHERE state = 'decided'"))


def _opened(options: Namespace) -> Desk:
    model = Path(options.model)
    db = model.with_suffix(".desk.db") if options.db is None else Path(options.db)
    given = given_by(options)
    parameters = None if given is None else given.get_params()
    read_model(options.model, options, any_kind=True)  # for the errors of what it needs
    return open_desk(db, model, given=parameters)


def send(options: Namespace) -> None:
    """Send the rows of a table to the desk of the option ``--to``, which may be open."""
    given = given_by(options)
    desk = open_desk(Path(options.to), Path(options.model), given=None if given is None else given.get_params())
    if options.min_trust is not None:
        desk.agree(owner(), desk.terms._replace(min_trust=options.min_trust))
    add_file(desk, options, Path(options.data))


def add_file(desk: Desk, options: Namespace, path: Path) -> None:
    """Add the rows of a file to a desk, unless they are there."""
    digest = file_digest(path)
    if desk.knows(digest):
        note("desk-known", name=path.name)
        return
    n_rows, n_asked = desk.add(owner(), path.name, digest, batches_of(options, desk, path, path.name))
    say("desk-added", name=path.name, n=n_rows, n_asked=n_asked)


def batches_of(options: Namespace, desk: Desk, path: Path, name: str) -> Iterator[Batch]:  # noqa: ARG001
    """Yield the rows of a file, read as the model of a desk needs them."""
    model = desk.judge.clf
    notation = notation_of(model)
    with open_by_options(options, str(path), notation) as source:
        predictor = BatchPredictor(model, source, CellParser.of(options, source.delimiter, notation))
        column = group_column_of(model)
        if column is not None:
            require_columns([column], source.schema.names, source.name)
        n_rows = 0
        for batch in source.batches:
            table, unanswered = answered(predictor.given, predictor.table(batch, n_rows))
            groups = predictor.groups(batch, column)
            yield Batch(pa.Table.from_batches([batch]), table, groups, unanswered, n_rows + 1)
            n_rows += batch.num_rows


def _training_rows(options: Namespace, desk: Desk) -> tuple[pa.Table, Any]:
    """Return the rows and labels of the training file, for a model that was saved without them."""
    if options.target is None:
        raise InputError("desk-training-without-target")
    read = Namespace(**vars(options) | {"data": options.training, "unlabelled": "drop"})
    found = read_labelled_for(desk.judge.clf, read, None)
    return found.table, found.labels


def _announce(options: Namespace, addresses: Mapping[str, str]) -> None:
    for person, url in addresses.items():
        say("desk-open", person=person, url=url)
    if options.json:
        show_json({"people": dict(addresses)})
    if not options.no_browser and not webbrowser.open(next(iter(addresses.values()))):
        note_text("no browser could be opened; open the address yourself.")
