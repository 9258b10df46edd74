"""``sepc inspect``: what is in a model."""

from argparse import Namespace

from sepc.cli.console import show, show_json
from sepc.cli.facts import facts, facts_in_words
from sepc.persist import load, rules_dict


def run(options: Namespace) -> None:
    """Print what is in a model."""
    model = load(options.model)
    if options.json:
        show_json({**facts(model), "rules": rules_dict(model)})
        return
    show(facts_in_words(model))
    for text in facts(model)["notes"]:
        show(f"  {text}")
