"""Explanations of verdicts: why a record gets its label, and the smallest change that would give it another one.

`explain` of a classifier returns an `Explanation`; the other classes are the parts of it.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
