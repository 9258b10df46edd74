"""Shares of classes and costs of errors, as they are given on the command line."""

from argparse import Namespace
from typing import Any

from sepc.cli.usage import UsageError
from sepc.model.acceptance import DEFAULT_TRUST


def under_policy(model: Any, options: Namespace) -> Any:
    """Return the model under the shares and costs that ``--prior``, ``--cost`` and ``--ask`` state.

    Parameters
    ----------
    model : fitted classifier
    options : argparse.Namespace
    """
    if not options.prior and not options.cost and options.ask is None:
        return model
    if options.ask is not None and not options.cost:
        raise UsageError("--ask is a price beside those of errors; expected --cost with it, for each kind of error.")
    label_of = {str(label): label for label in model.classes_.tolist()}

    def known(text: str, option: str) -> Any:
        if text not in label_of:
            raise UsageError(f"{option} names the label {text!r}; expected one of {', '.join(label_of)}.")
        return label_of[text]

    prior = {known(label, "--prior"): share for label, share in options.prior}
    costs: dict[Any, Any] = {}
    for true, given, price in options.cost:
        costs.setdefault(known(true, "--cost"), {})[known(given, "--cost")] = price
    if options.ask is not None:
        costs[None] = options.ask
    return model.under(class_prior=prior or None, costs=costs or None)


def least_trust(options: Namespace) -> float:
    """Return the trust from which a label is accepted: what was asked for, or what is usual."""
    return DEFAULT_TRUST if options.min_trust is None else float(options.min_trust)
