"""
Trust around a model elsewhere, by files alone
==============================================

A score card runs in another language, or behind a wall: all you have is a file with its answers. When should you
believe it? ``sepc fit --scores`` goes around such a model by the columns that it has written; ``sepc predict`` reads
the same columns from new files. No code of the other model is needed, and none of yours: this page types what you
would type into a terminal. The loans are made by :func:`sepc.datasets.make_credit`.
"""

# %%
# What the other model has written
# --------------------------------
# Here it is a logistic regression on five columns, fitted to loans that are in neither file. It could be anything: each
# file has the columns of the loans, and its probability of a default.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc.cli import main
from sepc.plot import ReliabilityDisplay

loans, ending = sepc.datasets.make_credit(2400)
known = loans[["income", "amount", "months", "savings", "years_in_job"]].fillna(0.0)
card = make_pipeline(StandardScaler(), LogisticRegression(C=100.0)).fit(known[:600], ending[:600])
loans["p_default"] = card.predict_proba(known)[:, list(card.classes_).index("default")].round(4)

folder = tempfile.TemporaryDirectory()
held_out, new, out = (Path(folder.name) / name for name in ("held_out.csv", "new.csv", "out.csv"))
loans[600:1600].assign(ending=ending[600:1600]).to_csv(held_out, index=False)
loans[1600:].to_csv(new, index=False)


def sepc_command(text):
    """Type a command into a terminal."""
    print(f"$ sepc {text}")
    main([word.replace("FOLDER", folder.name) for word in text.split()])


# %%
# Fit to held-out records
# -----------------------
# The rows must be some that the other model has not learnt from. A third of them is kept to test with.

sepc_command("fit FOLDER/held_out.csv --target ending --scores default=p_default --holdout 0.3 -o FOLDER/model.sepc")

# %%
# Predict
# -------

sepc_command("predict FOLDER/model.sepc FOLDER/new.csv --min-trust 0.9 -o FOLDER/out.csv")
verdicts = pd.read_csv(out)
verdicts.head(5)

# %%
# Was it right to accept?
# -----------------------

truth = ending[1600:]
right, accepted = verdicts["label"].to_numpy() == truth, verdicts["accepted"].to_numpy(dtype=bool)
print(f"all loans: right on {right.mean():.1%}; the {accepted.sum()} accepted ones: {right[accepted].mean():.1%}")

# %%
# The probability of the score card, and the trust
# ------------------------------------------------

own = loans["p_default"][1600:].to_numpy()
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained")
both = {"score card": np.maximum(own, 1.0 - own), "trust": verdicts["trust"]}
for ax, (name, by) in zip(axes, both.items(), strict=True):
    ReliabilityDisplay.from_predictions(truth, verdicts["label"], by, ax=ax, name=name)
plt.show()
folder.cleanup()
