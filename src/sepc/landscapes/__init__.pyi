from .data_landscape import DataLandscape, landscape
from .failing_regions import ErrorLandscape, FailingRegion, error_landscape
from .findings import Finding
from .fitted_landscape import FittedLandscape

__all__ = [
    "DataLandscape",
    "ErrorLandscape",
    "FailingRegion",
    "Finding",
    "FittedLandscape",
    "error_landscape",
    "landscape",
]
