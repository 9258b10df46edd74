"""Estimators: the classifiers with a trust score, and what is promised of them."""
