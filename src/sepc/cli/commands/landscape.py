"""``sepc landscape``: a description of labelled data before anything is fitted."""

from argparse import Namespace

from sepc.cli.console import note, show, show_json
from sepc.cli.labelled_tables import read_labelled_table, require_labels
from sepc.landscapes.data_landscape import landscape
from sepc.tables import TableEncoder


def run(options: Namespace) -> None:
    """Print the landscape of the encoded columns."""
    data = read_labelled_table(options)
    require_labels(data, options.target)
    encoder = TableEncoder().fit(data.table)
    found = landscape(encoder.transform(data.table), data.labels)
    if options.json:
        show_json({**found.to_dict(), "columns": encoder.notes})
        return
    for text in encoder.notes:
        note(text)
    show(repr(found))
