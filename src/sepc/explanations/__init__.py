"""Explanations: why this label, what would have to change for another one, and in which words."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={"explanation": ["Explanation"]})
