"""Quick opinions: what members say of a few points, right but for the last digits.

`Member.opinion` gives each point the same answer, bit for bit, whatever other points are asked about with it; for that
it works through blocks of many rows. A search that asks about some points a hundred times does without.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.members import LOWEST, Member, Opinion
from sepc.model.category_shares import Categories
from sepc.model.densities import TAILS


class QuickShares(NamedTuple):
    """Shares of the values of categories in all components of a member, numbered among all features of its view."""

    categories: Categories
    slopes: FloatArray
    constants: FloatArray

    @classmethod
    def of(cls, member: Member) -> "QuickShares | None":
        """Return those of a member; None if it reads no category so."""
        known = [part.densities.shares for part in member.parts if part.densities.shares is not None]
        if not known:
            return None
        categories = known[0].categories
        return cls(
            categories._replace(groups=tuple(member.plan.features[group] for group in categories.groups)),
            np.hstack([one.slopes for one in known]),
            np.concatenate([one.constants.sum(axis=0) for one in known]),
        )


class QuickMembers(NamedTuple):
    """Components of all parts of all members, one after the other, ready for points of their views.

    Attributes
    ----------
    views : list of int
        Which view each member looks at.
    features : list of ndarray of int, shape (d + 1,)
        Which features distances are measured in, and behind them the number of the 1.
    frames : list of ndarray of shape (d, n_components_of_the_member, d + 1)
        Distances are lengths of what points, with a 1 behind their d features, become in a component's frame.
    shares : list of QuickShares or None
        Of members that read categories by the shares of their values.
    slices : list of slice
        Components of each member among all.
    exponents, log_weights : ndarray of shape (n_components,)
        Of densities per volume in standard deviations.
    starts : ndarray of int, shape (n_groups,)
        First components of each class in each part of each member.
    groups : triple of ndarray of int, shape (n_groups,)
        Members, parts and classes that these are of.
    n_classes : int

    Examples
    --------
    >>> from sepc import SEPEnsembleClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]])
    >>> model = SEPEnsembleClassifier(n_estimators=2).fit(X, [0] * 4 + [1] * 4)._model
    >>> quick, exact = QuickMembers.of(model.members).opinions(model.views(X)), model.opinions(X)
    >>> np.allclose(quick.log_probability, exact.log_probability)
    True
    """

    views: list[int]
    features: list[IntArray]
    frames: list[FloatArray]
    shares: list[QuickShares | None]
    slices: list[slice]
    exponents: FloatArray
    log_weights: FloatArray
    starts: IntArray
    groups: tuple[IntArray, IntArray, IntArray]
    n_classes: int

    @classmethod
    def of(cls, members: Sequence[Member]) -> Self:
        """Return members whose components are written out."""
        features, frames, shares, slices, exponents, log_weights = [], [], [], [], [], []
        groups: list[tuple[int, int, int]] = []
        for number, member in enumerate(members):
            first, own = len(groups), []
            for part_number, part in enumerate(member.parts):
                densities = part.densities
                own += [np.column_stack([frame.T, -center @ frame]) for center, frame in densities.frames()]
                log_weights.append(densities.log_weights - np.log(densities.unit).sum())
                groups += [(number, part_number, int(code)) for code in densities.codes]
            numbers = member.plan.features[member.parts[0].densities.numbers]
            features.append(np.append(numbers, -1))
            frames.append(np.stack(own, axis=1))
            shares.append(QuickShares.of(member))
            slices.append(slice(first, len(groups)))
            exponents.append(np.full(len(own), -0.5 * (TAILS + len(numbers))))
        # Components come class by class, part after part.
        of_component = np.array(groups)
        starts = np.flatnonzero(np.any(np.diff(of_component, axis=0, prepend=-1) != 0, axis=1))
        return cls(
            [member.plan.view for member in members],
            features,
            frames,
            shares,
            slices,
            np.concatenate(exponents),
            np.concatenate(log_weights),
            starts,
            (of_component[starts, 0], of_component[starts, 1], of_component[starts, 2]),
            members[0].parts[0].densities.n_classes,
        )

    def opinions(self, views: tuple[FloatArray, FloatArray]) -> Opinion:
        """Return the log probability of each class and the density by each member, the mean over its parts."""
        member, part, code = self.groups
        of_classes = np.full((len(self.views), int(part.max()) + 1, self.n_classes, len(views[0])), -np.inf)
        of_classes[member, part, code] = self._log_sums(views)
        top = of_classes.max(axis=2)
        total = top + np.log(np.exp(of_classes - top[:, :, None]).sum(axis=2))
        said = np.maximum(of_classes - total[:, :, None], LOWEST).mean(axis=1)
        return Opinion(said.transpose(0, 2, 1), total.mean(axis=1))

    def _log_sums(self, views: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return the logarithm of each class's prior times its density by each part of each member, (n_groups, n)."""
        n = len(views[0])
        # Points side by side in memory: sums over anything else are then sums of whole rows.
        with_one = [np.vstack([view.T, np.ones(n)]) for view in views]
        logs = np.empty((len(self.log_weights), n))
        for view, features, frames, at in zip(self.views, self.features, self.frames, self.slices, strict=True):
            points = with_one[view][features]
            away = (frames.reshape(-1, len(points)) @ points).reshape(*frames.shape[:2], n)
            np.square(away, out=away).sum(axis=0, out=logs[at])
        members = zip(self.views, self.shares, self.slices, strict=True)
        with_shares = [(view, shares, at) for view, shares, at in members if shares is not None]
        for view, shares, at in with_shares:
            logs[at] += shares.categories.squares_beyond(views[view]).sum(axis=1)
        logs *= 1.0 / TAILS
        logs += 1.0
        np.log(logs, out=logs)
        logs *= self.exponents[:, None]
        logs += self.log_weights[:, None]
        for view, shares, at in with_shares:
            logs[at] += (shares.categories.possible(views[view]) @ shares.slopes + shares.constants).T
        # By the largest of the same class, part and member: none of their sums vanishes.
        top = np.maximum.reduceat(logs, self.starts, axis=0)
        logs -= np.repeat(top, np.diff(self.starts, append=len(logs)), axis=0)
        return np.asarray(np.log(np.add.reduceat(np.exp(logs, out=logs), self.starts, axis=0)) + top)
