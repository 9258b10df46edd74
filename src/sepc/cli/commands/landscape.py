"""``sepc landscape``: a description of labelled data before anything is fitted."""

from argparse import Namespace

from sepc.cli.compiling import say_if_compiling
from sepc.cli.console import note_text, show, show_json, step_progress
from sepc.cli.labelled_tables import read_labelled_table, require_labels
from sepc.cli.messages import printed
from sepc.landscapes.data_landscape import landscape
from sepc.tables import TableEncoder
from sepc.tables.columns import date_columns, features_by_column


def run(options: Namespace) -> None:
    """Print the landscape of the encoded columns."""
    data = read_labelled_table(options)
    require_labels(data, options.target)
    say_if_compiling()
    encoder = TableEncoder(keep_gaps=True).fit(data.table)
    features = encoder.transform(data.table)
    names = features.columns.tolist()
    columns = features_by_column(encoder.columns_, names)
    with step_progress("landscape") as on_step:
        numbers = data.numbers_in_file
        found = landscape(
            features,
            data.labels,
            on_step=on_step,
            columns=columns,
            rows_from=numbers,
            dates=date_columns(encoder.columns_),
            findings=encoder.findings_ + data.findings,
        )
    if options.json:
        rows = [numbers[[*group]].tolist() for group in found.contradictions]
        unlabelled = {"unlabelled": data.n_unlabelled}
        show_json({**found.to_dict(), "contradictions": rows, "columns": encoder.notes, **unlabelled})
        return
    for text in encoder.notes:
        note_text(text)
    show(found.text(printed("all-pairs")))
