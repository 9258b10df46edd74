"""A real data set, and a classifier that is fitted to half of it."""

from fitted_classifiers import cancer, fitted

__all__ = ["cancer", "fitted"]
