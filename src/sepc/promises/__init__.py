"""Promises: trust thresholds that bound errors or costs among accepted labels, for all of them or by parts."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
