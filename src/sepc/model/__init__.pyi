from .assessment import Assessment
from .fitted_model import FittedModel
from .partition_model import PartitionModel

__all__ = ["Assessment", "FittedModel", "PartitionModel"]
