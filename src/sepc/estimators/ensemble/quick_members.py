"""Quick predictions of members at a few points, right but for the last digits.

`Member.prediction` works through blocks of many rows, so that no bit of a prediction depends on the other points. A
search that evaluates a few points a hundred times does without.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.feature_views import LabelSteps
from sepc.estimators.ensemble.members import LOWEST, Member, Part, Prediction
from sepc.model.category_shares import Categories


class QuickShares(NamedTuple):
    """Shares of the values of categories in components, numbered among the features of a member."""

    categories: Categories
    slopes: FloatArray
    constants: FloatArray

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "QuickShares | None":
        """Return those of the components of some parts; None if no category is modelled by shares."""
        known = [part.densities.shares for part in parts if part.densities.shares is not None]
        if not known:
            return None
        slopes = np.hstack([one.slopes for one in known])
        return cls(known[0].categories, slopes, np.concatenate([one.constants.sum(axis=0) for one in known]))


class QuickParts(NamedTuple):
    """Parts of one member that see the same, ready for points of its view.

    Distances are measured in the features `numbers`: they are the lengths of images of these d features, with a 1
    behind them, under `frames` of shape (d, n_components, d + 1). `at` are the components among those of all members.
    """

    member: Member
    steps: LabelSteps | None
    numbers: IntArray | slice
    frames: FloatArray
    shares: QuickShares | None
    at: slice

    @classmethod
    def of(cls, member: Member, parts: Sequence[Part], first: int) -> Self:
        """Return the components of some parts, numbered from `first` on."""
        frames = [
            np.column_stack([frame.T, -center @ frame]) for part in parts for center, frame in part.densities.frames()
        ]
        at = slice(first, first + len(frames))
        known = parts[0].steps, parts[0].densities.numbers
        return cls(member, *known, np.stack(frames, axis=1), QuickShares.of(parts), at)

    def fill(self, views: Sequence[FloatArray], squares: FloatArray, log_shares: FloatArray) -> None:
        """Set squared distances of points to the components, (n_components, n), and add logs of shares."""
        points = self.member.points(views)
        if self.steps is not None:
            points = self.steps(points)
        n = len(points)
        # Points side by side in memory: sums over anything else are then sums of whole rows.
        with_one = np.vstack([points[:, self.numbers].T, np.ones(n)])
        away = (self.frames.reshape(-1, len(with_one)) @ with_one).reshape(*self.frames.shape[:2], n)
        np.square(away, out=away).sum(axis=0, out=squares[self.at])
        if self.shares is not None:
            categories = self.shares.categories
            squares[self.at] += categories.squares_beyond(points).sum(axis=1)
            log_shares[self.at] += (categories.possible(points) @ self.shares.slopes + self.shares.constants).T


class QuickMembers(NamedTuple):
    """Components of all parts of all members, one after the other, ready for points of their views.

    `dof`, `exponents` and `log_weights`, shape (n_components,), are those of t densities per volume in standard
    deviations. `starts`, shape (n_groups,), are the first components of each class in each part of each member;
    `groups` their members, parts and classes; `shape` the numbers of members, of parts of each, and of classes.
    """

    parts: list[QuickParts]
    dof: FloatArray
    exponents: FloatArray
    log_weights: FloatArray
    starts: IntArray
    groups: tuple[IntArray, IntArray, IntArray]
    shape: tuple[int, int, int]

    @classmethod
    def of(cls, members: Sequence[Member]) -> Self:
        """Return members whose components are written out."""
        parts, dof, exponents, log_weights = [], [], [], []
        groups: list[tuple[int, int, int]] = []
        for number, member in enumerate(members):
            first = len(groups)
            for part_number, part in enumerate(member.parts):
                densities = part.densities
                n_components = len(densities.codes)
                dof.append(np.full(n_components, densities.degrees_of_freedom))
                exponents.append(np.full(n_components, -0.5 * (densities.degrees_of_freedom + len(densities.unit))))
                log_weights.append(densities.log_weights - np.log(densities.unit).sum())
                if part.steps is not None:  # it sees what no other part does
                    parts.append(QuickParts.of(member, [part], len(groups)))
                groups += [(number, part_number, int(code)) for code in densities.codes]
            if member.parts[0].steps is None:
                parts.append(QuickParts.of(member, member.parts, first))
        # Components come class by class, part after part.
        of_component = np.array(groups)
        starts = np.flatnonzero(np.any(np.diff(of_component, axis=0, prepend=-1) != 0, axis=1))
        return cls(
            parts,
            np.concatenate(dof),
            np.concatenate(exponents),
            np.concatenate(log_weights),
            starts,
            (of_component[starts, 0], of_component[starts, 1], of_component[starts, 2]),
            (len(members), len(members[0].parts), members[0].parts[0].densities.n_classes),
        )

    def predictions(self, views: Sequence[FloatArray]) -> Prediction:
        """Return the log probability of each class and the density by each member, the mean over its parts."""
        member, part, code = self.groups
        of_classes = np.full((*self.shape, len(views[0])), -np.inf)
        of_classes[member, part, code] = self._log_sums(views)
        top = of_classes.max(axis=2)
        total = top + np.log(np.exp(of_classes - top[:, :, None]).sum(axis=2))
        logs = np.maximum(of_classes - total[:, :, None], LOWEST).mean(axis=1)
        return Prediction(logs.transpose(0, 2, 1), total.mean(axis=1))

    def _log_sums(self, views: Sequence[FloatArray]) -> FloatArray:
        """Return the log of each class's prior times its density by each part, shape (n_groups, n)."""
        logs = np.empty((len(self.log_weights), len(views[0])))
        weights = np.repeat(self.log_weights[:, None], len(views[0]), axis=1)
        for part in self.parts:
            part.fill(views, logs, weights)
        logs /= self.dof[:, None]
        logs += 1.0
        np.log(logs, out=logs)
        logs *= self.exponents[:, None]
        logs += weights
        # By the largest of the same class, part and member: none of their sums vanishes.
        top = np.maximum.reduceat(logs, self.starts, axis=0)
        logs -= np.repeat(top, np.diff(self.starts, append=len(logs)), axis=0)
        return np.asarray(np.log(np.add.reduceat(np.exp(logs, out=logs), self.starts, axis=0)) + top)
