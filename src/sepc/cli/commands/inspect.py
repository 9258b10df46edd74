"""``sepc inspect``: the content of a model."""

from argparse import Namespace

from sepc.cli.console import show, show_json
from sepc.cli.model_summary import summarize, summary_text
from sepc.cli.promised import promise_text
from sepc.persist import load, rules_dict


def run(options: Namespace) -> None:
    """Print the summary of a model."""
    model = load(options.model)
    summary = summarize(model)
    if options.json:
        promise = None if model.promise is None else model.promise.to_dict()
        show_json({**summary, "promise": promise, "rules": rules_dict(model)})
        return
    show(summary_text(model))
    for text in summary["notes"]:
        show(f"  {text}")
    if model.promise is not None:
        show(promise_text(model.promise))
