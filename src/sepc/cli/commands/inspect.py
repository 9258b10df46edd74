"""``sepc inspect``: the content of a model."""

from argparse import Namespace

from sepc.cli.console import show, show_json
from sepc.cli.model_summary import summarize, summary_text
from sepc.persist import load, rules_dict


def run(options: Namespace) -> None:
    """Print the summary of a model."""
    model = load(options.model)
    summary = summarize(model)
    if options.json:
        show_json({**summary, "rules": rules_dict(model)})
        return
    show(summary_text(model))
    for text in summary["notes"]:
        show(f"  {text}")
