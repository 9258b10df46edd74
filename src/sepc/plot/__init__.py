"""Pictures of classifiers with a trust score, as scikit-learn displays.

Each display is made by `from_estimator` or `from_predictions`, draws itself by `plot`, and returns the numbers behind
the picture by `frame`. Nothing but the axes that it draws on is changed. Needs the extra ``plot`` (matplotlib).
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
