"""Constants of ensembles that were chosen by experiment, on the sets `CHOOSING` of ``bench/sets.py``."""

# Sizes of the feature subsets by turns: all of them, about half, few. Few features leave more points for each
# dimension; all of them show what only many features together do. The time of an ellipsoid grows with the sixth power
# of their number.
ALL_AT_MOST = 40
HALF_AT_MOST = 8
FEW_FEATURES = 4
# Chance of a column without relevance, as a share of that of the most relevant one: relevance alone misses what only
# two columns together show.
RELEVANCE_FLOOR = 0.2
# The last of this number of members sees steps; the others see the values and their scores by turns. With one in three
# the rank on these sets is no better.
ROUND = 5
# Of 8 and 16 ranges, and of at least 5 and 10 points in each, these ranked best; ranges with the same number of points
# in each did worse.
MOST_RANGES = 8
LEAST_POINTS_IN_RANGE = 10
# Number of points by which the shares of the classes weigh in those of a range.
RANGE_PRIOR = 3.0
# Most points of a partition: its time grows faster than their number, and beyond this further members help more.
MOST_POINTS = 6000
# Penalties of the stack: on the differences of the weights, and on the leanings. From a tenth of the first to five
# times as much the results hardly change.
WEIGHT_PENALTY = 0.02
LEANING_PENALTY = 0.01
# Penalty on the squared difference of the sum of the weights from 1, as for this number of points. Without it the
# weights of members that are right on all points would grow without end, and with them the certainty.
SUM_PENALTY = 1.0
# Parts of the records that weights of the others judge, before the error of the labels is learnt.
CROSS_FITS = 5
# Records right and records wrong that are known of an ensemble before it has seen any. Of 1, 1.5 and 2 (planted sets of
# 8 to 60 records) 1 leaves 6 % of the labels with a trust of 0.95 wrong from 30 records, 1.5 leaves 4 %.
RECORDS_BEFOREHAND = 1.5
# The least error of a label with m records is (m + 2) to minus this. With 1 the log loss is higher by 1 % where there
# are many small classes; with 2, eight records of a class would do for a trust of 0.99.
FEW_OF_CLASS = 1.5
# Number of records by which a learnt error is drawn to 0: from a few records it is learnt badly. Of 0 to 10: without it
# labels from 8 and 16 records are less often right, by 2 %; with 10, one label of ten wrong is not always noticed.
EXPLAINED = 2.0
# Scale of the strangeness score: the median of the held-out records is this much above the strange ones. The density of
# the background component is a fixed number below these, so the scale sets where that component takes over.
STRANGE_TO_MEDIAN = 8.0
# Penalty on the score of a value beyond the training records, times log(1 + distance in standard deviations). Of 0 to 3
# (bench/novelty.py): from 2 on hardly any record with one column in another unit is accepted; more calls more ordinary
# records strange.
BEYOND_PENALTY = 2.0
