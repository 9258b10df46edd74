"""Pictures of classifiers with a trust score, as scikit-learn displays.

Each display is made by `from_estimator` or `from_predictions`, draws itself by `plot`, and returns the numbers behind
the picture by `frame`. Nothing but the axes that it draws on is changed. Needs the extra ``plot`` (matplotlib).
"""

from sepc.plot.confusion_display import ConfusionDisplay
from sepc.plot.landscape_display import LandscapeDisplay
from sepc.plot.partition_display import PartitionDisplay
from sepc.plot.region_trust_display import RegionTrustDisplay
from sepc.plot.reliability_display import ReliabilityDisplay
from sepc.plot.risk_coverage_display import RiskCoverageDisplay
from sepc.plot.style import class_styles

__all__ = [
    "ConfusionDisplay",
    "LandscapeDisplay",
    "PartitionDisplay",
    "RegionTrustDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "class_styles",
]
