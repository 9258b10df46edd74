from .coefficient import overlap_coefficient
from .ellipsoid import Ellipsoid
from .hulls import HullPair, nearest_points
from .intersection import IntersectionCover, cover_intersection
from .mve import MVE, min_volume_ellipsoid
from .separation import Separation, separate

__all__ = [
    "MVE",
    "Ellipsoid",
    "HullPair",
    "IntersectionCover",
    "Separation",
    "cover_intersection",
    "min_volume_ellipsoid",
    "nearest_points",
    "overlap_coefficient",
    "separate",
]
