"""
Fits on Dask beside fits in memory
==================================

Does a classifier change when its records come in chunks? :meth:`~sepc.SEPClassifier.fit` takes Dask arrays and data
frames as they are: chunks stay where they are, and only sums and a core of at most 20,000 records travel. This page
fits the same records from a NumPy array and from a Dask array and compares blocks, labels and trust; it also shows what
that costs.
"""

# %%
# The same records, in one piece and in chunks
# --------------------------------------------
# Two classes that overlap, in four features. The scheduler ``synchronous`` runs all tasks in this process; with a
# cluster the same call goes to its workers.

import time
from textwrap import fill

import dask
import dask.array as da
import numpy as np
import pandas as pd

import sepc

N_CHUNKS = 8


def records(n, rng):
    """Return n records of two classes."""
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 4)) + np.outer(y, [2.5, 1.25, 0.0, 0.0]), np.where(y, "b", "a")


def timed_fit(X, y):
    """Return a fitted classifier, and how many seconds it took."""
    start = time.perf_counter()
    clf = sepc.SEPClassifier(n_imp=0.05).fit(X, y)
    return clf, time.perf_counter() - start


rng = np.random.default_rng(0)
X_new, _ = records(2000, rng)
rows = []
with dask.config.set(scheduler="synchronous"):
    for n in (1000, 5000, 25000):
        X, y = records(n, rng)
        chunk = n // N_CHUNKS
        local, seconds = timed_fit(X, y)
        spread, dask_seconds = timed_fit(da.from_array(X, chunks=(chunk, 4)), da.from_array(y, chunks=chunk))
        blocks = zip(local.partitions_[0].blocks, spread.partitions_[0].blocks, strict=True)
        row = {
            "records": n,
            "ellipsoids": len(local.regions()),
            "same members": all(set(a.members.tolist()) == set(b.members.tolist()) for a, b in blocks),
            "same label": np.mean(local.predict(X_new) == spread.predict(X_new)),
            "largest difference of trust": np.abs(local.trust_score(X_new) - spread.trust_score(X_new)).max(),
            "NumPy, s": seconds,
            "Dask, s": dask_seconds,
        }
        rows.append(row)

# %%
# Answers to a Dask array are lazy: nothing is computed before someone asks.

answer = spread.predict(da.from_array(X_new, chunks=(500, 4)))
print(answer)
print(answer.compute(scheduler="synchronous")[:8])

# %%
# What a model without training records cannot do
# -----------------------------------------------
# A model that was fitted on Dask has no training records: it judges, counts and explains, but some questions need
# them.

try:
    print(spread.landscape_)
except sepc.SepcError as error:
    print(fill(str(error), 100))

# %%
# The comparison
# --------------

pd.DataFrame(rows).set_index("records").round(3)

# %%
# Blocks, labels and trust are the same, but for rounding. Of the 25,000 records of the last line both ways partition
# the same core of 20,000, which a hash of the values chooses; all records then take part in a few passes, chunk by
# chunk. In one process Dask brings little but overhead; it pays where the records do not fit into one memory. The first
# line also contains the time to load compiled code.
