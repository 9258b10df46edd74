"""Sequential ellipsoidal partitions of labelled point sets: the paper's Algorithms 1 and 2, for two sets or several.

`partition` cuts two sets into ellipsoids that hold (nearly) one label each; no estimator is needed. The result is a
`Partition` of `Block` and `Hyperplane`.

Examples
--------
>>> from sepc.partitions import partition
>>> partition([[0.0], [1.0], [2.0]], [[5.0], [6.0], [9.0]])
Partition(A 3 | B 3, n_imp=2, n_iter=1)
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
