"""Data sets, and a classifier that is fitted to half of a real one."""

from fitted_classifiers import cancer, cut_clouds, fitted

__all__ = ["cancer", "cut_clouds", "fitted"]
