"""Classification with trust by sequential ellipsoidal partitioning.

The stub beside this file lists the public names; each is loaded on first use, so that ``import sepc`` loads nothing
heavy.

Examples
--------
>>> import sepc
>>> m = sepc.geometry.min_volume_ellipsoid([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
>>> m.ellipsoid.center.round(6).tolist()
[1.0, 1.0]
"""

import lazy_loader as lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
