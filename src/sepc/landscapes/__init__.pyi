from .data_landscape import DataLandscape, landscape
from .findings import Finding
from .fitted_landscape import FittedLandscape

__all__ = ["DataLandscape", "Finding", "FittedLandscape", "landscape"]
