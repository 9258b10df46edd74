"""Feedback on a classifier at work: verdicts that turned out wrong, drift, and when to partition again."""

from sepc.feedback.audits import Audit
from sepc.feedback.drift import Drift, DriftPart
from sepc.feedback.feedback_report import FeedbackReport
from sepc.feedback.forgetting import Forgetting
from sepc.feedback.monitor import FeedbackMonitor
from sepc.feedback.partition_changes import PartitionChanges
from sepc.feedback.promise_watch import PromiseDrift

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
