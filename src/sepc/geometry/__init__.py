"""Convex geometry on float64 arrays: ellipsoids, hulls, and how they lie to each other.

Knows no labels, no estimator and no file. The functions never print, warn or read a clock.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "ellipsoid": ["Ellipsoid"],
        "mve": ["MVE", "min_volume_ellipsoid"],
        "hulls": ["HullPair", "nearest_points"],
        "separation": ["Separation", "separate"],
        "intersection": ["IntersectionCover", "cover_intersection"],
        "coefficient": ["overlap_coefficient"],
    },
)
