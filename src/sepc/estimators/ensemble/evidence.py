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
    of_parts : ndarray of shape (n_parts, n_members, n, n_classes), or None
        Log probabilities by the parts of the members; None where points are so many that it is not worth the memory.
    """

    decision: Decision
    other: IntArray
    opinions: FloatArray
    added: FloatArray
    of_parts: FloatArray | None = None


class Citation(NamedTuple):
    """Regions of one class that some points are likened to, by the part of a member that speaks most clearly for it.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Which points.
    points : ndarray of shape (n, n_features_of_the_member)
        The same, as the member sees them.
    member, part, code : int
        Numbers of the member, of its part, and of the class.
    components : ndarray of int, shape (n,)
        Numbers of the regions in that part: those of the class that the points most likely belong to.
    regions : ndarray of str, shape (n,)
        Their names, with the member and the part.
    claimed : ndarray of int, shape (n, n_classes)
        Training points of each class that were left out and belong there, too.
    """

    rows: IntArray
    points: FloatArray
    member: int
    part: int
    code: int
    components: IntArray
    regions: NDArray[np.object_]
    claimed: IntArray


class Lead(NamedTuple):
    """What the member that speaks most for the label of some points says of them.

    Attributes
    ----------
    citation : Citation
        Of regions of the label.
    verdicts : Verdicts
        Where the points lie, by the rules of the paper; what grown ellipsoids hold is not counted.
    rules : Rules
        That gave these verdicts.
    """

    citation: Citation
    verdicts: Verdicts
    rules: Rules


class Extent(NamedTuple):
    """How far a region reaches in each feature of its member.

    Attributes
    ----------
    low, high : ndarray of shape (n_features_of_the_member,)
        In the units that points come in; infinite where it reaches beyond all training points.
    half_width : ndarray of shape (n_features_of_the_member,)
        Of the ellipsoid, or of all together, in standard deviations of what the member looks at.
    """

    low: FloatArray
    high: FloatArray
    half_width: FloatArray
