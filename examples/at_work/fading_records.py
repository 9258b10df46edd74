"""
Old records that fade
=====================

What told two classes apart last year may not do so today. To forget all old records leaves few to learn from; to keep
them all means to learn what no longer holds. ``sample_weight`` lets them fade: a record of half the weight counts half.
This page lets records fade faster and faster, and looks at how often labels of today's records are right.
"""

# %%
# A border that turns
# -------------------
# Two classes on either side of a line. Over a year the line turns by a right angle. 600 records have come in by now,
# each with its day; 2,000 others from the last day say how well it goes.

import matplotlib.pyplot as plt
import numpy as np

from sepc import SEPClassifier

rng = np.random.default_rng(0)


def records(day):
    """Return one record for each day, with a label that depends on the day."""
    X = rng.normal(size=(len(day), 2))
    angle = np.pi / 2 * day / 365
    side = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.3 * rng.normal(size=len(day))
    return X, np.where(side > 0, "buys", "leaves")


day = rng.uniform(0, 365, 600)
X, y = records(day)
X_today, y_today = records(np.full(2000, 365.0))

# %%
# Weights by age
# --------------
# With a half-life of 30 days a record of 60 days ago counts a quarter. Of fractions as many records take part as the
# weights say, spread over their values.

half_lives = [15, 30, 60, 120, 240, np.inf]
fitted = {half: SEPClassifier(n_imp=0.05).fit(X, y, sample_weight=0.5 ** ((365 - day) / half)) for half in half_lives}
right = [clf.score(X_today, y_today) for clf in fitted.values()]
for half, clf, share in zip(half_lives, fitted.values(), right, strict=True):
    print(f"half-life {half:>5} days: {clf.class_count_.sum():>3} records count, {share:.1%} right today")

# %%
# In a picture
# ------------
# Left: how often labels are right. Right: today's border by a year of records that all count alike, and by records that
# fade with a half-life of 30 days; dots are the records, the older the fainter.

figure, (left, right_axis) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
places = np.arange(len(half_lives))
left.plot(places, right, "o-", color="#0072B2")
left.set_xticks(places, [*map(str, half_lives[:-1]), "none fades"])
left.set(xlabel="half-life of a record, days", ylabel="right, of today's labels")
side = np.linspace(-3, 3, 120)
grid = np.stack(np.meshgrid(side, side), axis=-1)
for half, style in ((30, "-"), (np.inf, "--")):
    buys = fitted[half].predict_proba(grid.reshape(-1, 2))[:, 0].reshape(120, 120)
    right_axis.contour(side, side, buys, levels=[0.5], colors="k", linestyles=style)
    right_axis.plot([], [], style, color="k", label="none fades" if half == np.inf else "half-life of 30 days")
for label, colour in (("buys", "#0072B2"), ("leaves", "#D55E00")):
    mine = y == label
    right_axis.scatter(*X[mine].T, c=colour, s=8, alpha=np.clip(day[mine] / 365, 0.05, 1.0), label=label)
right_axis.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
right_axis.legend(fontsize="x-small", loc="lower left")
plt.show()

# %%
# Records that do not fade tell of a border that is gone. Those that fade fast leave few to learn from: with a half-life
# of 15 days 41 count, half as many as with 30, and it gets hardly better. Where it is best depends on how fast things
# change: try it on the newest records, which no fit has seen.
