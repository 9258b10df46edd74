"""Constants of the search for counterfactuals that were set by experiment.

Each trades the length of a change against the time of a search, which `bench/cli.py --reports` measures. The ranges
that were tried were not recorded.
"""

import numpy as np

# Refinement: shares of the turn towards the normal of the surface, and factors on the length tried there,
TURNS_TRIED = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
WAYS_TRIED = np.array([0.6, 0.8, 0.9, 0.96, 0.985, 0.997])
# or factors on the distance to the tangent plane of the surface, where there is one.
WAYS_TO_PLANE = np.array([0.93, 0.985, 1.0, 1.01, 1.04, 1.12])
# A direction is given up if its length falls by less than this share,
WORTHWHILE = 0.004
# or is longer than the shortest by this factor after two turns.
HOPELESS = 1.2

# Shares of the way to the best record at which the label is evaluated to shorten the change,
SHARES_OF_WAY = np.concatenate([np.linspace(0.0, 0.95, 20), 1.0 - np.geomspace(1e-6, 0.04, 24)])
# and slightly beyond it, to confirm the label.
FURTHER = np.concatenate([[1.0], 1.0 + np.geomspace(1e-9, 0.1, 9)])

# Numbers tried in one column, as shares of the way to the ends of its range, and shares of a change to take back.
SHARES_OF_RANGE = (0.1, 0.25, 0.5, 1.0)
SHARES_TAKEN_BACK = (0.03, 0.1, 0.25, 0.5)

# Numbers of lines to the nearest training records of other labels: at first, at most, and to records of any label where
# counts or normal scores make small islands of other labels.
N_RECORDS, MOST_RECORDS, MOST_LINES = 100, 5000, 256
