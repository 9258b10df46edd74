"""Raw tables: texts, categories, dates and missing values become features, and come back in explanations."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
