"""Common parts of Circles and Moons: points from a generator, under settings that the paper does not give."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from paper.experiment import Column, Row, Table
from paper.figures import panels
from paper.paper_readings import MAIN, READINGS, PaperReading, readings_table
from paper.shared_measures import acceptance, classifier, n_ellipsoids, n_isolated, n_left_over
from paper.statements import Expectation, Statement, Values, spread_in_words
from sepc.datasets import DataSet
from sepc.plot import PartitionDisplay

_COLUMNS = (
    Column("n_iter", "iterations", "count"),
    Column("n", "ellipsoids", "count"),
    Column("left", "points left to the last ones", "count"),
    Column("alone", "points left alone", "count"),
)
BY_READING = readings_table(*_COLUMNS)
Settings = Mapping[str, Mapping[str, float]]


def tried(settings: Settings) -> Table:
    """Return the table of settings, the first being the one that the statements are judged by.

    Examples
    --------
    >>> tried({"a": {"n": 100, "noise": 0.1}}).rows[0].text
    'n 100, noise 0.1'
    """
    rows = tuple(
        Row(key, ", ".join(f"{name} {value:g}" for name, value in setting.items())) for key, setting in settings.items()
    )
    note = "The statement is judged by the first row: the paper does not tell its setting."
    return Table("Tried: other settings of the generator", rows, _COLUMNS, note)


def separated(n_iter: int, settings: Settings, reason: str) -> tuple[Statement, ...]:
    """Return the paper's statement that all points are in ellipsoids after some iterations.

    Examples
    --------
    >>> separated(4, {"a": {"n": 100}}, "")[0].reported
    '4 iterations'
    """
    first, *others = settings
    return (
        Statement(
            f"The points of either label are in their ellipsoids after {n_iter} iterations.",
            f"{n_iter} iterations",
            (Expectation(f"{first}.n_iter", "iterations", "count", n_iter, n_iter),),
            (
                *(
                    (Expectation(f"r_{key}.n_iter", f"iterations, {reading.text}", "count", n_iter, n_iter),)
                    for key, reading in READINGS.items()
                    if reading is not MAIN
                ),
                *(
                    (Expectation(f"{key}.n_iter", f"iterations with {row.text}", "count", n_iter, n_iter),)
                    for key, row in zip(others, tried(settings).rows[1:], strict=True)
                ),
            ),
            partial(_left_over, first),
            reason,
        ),
    )


def _left_over(key: str, values: Values) -> str:
    left, alone = (spread_in_words(values[f"{key}.{column}"], "count") for column in ("left", "alone"))
    return (
        f"The iterations leave {left} points to a last ellipsoid of each label (line 27 of Algorithm 1) and {alone} as "
        "ellipsoids of their own (line 30)."
    )


def measure(make: Callable[..., DataSet], settings: Settings, n_imp: int, seed: int) -> dict[str, float]:
    """Return iterations and ellipsoids under each setting, and what is accepted under the first.

    Examples
    --------
    >>> from sepc.datasets import make_moons
    >>> measure(make_moons, {"a": {"n": 60, "noise": 0.1}}, 2, 0)["r_exit.n"]
    4
    """
    found: dict[str, float] = {}
    for key, setting in settings.items():
        found |= _partition(key, MAIN, make(**setting, seed=seed), n_imp)
    first = next(iter(settings.values()))
    for key, reading in READINGS.items():
        found |= _partition(f"r_{key}", reading, make(**first, seed=seed), n_imp)
    train, test = make(**first, seed=seed), make(**first, seed=10_000 + seed)
    return found | acceptance(train.X, train.y, test.X, test.y, n_imp)


def _partition(key: str, reading: PaperReading, data: DataSet, n_imp: int) -> dict[str, float]:
    A, B = (data.X[data.y == label] for label in data.counts)
    p = reading.partition(A, B, n_imp)
    return {
        f"{key}.n_iter": p.n_iter,
        f"{key}.n": n_ellipsoids(p, 0) + n_ellipsoids(p, 1),
        f"{key}.left": n_left_over(p) - n_isolated(p),
        f"{key}.alone": n_isolated(p),
    }


def draw(make: Callable[..., DataSet], settings: Settings, n_imp: int, n_iter: int, values: Values) -> Any:
    """Draw the partition of the first seed that has as many iterations as the paper, or of seed 0.

    Examples
    --------
    >>> from sepc.datasets import make_moons
    >>> draw(make_moons, {"a": {"n": 60, "noise": 0.1}}, 2, 3, {"a.n_iter": [2.0]}).axes[0].get_xlabel()
    'x1'
    """
    key, setting = next(iter(settings.items()))
    runs = [int(n) for n in values[f"{key}.n_iter"]]
    data = make(**setting, seed=runs.index(n_iter) if n_iter in runs else 0)
    figure, ax = panels(1, height=3.0)
    clf = classifier("paper", n_imp).fit(data.X, data.y)
    PartitionDisplay.from_estimator(clf, hyperplanes=True, n_names=0, ax=ax)
    ax.set(xlabel="x1", ylabel="x2")
    return figure
