"""Constants of the models that were tuned by experiment.

Where a range is given, the mean log loss on the data sets of `bench/trust.py` that constants are chosen by decided.
"""

# Covariance of a component: the common one weighs as much as this many records, times the number of features plus one.
SHRINKAGE = 1.0
# Numbers that the common covariance counts as in the size of a component. With 4 the log loss on ten choosing sets,
# three seeds, is the same, and small groups (bench/hard.py, other draws) are found a little less often.
SIZE_WEIGHS = 12.0
# Variances, in units of the features, that are added to the common covariance, and to that of each component.
COMMON_RIDGE = 1e-2
RIDGE = 1e-4
# Degrees of freedom of the t distributions: the default, and others that held-out records may choose. With 4 and 16
# between them the log loss is the same.
DEGREES_OF_FREEDOM = 8.0
OTHER_DEGREES_OF_FREEDOM = (2.0, 32.0)
# Those of the densities by which records belong to components in EM iterations, almost normal. With 8 the log loss of
# planted densities is worse by 1 to 6 %.
DEGREES_OF_FREEDOM_IN_EM = 32.0
# Iterations of conditional means of missing values and moments that follow. Tried 0, 1, 2, 4: none is best on
# all sets; from 0 to 2 most gain.
CONDITIONAL_MEANS = 2
# Merge penalties, in terms of the Bayesian information criterion. Tried 0 to 1: nothing between them is better on most.
MERGE_PENALTIES = (0.0, 1.0)
# Mahalanobis distance up to which there is no gap between two components.
NO_GAP = 3.5
# Number of records that the shares of a class weigh among those of a component, and the shares of all among those of a
# class. Tried 1, 4, 16: none is best on all sets.
SHARES_WEIGH = 4.0
# Number of records added to each value of a category, and to an unseen one (pseudocount).
UNSEEN = 0.5
# A feature of a category that is beyond 0 or 1 by this much is one standard deviation away.
BEYOND = 0.1
# A label is contested if another one has at least this probability.
CONTESTED = 1.0 / 3.0
# The background's density lies below the one at which points become strange by this factor, as a logarithm. Of 0 to 6
# those of 3 and more gave the least log loss, all about the same; the largest takes least away from points that are not
# strange.
BELOW_STRANGE = 6.0
# The largest absolute correction of the log odds of a label.
MOST_CORRECTION = 10.0
# Number of records that probabilities count as against the held-out ones at a place, and where a place ends, in radii.
COUNTS_AGAINST = 2.0
FADES = 1.5
