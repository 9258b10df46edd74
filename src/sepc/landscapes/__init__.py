"""Landscapes of labelled data, before and after a fit, and findings on them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "data_landscape": ["DataLandscape", "Landscape", "landscape"],
        "findings": ["Finding"],
        "fitted_landscape": ["FittedLandscape", "Terrain"],
    },
)
