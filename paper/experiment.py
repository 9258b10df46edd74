"""Experiment: statements of the paper, tables of measures over seeds, and a figure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from paper.statements import Statement, Values


class Column(NamedTuple):
    """Column of a table: what it measures."""

    key: str
    text: str
    kind: str


class Row(NamedTuple):
    """Row of a table: what it is about."""

    key: str
    text: str


class Table(NamedTuple):
    """Measures in rows and columns; the one of a row and a column is called ``row.column``.

    Examples
    --------
    >>> table = Table("Tried", (Row("raw", "raw features"),), (Column("n", "ellipsoids", "count"),))
    >>> list(table.measures())
    ['raw.n']
    """

    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    note: str = ""

    def measures(self) -> Iterator[str]:
        """Yield the names of all measures."""
        return (f"{row.key}.{column.key}" for row in self.rows for column in self.columns)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper.

    Attributes
    ----------
    name : str
        By which it is asked for.
    title : str
    about : str
        Data and setting, in a few sentences.
    statements : tuple of Statement
    tables : tuple of Table
        Between them they have every measure.
    measure : callable
        ``measure(seed)`` returns all measures of one run, as a dict.
    draw : callable
        ``draw(values)`` returns a matplotlib figure; `values` has a list over the seeds for each measure.
    caption : str
        What the figure shows.
    quick, full : int
        How many seeds the quick and the full form take.

    Examples
    --------
    >>> from paper import EXPERIMENTS
    >>> EXPERIMENTS["xor"].run(0)["plain.right"]
    4.0
    """

    name: str
    title: str
    about: str
    statements: tuple[Statement, ...]
    tables: tuple[Table, ...]
    measure: Callable[[int], Mapping[str, float]]
    draw: Callable[[Values], Any]
    caption: str
    quick: int = 4
    full: int = 20

    def measures(self) -> tuple[str, ...]:
        """Return the names of all measures."""
        return tuple(measure for table in self.tables for measure in table.measures())

    def run(self, seed: int) -> dict[str, float]:
        """Return all measures of one run as plain numbers.

        Parameters
        ----------
        seed : int

        Returns
        -------
        dict of str to float
        """
        found = self.measure(seed)
        return {name: float(found[name]) for name in self.measures()}
