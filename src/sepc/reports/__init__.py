"""Reports on a classifier and test records: one dict that becomes a page, a text or JSON.

Examples
--------
>>> from sepc import SEPClassifier, report
>>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
>>> print(report(clf, [[0.5], [7.0]], ["low", "high"]).markdown().splitlines()[0])
# SEPClassifier: high and low
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
