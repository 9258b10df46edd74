from .audits import Audit
from .drift import Drift, DriftPart
from .feedback_report import FeedbackReport
from .forgetting import Forgetting
from .monitor import FeedbackMonitor
from .partition_changes import PartitionChanges
from .promise_watch import PromiseDrift

__all__ = [
    "Audit",
    "Drift",
    "DriftPart",
    "FeedbackMonitor",
    "FeedbackReport",
    "Forgetting",
    "PartitionChanges",
    "PromiseDrift",
]
