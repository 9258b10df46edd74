from .confusion_display import ConfusionDisplay
from .error_landscape_display import ErrorLandscapeDisplay
from .explanation_display import ExplanationDisplay
from .landscape_display import LandscapeDisplay
from .partition_display import PartitionDisplay
from .precision_recall_display import PrecisionRecallDisplay
from .region_trust_display import RegionTrustDisplay
from .reliability_display import ReliabilityDisplay
from .risk_coverage_display import RiskCoverageDisplay
from .roc_display import RocDisplay

__all__ = [
    "ConfusionDisplay",
    "ErrorLandscapeDisplay",
    "ExplanationDisplay",
    "LandscapeDisplay",
    "PartitionDisplay",
    "PrecisionRecallDisplay",
    "RegionTrustDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "RocDisplay",
]
