"""Readings of the paper's algorithm where its text, its listing and its figures do not say the same.

One of them is the main one, the same for all statements. Each of the others differs from it in one thing, but for the
last, which is what the package does by default.
"""

from typing import NamedTuple

from paper.experiment import Column, Row, Table
from sepc.common.typing import FloatArray
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.fitting import FitSettings
from sepc.partitions.algorithm import PAPERS_COUNT, partition
from sepc.partitions.blocks import Partition
from sepc.partitions.run import PartitionOptions


class PaperReading(NamedTuple):
    """A reading of Algorithms 1 and 2.

    Attributes
    ----------
    text : str
        What it is called.
    at_least : bool
        Whether lines 13 and 16 are taken as printed: an ellipsoid is cut back while it holds at least `n_imp` points
        of the other label, so that fewer remain. (With 0, where that never ends, it may hold none.)
    early_exit : bool
        Whether sets whose ellipsoids are disjoint are not cut (Algorithm 2, lines 4 to 8).
    where_hulls_meet : {"centroids", "noise"}
        What is cut along where the reduced hulls meet.

    Examples
    --------
    >>> READINGS["main"].allowed(2), READINGS["at_most"].allowed(2), READINGS["main"].allowed(0)
    (1, 2, 0)
    """

    text: str
    at_least: bool = True
    early_exit: bool = False
    where_hulls_meet: str = "centroids"

    def allowed(self, n_imp: int) -> int:
        """Return how many points of the other label an ellipsoid may hold, for the paper's `n_imp`."""
        return max(n_imp - 1, 0) if self.at_least else n_imp

    @property
    def options(self) -> PartitionOptions:
        """The same for `sepc.partitions.partition`."""
        return PartitionOptions(early_exit=self.early_exit, where_hulls_meet=self.where_hulls_meet)

    def partition(self, A: FloatArray, B: FloatArray, n_imp: int) -> Partition:
        """Split two sets with the paper's `n_imp`.

        Examples
        --------
        >>> import numpy as np
        >>> READINGS["exit"].partition(np.array([[0.0], [1.0]]), np.array([[5.0], [6.0]]), 0)
        Partition(A 2 | B 2, n_imp=0, n_iter=1)
        """
        allowed = self.allowed(n_imp)
        return partition(A, B, allowed, early_exit=self.early_exit, where_hulls_meet=self.where_hulls_meet)


READINGS = {
    "main": PaperReading("the main reading"),
    "at_most": PaperReading("at most `n_imp` points of the other label, not fewer", at_least=False),
    "exit": PaperReading("disjoint ellipsoids are not cut (early exit)", early_exit=True),
    "noise": PaperReading("cut along the solver's noise where hulls meet", where_hulls_meet="noise"),
    "package": PaperReading("the package's default: at most `n_imp`, early exit", at_least=False, early_exit=True),
}
MAIN = READINGS["main"]


class _GrownSettings(FitSettings):
    """The same, but a point outside of all ellipsoids is decided by what the nearest one holds once it is grown."""

    @property
    def grows(self) -> bool:
        return True


class PaperClassifier(SEPClassifier):
    """The classifier in the paper's form: its trust, its `n_imp`, features as they are, and a reading of its algorithm.

    Parameters
    ----------
    n_imp : int, default=2
        As the paper counts it.
    reading : str, default="main"
        One of `READINGS`.
    standardize : bool, default=False
    grown : bool, default=False
        Whether a point outside of all ellipsoids is decided by the counts of the nearest one after it is expanded to
        the point, in place of those before.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]
    >>> PaperClassifier(0).fit(X, y).predict([[0.4]]).tolist()
    ['a']
    """

    def __init__(self, n_imp: int = 2, reading: str = "main", standardize: bool = False, grown: bool = False) -> None:
        super().__init__(n_imp=n_imp, trust="paper", standardize=standardize)
        self.reading = reading
        self.grown = grown

    def _settings(self) -> FitSettings:
        reading = READINGS[self.reading]
        settings = super()._settings()
        return (_GrownSettings(*settings) if self.grown else settings)._replace(
            n_imp=reading.allowed(int(PAPERS_COUNT if self.n_imp is None else self.n_imp)),
            partition_options=reading.options,
        )


def readings_table(*columns: Column) -> Table:
    """Return the table of what each reading gives; its measures are called ``r_main.n`` and so on.

    Examples
    --------
    >>> next(readings_table(Column("n", "ellipsoids", "count")).measures())
    'r_main.n'
    """
    rows = tuple(Row(f"r_{key}", reading.text) for key, reading in READINGS.items())
    return Table("Other readings of the algorithm", rows, columns)
