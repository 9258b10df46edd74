"""Training sets that are not in memory, and the models that are fitted to them."""
