"""Verdicts that turned out wrong, and records unlike any seen before: when to partition again.

Examples
--------
>>> from sepc.feedback import FeedbackMonitor
>>> FeedbackMonitor.__name__
'FeedbackMonitor'
"""

from sepc.feedback.changes import PartitionChanges
from sepc.feedback.drift import Drift
from sepc.feedback.monitor import FeedbackMonitor
from sepc.feedback.report import FeedbackReport

__all__ = ["Drift", "FeedbackMonitor", "FeedbackReport", "PartitionChanges"]
