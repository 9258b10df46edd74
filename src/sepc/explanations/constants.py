"""Constants of the search for the smallest change that were set by experiment.

Each trades the length of the changes that are found against the time of a search, which `bench/cli.py --reports`
measures. The ranges that were tried were not recorded.
"""

import numpy as np

# Refinement: how far to turn towards the normal of the surface, and how much shorter the way is tried there,
TURNS_TRIED = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
WAYS_TRIED = np.array([0.6, 0.8, 0.9, 0.96, 0.985, 0.997])
# as a factor on the way to the plane that takes the place of the surface, where there is one.
WAYS_TO_PLANE = np.array([0.93, 0.985, 1.0, 1.01, 1.04, 1.12])
# A direction is not turned again if its way gets shorter by less than this share,
WORTHWHILE = 0.004
# or is still longer than the shortest by this factor after two turns.
HOPELESS = 1.2

# Shares of the way to the best record at which the label is looked at to tighten it,
SHARES_OF_WAY = np.concatenate([np.linspace(0.0, 0.95, 20), 1.0 - np.geomspace(1e-6, 0.04, 24)])
# and to confirm it by going a little further.
FURTHER = np.concatenate([[1.0], 1.0 + np.geomspace(1e-9, 0.1, 9)])

# Numbers to try in one column, as shares of the way to the ends of its range, and how far a change is taken back.
SHARES_OF_RANGE = (0.1, 0.25, 0.5, 1.0)
SHARES_TAKEN_BACK = (0.03, 0.1, 0.25, 0.5)

# Lines to the nearest training records of other labels; more if none of them is enough; and to records of any label
# where counts or normal scores make small islands of other labels.
N_RECORDS, MOST_RECORDS, MOST_LINES = 100, 5000, 256
