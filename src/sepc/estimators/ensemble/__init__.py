"""The ensemble: members on subsets of the features, weighed by what they say of points they have not seen."""
