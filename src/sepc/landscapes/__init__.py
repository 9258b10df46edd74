"""Landscapes of labelled data: what the classes and a partition of them look like, and findings with remedies.

`landscape` describes data before anything is fitted; `SEPClassifier.landscape_` is the landscape of its partition.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
