"""CPU time in times of a random forest's: by set, and medians by the number of classes and of features."""

from collections.abc import Iterable
from math import inf
from statistics import median
from typing import NamedTuple

from measure import figure, row, table

# The largest number in each group, and what it is called.
CLASSES = ((2, "2 classes"), (5, "3 to 5 classes"), (11, "6 to 11 classes"), (inf, "more than 11 classes"))
FEATURES = ((10, "up to 10 features"), (30, "11 to 30 features"), (inf, "more than 30 features"))


class Shape(NamedTuple):
    """How many records, classes and features a set has."""

    rows: int
    classes: int
    features: int


class Cost(NamedTuple):
    """Fit and prediction in times of the forest's; NaN where it was not measured, at least so much if it is cut off."""

    fit: float
    predict: float
    is_cut_off: bool = False

    def in_words(self) -> str:
        """Return both in a cell of a table; nothing of what was not measured."""
        parts = [f"{'> ' * self.is_cut_off}{self.fit:.2g}", f"{self.predict:.2g}"]
        return " / ".join(part for part in parts if "nan" not in part)


def print_costs(means: dict, shapes: dict[str, Shape], models: Iterable[str], forest: str) -> None:
    """Print what fits and predictions cost in times of the forest's: by set, and their medians.

    The sets where ours cost most come first. What was not measured is left out, everything without the forest.

    Parameters
    ----------
    means : dict of (set, model) to dict
        CPU seconds under ``fit_s`` and ``proba_s``.
    shapes : dict of set to Shape
    models : iterable of str
        Columns of the table; ours are called sepc and something.
    forest : str
        The model that all others are compared with.
    """
    costs = {
        (s, m): Cost(means[s, m]["fit_s"] / known["fit_s"], means[s, m]["proba_s"] / known["proba_s"])
        for s in shapes
        for m in models
        if m != forest and (known := means.get((s, forest))) and (s, m) in means
    }
    costs = {key: cost for key, cost in costs.items() if cost.in_words()}
    measured = list(dict.fromkeys(m for _, m in costs))
    ours = [m for m in measured if m.startswith("sepc")] or measured
    worst = {s: max(costs[s, m].fit for m in ours if (s, m) in costs) for s, m in costs if m in ours}
    if not worst:
        return
    print("\n### CPU time of fit / prediction in times of the forest's, where ours cost most first\n")
    table("costs of each", "set", "rows", "classes", "features", f"{forest}, s", *measured)
    for s in sorted(worst, key=worst.get, reverse=True):
        seconds = Cost(means[s, forest]["fit_s"], means[s, forest]["proba_s"]).in_words()
        row(s, *shapes[s], seconds, *(costs[s, m].in_words() if (s, m) in costs else "" for m in measured))
    for model in ours:
        found = [costs[s, model] for s in worst if (s, model) in costs]
        figure(f"worst fit, {model}", float(f"{max(cost.fit for cost in found):.2g}"))
        figure(f"worst prediction, {model}", float(f"{max(cost.predict for cost in found):.2g}"))
    print("\n### Medians of these\n")
    print_medians(costs, {s: shapes[s] for s in worst}, measured)


def print_medians(costs: dict[tuple[str, str], Cost], shapes: dict[str, Shape], models: Iterable[str]) -> None:
    """Print the median costs by the number of classes and by the number of features.

    Parameters
    ----------
    costs : dict of (set, model) to Cost
    shapes : dict of set to Shape
    models : iterable of str
        Columns of the table.
    """
    models = list(models)
    table("median costs", "median over sets of", "sets", *models)
    row("any kind", len(shapes), *(in_the_middle(costs, shapes, model) for model in models))
    for groups, field in ((CLASSES, "classes"), (FEATURES, "features")):
        least = -inf
        for most, name in groups:
            members = [key for key, shape in shapes.items() if least < getattr(shape, field) <= most]
            if members:
                row(name, len(members), *(in_the_middle(costs, members, model) for model in models))
            least = most
    print()


def in_the_middle(costs: dict[tuple[str, str], Cost], sets: Iterable[str], model: str) -> str:
    """Return the median costs of one model over some sets, in words."""
    found = [costs[name, model] for name in sets if (name, model) in costs]
    if not found:
        return ""
    fit = median(cost.fit for cost in found)
    known = [cost.predict for cost in found if cost.predict == cost.predict]
    # A fit that was cut off would have taken longer: it moves the median only if it is not above it anyway.
    is_cut_off = any(cost.is_cut_off and cost.fit <= fit for cost in found)
    return Cost(fit, median(known) if known else float("nan"), is_cut_off).in_words()
