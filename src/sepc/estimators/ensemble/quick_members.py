"""Quick opinions: what members say of a few points, right but for the last digits.

`Member.opinion` gives each point the same answer, bit for bit, whatever other points are asked about with it; for that
it works through blocks of many rows. A search that asks about some points a hundred times does without.
"""

from typing import NamedTuple, Self

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.members import LOWEST, Member, Opinion
from sepc.model.densities import TAILS, log_sum_exp


class QuickMember(NamedTuple):
    """Components of all parts of a member, ready for points of its view.

    Attributes
    ----------
    member : Member
    frames : ndarray of shape (d, n_components * d)
        Frames of the components side by side: distances are lengths of points in them, less the `centers`.
    centers : ndarray of shape (n_components * d,)
    log_weights : ndarray of shape (n_components,)
        Of densities per volume in standard deviations.
    starts : ndarray of int, shape (n_groups,)
        First components of each class in each part.
    groups : pair of ndarray of int, shape (n_groups,)
        Parts and classes that these are of.

    Examples
    --------
    >>> from sepc import SEPEnsembleClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]])
    >>> model = SEPEnsembleClassifier(n_estimators=2).fit(X, [0] * 4 + [1] * 4)._model
    >>> quick, exact = (m.opinion(model.views(X)) for m in (QuickMember.of(model.members[0]), model.members[0]))
    >>> np.allclose(quick.log_probability, exact.log_probability)
    True
    """

    member: Member
    frames: FloatArray
    centers: FloatArray
    log_weights: FloatArray
    starts: IntArray
    groups: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, member: Member) -> Self:
        """Return a member whose components are written out."""
        frames, log_weights, groups = [], [], []
        for number, part in enumerate(member.parts):
            densities = part.densities
            frames += list(densities.frames())
            log_weights.append(densities.log_weights - np.log(densities.unit).sum())
            groups += [(number, int(code)) for code in densities.codes]
        # Components come class by class, part after part.
        of_component = np.array(groups)
        starts = np.flatnonzero(np.any(np.diff(of_component, axis=0, prepend=-1) != 0, axis=1))
        return cls(
            member,
            np.concatenate([frame for _, frame in frames], axis=1),
            np.concatenate([center @ frame for center, frame in frames]),
            np.concatenate(log_weights),
            starts,
            (of_component[starts, 0], of_component[starts, 1]),
        )

    def opinion(self, views: tuple[FloatArray, FloatArray]) -> Opinion:
        """Return the log probability of each class and the density, the mean over the parts."""
        plan = self.member.plan
        points = views[plan.view][:, plan.features]
        n, d = points.shape
        away = points @ self.frames
        away -= self.centers
        square = np.square(away, out=away).reshape(n, -1, d).sum(axis=2)
        logs = self.log_weights - 0.5 * (TAILS + d) * np.log1p(square / TAILS)
        joint = np.full((len(self.member.parts), n, self.member.parts[0].densities.n_classes), -np.inf)
        top = logs.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            sums = np.log(np.add.reduceat(np.exp(logs - top), self.starts, axis=1)) + top
        part, code = self.groups
        joint[part, :, code] = sums.T
        total = log_sum_exp(joint.reshape(-1, joint.shape[2])).reshape(joint.shape[:2])
        return Opinion(np.maximum(joint - total[:, :, None], LOWEST).mean(axis=0), total.mean(axis=0))
