"""Constants of the search for counterfactuals that were set by experiment.

Each trades the length of a change against the time of a search; `bench/changes.py` measures both.
"""

import numpy as np

# Defaults of `explain`: the least typicality of a changed record, and the most columns of an actionable change.
MIN_TYPICALITY, MAX_COLUMNS = 0.1, 3

# Training records of other labels at which a search starts, and numbers of them to look at until enough will do.
STARTS = 8
LOOKED_AT = (32, 256, 4096)
# Points tried at once on each line back to the explained record.
LINES_AT_ONCE = (8, 8)
# Starts that are refined, rounds, and the step of finite differences, as a length.
REFINED, ROUNDS, STEP = 2, 4, 0.1
# Linear conditions that are kept of earlier rounds.
KEPT_CUTS = 4
# Steps that are tried towards the shortest change that linear conditions allow: shares of the way there, and how much
# further into what will do, as a share of the way's length.
SHARES_OF_STEP, INWARD = (of.ravel() for of in np.meshgrid([0.25, 0.6, 1.0], [0.0, 0.05, 0.15, 0.4]))

# Sets of columns: of each size those that the next size begins with, those that are tried, and those that are refined.
SETS_COMPARED, SETS_TRIED, SETS_REFINED = 30, 20, 6
# Lengths that are tried, in times of the best change of all columns.
TIMES_BEST = (1.0, 1.5, 2.2, 3.2)
# Changes of columns are taken back while the change gets shorter by this share.
WORTHWHILE = 0.01
# Parts of the change of one column that are kept, where odds go in steps.
TIGHTENED = 8

# Where there are no slopes: lines to training records on which the search goes, fewer where another model is asked, and
# how many points it tries about the best way, how far from it as shares of its length.
MOST_LINES, LINES_ASKED, POINTS_ABOUT, SPREADS = 256, 32, 256, (0.5, 0.3, 0.2, 0.1, 0.05)
