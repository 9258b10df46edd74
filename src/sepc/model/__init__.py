"""The fitted model: rules, counts, densities, and the assessment of new points."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
