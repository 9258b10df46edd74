"""Estimators: the classifiers with a trust score, the choice of n_imp, and sets of labels."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
