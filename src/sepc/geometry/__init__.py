"""Convex geometry on float64 arrays: ellipsoids, convex hulls, and their relations.

Minimum-volume ellipsoids (`min_volume_ellipsoid`) and the nearest points of reduced convex hulls (`nearest_points`),
each with a certificate; whether two ellipsoids intersect (`separate`), how similar they are (`overlap_coefficient`),
and an ellipsoid around the intersection of several (`cover_intersection`). Nothing here knows labels, estimators or
files, prints, warns or reads a clock.

Examples
--------
>>> from sepc.geometry import min_volume_ellipsoid
>>> min_volume_ellipsoid([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]]).ellipsoid.center.round(6).tolist()
[1.0, 1.0]
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
