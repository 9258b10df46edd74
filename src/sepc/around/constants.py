"""Constants of classifiers around other models; `bench/around.py` chose them on one half of its data sets."""

# No probability of another model counts as less: forests say 0 where a few trees have not seen a label.
LEAST_PROBABILITY = 1e-3
# Records that stand for the class shares, where a model that gives labels alone is read by their counts.
LIKE_CLASS_SHARES = 1.0
# Columns of an encoder from which on these are reduced, and to how many.
MANY_COLUMNS, FEW_COLUMNS = 100, 32
# Records that a file keeps the answers of another model on.
N_PROBES = 16
# Training records whose labels another model is asked for, in the search for a change.
MOST_ASKED = 4096
# Held-out records of a region with the same label, from which on they alone show how often the model is right there.
ENOUGH_HELD_OUT = 10
