"""
Where a model fails
===================

A boosting model with a good accuracy, and the one kind of records that it gets wrong.
:func:`~sepc.landscapes.error_landscape` finds it among held-out records, whatever the model, and says it as a rule.
"""

# %%
# A model that has never seen a machine
# -------------------------------------
# Readings of four machines. On the oldest one a sensor is mounted the other way round from some temperature on; the
# model was fitted to readings of the other three, so that nothing in training shows it.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from sepc.landscapes import error_landscape
from sepc.plot import ErrorLandscapeDisplay

rng = np.random.default_rng(0)
n = 6000
readings = pd.DataFrame(
    {
        "machine": pd.Categorical(rng.choice(["A", "B", "C", "old"], n, p=[0.4, 0.3, 0.25, 0.05])),
        "temperature": rng.normal(60.0, 12.0, n).round(1),
        "pressure": rng.normal(2.0, 0.4, n).round(2),
        "vibration": rng.normal(size=n).round(3),
    }
)
turned = (readings["machine"] == "old") & (readings["temperature"] > 55.0)
sign = np.where(turned, -1.0, 1.0)
noise = rng.normal(0.0, 0.1, n)
state = np.where(sign * readings["vibration"] + noise > 0.0, "worn", "fine")

train = np.arange(n) < 2500
known = train & (readings["machine"] != "old").to_numpy()
model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=60, random_state=0)
model.fit(readings[known], state[known])
X, y = readings[~train], state[~train]
print(f"right: {np.mean(model.predict(X) == y):.1%}")

# %%
# Regions with more errors than elsewhere
# ---------------------------------------
# One region is the old machine, with the temperature from which its sensor is turned. The others lie around the border
# of the two states, at a vibration of 0, where the readings are noisy and any model is wrong more often.

found = error_landscape(model, X, y)
print(found)

# %%
# The bars are error rates, the lines across them intervals that hold together, and the upright lines the error rates of
# all other records.

display = ErrorLandscapeDisplay.from_landscape(found)
display.figure_.set_size_inches(8.0, 1.2 + 0.8 * len(found.regions))
plt.show()

# %%
# With and without the regions
# ----------------------------
# The labels outside of the regions are right more often: what is left to a person is a small part of the records.

outside = found.region_of < 0
right = model.predict(X) == y
print(f"outside of the regions: {outside.mean():.1%} of the records, right on {right[outside].mean():.1%}")
print(f"in a region: {np.mean(~outside):.1%} of the records, right on {right[~outside].mean():.1%}")
