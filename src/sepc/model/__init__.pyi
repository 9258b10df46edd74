from .assessment import Assessment
from .count_model import CountModel
from .density_model import DensityModel
from .fitted_model import FittedModel
from .partition_model import PartitionModel

__all__ = ["Assessment", "CountModel", "DensityModel", "FittedModel", "PartitionModel"]
