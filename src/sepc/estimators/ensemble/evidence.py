"""Evidence: what the members of an ensemble say of new points."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.model.decision import Decision
from sepc.model.rules import Rules
from sepc.model.verdicts import Verdicts


class Evidence(NamedTuple):
    """Opinions of the members on n points, and what becomes of them.

    Attributes
    ----------
    decision : Decision
    other : ndarray of int, shape (n,)
        Number of the likeliest other class.
    opinions : ndarray of shape (n_members, n, n_classes)
        Log probabilities.
    added : ndarray of shape (n_members, n)
        What each member adds to the log odds of the label against that other one.
    """

    decision: Decision
    other: IntArray
    opinions: FloatArray
    added: FloatArray


class Lead(NamedTuple):
    """The part of a member that speaks most clearly for the label of some points, and where they lie in it.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Which points.
    regions : ndarray of str, shape (n,)
        The regions that they most likely belong to, with the member and the part.
    counts : ndarray of int, shape (n, 2)
        Training points that were left out and belong there, too: of the label, and of all others.
    verdicts : Verdicts
        Where the points lie, by the rules of the paper; what grown ellipsoids hold is not counted.
    rules : Rules
        That gave these verdicts.
    """

    rows: IntArray
    regions: NDArray[np.object_]
    counts: IntArray
    verdicts: Verdicts
    rules: Rules
