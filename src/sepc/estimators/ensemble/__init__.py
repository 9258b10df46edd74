"""The ensemble: members on subsets of the features, weighed by their out-of-fold predictions."""
