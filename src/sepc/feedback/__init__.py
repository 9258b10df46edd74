"""Feedback on a classifier at work: verdicts that turned out wrong, drift, and when to partition again."""

from sepc.feedback.drift import Drift
from sepc.feedback.feedback_report import FeedbackReport
from sepc.feedback.monitor import FeedbackMonitor
from sepc.feedback.partition_changes import PartitionChanges

__all__ = ["Drift", "FeedbackMonitor", "FeedbackReport", "PartitionChanges"]
