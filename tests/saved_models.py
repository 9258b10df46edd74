"""Saved models in tests: files that are kept, and comparisons of a classifier with its saved copy."""

import hashlib
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from sklearn.datasets import load_iris

import sepc

FIXTURES = Path(__file__).parent / "persist" / "fixtures"
# By the name of the file, which begins with the format version.
EXPECTED = {
    f"v{version}-{name}": expected
    for version in (1,)
    for name, expected in json.loads((FIXTURES / f"v{version}-expected.json").read_text()).items()
}
TRUST_METHODS = ("local", "counts", "bound", "paper")
KINDS = [*TRUST_METHODS, "three classes", "ensemble", "ensemble of three classes"]


def iris(kind="numpy"):
    data = load_iris(as_frame=True)
    X = data.data.to_numpy() if kind == "numpy" else data.data
    return pl.from_pandas(X) if kind == "polars" else X, data.target_names[data.target]


def stored(clf, tmp_path, **options):
    sepc.save(clf, tmp_path / "model.sepc", **options)
    return sepc.load(tmp_path / "model.sepc")


def told(clf, X):
    """Return all that a classifier says of some records, without what needs the training records."""
    a, sets = clf.assess(X), clf.predict_set(X)
    out = {name: getattr(a, name) for name in ("label", "trust", "rule", "reason", "region", "counts", "distance")}
    out |= {"local_overlap": a.local_overlap, "frame": a.to_frame().to_numpy(), "regions": clf.regions().to_numpy()}
    out |= {"predict": clf.predict(X), "proba": clf.predict_proba(X), "score": clf.trust_score(X)}
    out |= {"sets": sets.sets, "thresholds": sets.thresholds}
    if hasattr(clf, "sample"):
        out |= {"sample": clf.sample(20, random_state=3)[0], "query": clf.query(X, 5)}
    return out


def assert_same(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].dtype == two[name].dtype, name
        assert one[name].shape == two[name].shape, name
        assert pickle.dumps(one[name].tolist()) == pickle.dumps(two[name].tolist()), name


def manifest(content):
    return json.loads(zipfile.ZipFile(io.BytesIO(content)).read("manifest.json"))


def asked_of(name):
    X = EXPECTED[name]["X"]
    return pd.DataFrame(X) if isinstance(X, dict) else np.array(X)


def fixture_path(name):
    return FIXTURES / f"{name}.sepc"


def rewrite(path, source, entries, compression=zipfile.ZIP_STORED):
    """Write a copy of a model with other entries, and digests that fit."""
    with zipfile.ZipFile(source) as archive:
        content = {name: archive.read(name) for name in archive.namelist()} | entries
    if "manifest.json" not in entries:
        told = json.loads(content["manifest.json"])
        told["entries"] = {name: hashlib.sha256(content[name]).hexdigest() for name in told["entries"]}
        content["manifest.json"] = json.dumps(told).encode()
    content["manifest.sha256"] = hashlib.sha256(content["manifest.json"]).hexdigest().encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
