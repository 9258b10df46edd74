from .assessment import Assessment
from .fitted_model import FittedModel
from .partition_model import CountModel, DensityModel, PartitionModel

__all__ = ["Assessment", "CountModel", "DensityModel", "FittedModel", "PartitionModel"]
