"""Feedback on a classifier at work: verdicts that turned out wrong, drift, and when to partition again.

`FeedbackMonitor` watches a fitted classifier; the other classes are what it returns, and `Forgetting`, which it takes.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
