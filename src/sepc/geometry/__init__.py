"""Convex geometry on float64 arrays: ellipsoids, hulls, and how they lie to each other.

Minimum-volume ellipsoids (`min_volume_ellipsoid`) and the nearest points of reduced convex hulls (`nearest_points`),
each with a certificate; whether two ellipsoids meet (`separate`), how alike they are (`overlap_coefficient`), and what
several have in common (`cover_intersection`). It knows no labels, no estimator and no file, and never prints, warns or
reads a clock.

Examples
--------
>>> from sepc.geometry import min_volume_ellipsoid
>>> min_volume_ellipsoid([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]]).ellipsoid.center.round(6).tolist()
[1.0, 1.0]
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "coefficient": ["overlap_coefficient"],
        "ellipsoid": ["Ellipsoid"],
        "hulls": ["HullPair", "nearest_points"],
        "intersection": ["IntersectionCover", "cover_intersection"],
        "mve": ["MVE", "min_volume_ellipsoid"],
        "separation": ["Separation", "separate"],
    },
)
