"""
Models in files without pickle
==============================

What is in a saved model, and what happens if someone tampers with it? :func:`~sepc.save` writes one file of arrays and
JSON, and :func:`~sepc.load` runs nothing that is in it. This page opens such a file, leaves the training records out,
and damages a copy. For those who pass models on, or receive them.
"""

# %%
# One file, the same verdicts
# ---------------------------

import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import sepc

data = load_breast_cancer(as_frame=True)
labels = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, labels, random_state=0, stratify=labels)
clf = sepc.SEPClassifier().fit(X, y)

folder = tempfile.TemporaryDirectory()
full, lean = Path(folder.name) / "full.sepc", Path(folder.name) / "lean.sepc"
sepc.save(clf, full)
sepc.save(clf, lean, training_rows=False)

# %%
# What is in it
# -------------
# A zip archive of NumPy arrays, a manifest in JSON and a check sum of every entry. Other programs can read it.

with zipfile.ZipFile(full) as archive:
    content = json.loads(archive.read("manifest.json"))["content"]
    entries = [(entry.filename, entry.file_size) for entry in archive.infolist()]
print({name: content[name] for name in ("kind", "parameters", "classes", "training_rows")})
print(content["versions"])
pd.DataFrame(entries, columns=["entry", "bytes"]).sort_values("bytes", ascending=False).head(6)

# %%
# A damaged file is refused
# -------------------------
# One bit in the middle of the file is flipped, as a bad disk or a bad wish might do.

damaged = bytearray(full.read_bytes())
damaged[len(damaged) // 2] ^= 1
(Path(folder.name) / "damaged.sepc").write_bytes(damaged)
try:
    sepc.load(Path(folder.name) / "damaged.sepc")
except sepc.ModelFileError as error:
    print(str(error).replace(folder.name, "..."))

# %%
# With and without the training records
# -------------------------------------

a, rows = clf.assess(X_new), {}
for name, path in (("with training records", full), ("without", lean)):
    model = sepc.load(path)
    b = model.assess(X_new)
    rows[name] = {
        "kB": round(path.stat().st_size / 1000),
        "same labels": np.array_equal(a.label, b.label),
        "same trust, to the bit": np.array_equal(a.trust, b.trust),
        "same counts": np.array_equal(a.counts, b.counts),
        "explanations name neighbours": bool(model.explain(X_new.iloc[0]).neighbours),
    }
folder.cleanup()
pd.DataFrame(rows).transpose()

# %%
# Both files give the same verdicts; without the training records some answers say that they need them. What the check
# sums do not show: they tell that a file is as it was written, not who wrote it. And some of the data stays in any
# file, such as single records that lie in no ellipsoid: the page on the model format lists what.
