"""Parts of the records that errors are counted in: all of them, those of each label given, those of each region.

Each comparison model has labels and regions of its own; a process of bets belongs to one part by one model.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.drift import LABEL, OTHER_REGIONS, OVERALL, REGION
from sepc.feedback.held_out_models import ModelView

# With fewer held-out records than this, as can be expected, a region leaves too high a rate possible: such regions are
# one part by label.
_FEW = 20
# Half of the stake is on all records alike, and the other half on parts of them.
_ON_ALL = 0.5


class Process(NamedTuple):
    """Bets on errors in one part of the records, by one model.

    Attributes
    ----------
    kind : {"overall", "label", "region", "other regions"}
    model : int
        Number of the model.
    name : str
        As in `DriftPart`.
    """

    kind: str
    model: int
    name: str


class ErrorParts(NamedTuple):
    """Processes, and which of them a verdict has a part in.

    Attributes
    ----------
    processes : tuple of Process
        Those on all records first, one for each model.
    of_label : ndarray of int, shape (n_models, n_classes)
        Process of each label given; no columns where there is none.
    of_region : ndarray of int, shape (n_models, n_components)
        Process of each component of the models' densities, -1 beyond their number; no columns where there is none.
    """

    processes: tuple[Process, ...]
    of_label: IntArray
    of_region: IntArray

    @classmethod
    def overall(cls, n_models: int) -> "ErrorParts":
        """Return processes on all records alone."""
        nothing = np.empty((n_models, 0), dtype=np.int64)
        return cls(tuple(Process(OVERALL, m, OVERALL) for m in range(n_models)), nothing, nothing)

    @classmethod
    def of_held_out(
        cls,
        labels: list[str],
        views: list[ModelView],
        watched_regions: list[NDArray[Any]] | None,
        expected: list[FloatArray] | None = None,
    ) -> "ErrorParts":
        """Return the processes of labels and regions, by what the models say of held-out records.

        Which regions are one part together depends on how many records shaped them, and not on the held-out ones: a
        region that is taken into a pool since few of these fell into it would be underrated there.

        Parameters
        ----------
        labels : list of str
        views : list of ModelView
            What each model says of the records that it was made without.
        watched_regions : list of ndarray of str, or None
            For each model the regions of the watched classifier in which these records lie: a region of the model has
            the name of the one that holds most of its records. None where there are no regions.
        expected : list of ndarray of shape (n_components,), or None
            For each model how many held-out records each of its regions can be expected to have.

        Returns
        -------
        ErrorParts
        """
        processes = list(cls.overall(len(views)).processes)
        of_label = np.arange(len(views) * len(labels)).reshape(len(views), -1) + len(processes)
        processes += [Process(LABEL, m, label) for m in range(len(views)) for label in labels]
        most = 0 if watched_regions is None else max(len(view.component_codes) for view in views)
        of_region = np.full((len(views), most), -1, dtype=np.int64)
        for m, (regions, n_expected) in enumerate(zip(watched_regions or (), expected or (), strict=True)):
            _add_regions(processes, of_region[m], m, views[m], regions, n_expected, labels)
        return cls(tuple(processes), of_label, of_region)

    def stakes(self) -> FloatArray:
        """Return the share of the stake that is on each process, shape (n_processes,)."""
        kinds = np.array([_STAKED_WITH.get(process.kind, process.kind) for process in self.processes])
        others = sorted(set(kinds.tolist()) - {OVERALL})
        stakes = np.empty(len(kinds))
        for kind in (OVERALL, *others):
            mine = kinds == kind
            share = 1.0 if not others else _ON_ALL if kind == OVERALL else (1.0 - _ON_ALL) / len(others)
            stakes[mine] = share / np.count_nonzero(mine)
        return stakes

    def of_verdicts(self, m: int, view: ModelView) -> list[IntArray]:
        """Return the processes that the verdicts of model m have a part in: an array of shape (n,) for each kind."""
        found = [np.full(len(view.codes), m)]
        if self.of_label.shape[1]:
            found.append(self.of_label[m, view.codes])
        if self.of_region.shape[1] and view.components is not None:
            found.append(self.of_region[m, view.components])
        return found

    def counts(self, views: list[ModelView], codes: list[IntArray]) -> IntArray:
        """Return the wrong verdicts, and all, of each process, by views of records of these classes.

        Returns
        -------
        ndarray of int, shape (n_processes, 2)
        """
        counts = np.zeros((len(self.processes), 2), dtype=np.int64)
        for m, (view, true) in enumerate(zip(views, codes, strict=True)):
            wrong = view.codes != true
            for which in self.of_verdicts(m, view):
                np.add.at(counts[:, 0], which[wrong], 1)
                np.add.at(counts[:, 1], which, 1)
        return counts


_STAKED_WITH = {OTHER_REGIONS: REGION}


def _add_regions(
    processes: list[Process],
    of_region: IntArray,
    m: int,
    view: ModelView,
    watched_regions: NDArray[Any],
    n_expected: FloatArray,
    labels: list[str],
) -> None:
    """Append the processes of a model's regions, and fill in their numbers by component."""
    assert view.components is not None
    for c in np.flatnonzero(n_expected >= _FEW).tolist():
        of_region[c] = len(processes)
        names, often = np.unique(watched_regions[view.components == c].astype(str), return_counts=True)
        # Without any held-out record nothing tells its name.
        named = Process(OTHER_REGIONS, m, labels[int(view.component_codes[c])])
        processes.append(Process(REGION, m, str(names[often.argmax()])) if len(names) else named)
    few = np.flatnonzero(n_expected < _FEW)
    for code in np.unique(view.component_codes[few]).tolist():
        of_region[few[view.component_codes[few] == code]] = len(processes)
        processes.append(Process(OTHER_REGIONS, m, labels[code]))
