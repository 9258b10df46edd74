"""Tuned constants of fits; the data sets that such constants are chosen on are `CHOOSING` of ``bench/sets.py``."""

# Rows of a chunk of records in memory.
CHUNK = 1 << 14

# Records in a core, and numbers in it: an ellipsoid of many features takes longer. A partition of 20,000 overlapping
# records takes 1 s with 10 features and 5 s with 30, and a fit makes four.
CORE_RECORDS = 20_000
CORE_NUMBERS = 600_000
LEAST_CORE = 5_000

# Weight of the tails of a column from which other scales of it are tried: between that of an exponential distribution,
# 5.6, and that of t with two degrees of freedom, 8.5. With 5 more sets pay for the trial and keep what they have.
HEAVY_TAILS = 6.5
# Different values of a column that is more than a few values.
LEAST_VALUES = 20
# Records that the scales are chosen by.
CHOOSING_RECORDS = 2000

# Up to this share of different records equal ones may be no copies: a table of a few values has them by its nature.
# Then this share of them has an equal with another label, which no copy has, or no feature has more values than this
# number times the root of the number of different records: these are combinations of a few values.
FEW_DISTINCT = 0.2
CONTRADICTED = 0.5
VALUES_PER_ROOT = 2.0

# Numbers of EM iterations that are tried, one after the other, as long as the log loss falls.
EM_STEPS = (2, 6, 18)
# EM iterations over all records, where the partition is made of a core.
PASSES = 3
# Standard errors by which a level of merging is too far behind to be tried with other degrees of freedom.
FAR_BEHIND = 3.0
# Records that the calibration of a large training set is learnt from, or a few more: its parameters are few.
CALIBRATING = 30_000

# The penalty on the squared log temperature, and the number of records by which the logit of the background's share is
# drawn away from 0. From 0.3 to 1 the log loss hardly changes.
TEMPERATURE_PENALTY = 1.0
UNEXPLAINED = 0.5
# The penalty on squared corrections: as much as a dozen records at even odds. From 1 to 10 the log loss hardly changes;
# with more, less is gained where there is much to correct.
CORRECTION_PENALTY = 3.0
# Up to this number of records the log temperature is at least -1; many records may show that densities are far from
# sure enough, a few cannot.
FEW_RECORDS = 1000.0
