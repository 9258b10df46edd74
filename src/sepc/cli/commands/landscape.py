"""``sepc landscape``: what the data look like before anything is fitted."""

from argparse import Namespace

from sepc.cli.console import note, show, show_json
from sepc.cli.samples import read_sample, require_labels
from sepc.landscapes import landscape
from sepc.tables import TableEncoder


def run(options: Namespace) -> None:
    """Print the landscape of the encoded columns."""
    sample = read_sample(options)
    require_labels(sample, options.target)
    encoder = TableEncoder().fit(sample.table)
    view = landscape(encoder.transform(sample.table), sample.labels)
    if options.json:
        show_json({**view.to_dict(), "columns": encoder.notes})
        return
    for text in encoder.notes:
        note(text)
    show(repr(view))
