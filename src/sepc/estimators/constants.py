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
# Standard errors by which covariances in the size of each component must be better. On ten choosing sets, three seeds,
# the log loss is .3967 with 0, .3950 with 0.5, .3956 with 1, and .3964 without them.
OWN_SIZE_GAIN = 0.5
# Records that the calibration of a large training set is learnt from, or a few more: its parameters are few.
CALIBRATING = 30_000

# The penalty on the squared log temperature, and the number of records by which the logit of the background's share is
# drawn away from 0. From 0.3 to 1 the log loss hardly changes.
TEMPERATURE_PENALTY = 1.0
UNEXPLAINED = 0.5
# Records right and records wrong that are known of the labels beforehand, and the number of records from which the
# least error falls as their square. Planted sets of 8 to 100 records, as in bench/hard.py with other draws: with 1.5
# beforehand 91 % of the labels above .95 are right for 30 records, with 2 none are given; without a bound 75 % are
# right for 8 and 16 records.
BEFOREHAND, ENOUGH = 2.0, 30.0
# The penalty on squared corrections: as much as a dozen records at even odds. From 1 to 10 the log loss hardly changes;
# with more, less is gained where there is much to correct.
CORRECTION_PENALTY = 3.0
# Penalties on the squared slopes of linear terms, the standard errors by which these must lower the loss, and the
# number of standard deviations beyond which a feature has no larger term. On the choosing sets (bench/trust.py, 600
# rows) with 8, 32, 128 and 512, or with no or one standard error, the mean log loss is the same within .002; records
# with 300 columns (bench/hard.py) lose with the first, .554 -> .627, and with 16 alone, .741. A limit of 2 or 4 makes
# no difference; without one the log loss is .002 higher.
LINEAR_PENALTIES = (16.0, 64.0, 256.0)
LEAST_GAIN = 0.5
REACH = 3.0
# Records of a place at least: fewer would tell where single ones are.
LEAST_IN_PLACE = 5
# Expected number of places that are found where there is nothing to find. Most places with and without extent, most
# misjudged records that places are looked for around, and their neighbours that are looked at.
LEVEL = 0.05
MOST_PLACES, MOST_COPIES, MOST_CENTERS, MOST_NEIGHBOURS = 50, 200, 1000, 64
# Up to this number of records the log temperature is at least -1; many records may show that densities are far from
# sure enough, a few cannot.
FEW_RECORDS = 1000.0

# Typicality by relations between columns, chosen on ten sets of `CHOOSING` and on planted ones of 24 to 160 records:
# the share of strange ones among records three times as far away, with one value off by 8 deviations, or with a value
# of another record in a column that others predict, and among unchanged ones.
# Variance that is added to each column's, as a share of it. From 1e-8 to 1e-4 nothing changes.
RELATION_RIDGE = 1e-6
# Records that a covariance of independent columns may weigh as much as, times the root of the number of columns.
SHRINKAGES = tuple(10.0 ** (0.5 * k) for k in range(-2, 9))
# Share of departures to one side beyond a column's limit, and of records beyond that of a score; of few records so
# many. Of 0.01, 0.02, 0.04 and of 1, 3, 6: with less beyond, more of both changed and unchanged records are strange.
SHARE_BEYOND, WORST = 0.01, 0.02
RECORDS_BEYOND = 3.0
# Least and largest power of departures beyond the limit, for heavy tails and light ones. Of 0.1 to 0.4 and 1 to 4: with
# 1 for the largest, records three times as far away are found less often.
LEAST_POWER, MOST_POWER = 0.2, 2.0
# Least number of complete records, each with others of its class. With 24 one in ten unchanged records was strange.
LEAST_JUDGED = 50
