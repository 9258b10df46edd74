"""
Records judged from a file, piece by piece
==========================================

How much memory does it take to judge a file of records? An array that is mapped from a file by ``np.load(path,
mmap_mode="r")`` can go into every method, and no verdict depends on the other rows of its batch. So a file can be
judged in pieces, with the same answers and with memory that does not grow. This page measures it.
"""

# %%
# Three ways to judge a file
# --------------------------
# Loaded as a whole, mapped and passed as a whole, and mapped and passed in pieces, with the answers written to a
# second file. ``tracemalloc`` sees what NumPy allocates; pages of a mapped file do not count, the system takes them
# back.

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sepc

PIECE = 10_000


def records(n, rng):
    """Return n records of two classes."""
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 6)) + np.outer(y, [2.5, 1.0, 0.0, 0.0, 0.0, 0.0]), y


def in_pieces(path):
    """Return the trust in the label of each record as an array in a file, worked through piece by piece."""
    X = np.load(path, mmap_mode="r")
    trust = np.lib.format.open_memmap(path.with_name("trust.npy"), mode="w+", dtype=float, shape=(len(X),))
    for start in range(0, len(X), PIECE):
        trust[start : start + PIECE] = clf.trust_score(X[start : start + PIECE])
    return trust


rng = np.random.default_rng(0)
X_train, y_train = records(1500, rng)
clf = sepc.SEPClassifier(n_imp=0.05).fit(X_train, y_train)
ways = {
    "loaded": lambda path: clf.trust_score(np.load(path)),
    "mapped, one call": lambda path: clf.trust_score(np.load(path, mmap_mode="r")),
    "mapped, in pieces": in_pieces,
}
sizes, peaks, same = (20_000, 60_000, 120_000), {name: [] for name in ways}, True
with tempfile.TemporaryDirectory() as folder:
    for n in sizes:
        path = Path(folder) / "records.npy"
        np.save(path, records(n, rng)[0])
        answers = []
        for name, way in ways.items():
            tracemalloc.start()
            answer = way(path)
            peaks[name].append(tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
            answers.append(np.array(answer))
        same = same and all(np.array_equal(answers[0], other) for other in answers[1:])
print(f"The same trust, to the bit, in all three ways: {same}")

# %%
# Fitting from a file
# -------------------
# :meth:`~sepc.SEPClassifier.fit` takes mapped arrays, too. A file of 256 MB and more stays on disk and is read in
# chunks; a smaller one, as here, is read into memory, which is faster.

with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder) / "train.npy", X_train)
    again = sepc.SEPClassifier(n_imp=0.05).fit(np.load(Path(folder) / "train.npy", mmap_mode="r"), y_train)
X_new, _ = records(2000, rng)
print(f"The same trust after a fit from a file: {np.array_equal(clf.trust_score(X_new), again.trust_score(X_new))}")

# %%
# Peak of memory over the number of records
# -----------------------------------------

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for (name, peak), colour, line in zip(peaks.items(), ("#D55E00", "#009E73", "#0072B2"), ("--", "-.", "-"), strict=True):
    ax.plot(sizes, peak, color=colour, ls=line, marker="o", ms=4, label=name)
ax.plot(sizes, [48e-6 * n for n in sizes], color="0.4", ls=":", label="size of the file")
ax.set(xlabel="records in the file", ylabel="peak of memory, MB", ylim=(0, None))
ax.legend()
plt.show()

# %%
# In pieces the peak stays flat. One call with a mapped array saves the copy of the file, but not the room for the work
# on all records at once: it grows with the file, to more than the file itself. So cut large files into pieces, or pass
# them as Dask arrays, or use the command ``sepc predict``, which works in pieces by itself.
