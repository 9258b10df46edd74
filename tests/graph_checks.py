"""ONNX graphs in tests: their answers, and how these differ from `assess`."""

import numpy as np
import onnxruntime
import pandas as pd

from sepc.serving import to_onnx
from sepc.serving.graphs.tables import columns_of
from sepc.tables.cells import as_category, as_kind, read_cells
from sepc.tables.columns import CATEGORY

NO_MORE_THAN = 1e-12


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def exported(clf, folder, **options):
    to_onnx(clf, folder / "model.onnx", **options)
    return session(folder / "model.onnx")


def cells_of(clf, table, dtype=np.float64):
    """Return what a graph takes of raw records."""
    if clf.table_encoder is None:
        return {"X": np.asarray(table, dtype=dtype)}
    raw = pd.DataFrame(table)
    return {c.name: _cells(c, raw[c.name], dtype)[:, None] for c in columns_of(clf.table_encoder)}


def _cells(column, raw, dtype):
    cells = read_cells(raw)
    if column.kind != CATEGORY:
        return as_kind(cells, column.kind, column.name).astype(dtype)
    cells = as_category(cells)
    return np.append(cells.texts, "").astype(object)[cells.codes]


def answers(graph, cells):
    return dict(zip([one.name for one in graph.get_outputs()], graph.run(None, cells), strict=True))


def differences(clf, table, found, min_trust=None):
    """Return how many labels, refusals and regions differ, and the largest difference of each number."""
    a = clf.assess(table)
    regions = a.region if a.main_region[0] is None else a.main_region
    refusals = np.array([why or "" for why in a.refusals(min_trust)], dtype=object)
    numbers = {"probabilities": clf.predict_proba(table), "trust": a.trust, "typicality": a.typicality}
    return {
        "label": int(np.count_nonzero(found["label"] != a.label)),
        "accepted": int(np.count_nonzero(found["accepted"] != a.accepted(min_trust))),
        "refusal": int(np.count_nonzero(found["refusal"] != refusals)),
        "region": int(np.count_nonzero(found["region"] != regions)),
        **{name: _largest(found[name], values) for name, values in numbers.items()},
    }


def _largest(found, expected):
    if not np.array_equal(np.isnan(found), np.isnan(expected)):
        return np.inf
    return float(np.nanmax(np.abs(found - expected), initial=0.0))


def hard_records(X, seed=0, gaps=True):
    """Return numbers far away from all others, absurd ones, and some with missing values, shape (n, d)."""
    rng = np.random.default_rng(seed)
    spread = np.nanstd(X, axis=0) + 1e-9
    far = X[rng.integers(0, len(X), 60)] + spread * rng.normal(size=(60, X.shape[1])) * np.exp(
        rng.uniform(0, 8, (60, 1))
    )
    absurd = X[rng.integers(0, len(X), 20)].copy()
    absurd[np.arange(20), rng.integers(0, X.shape[1], 20)] = rng.choice([1e150, -1e150, 1e30, -1e12, 1e-300], 20)
    found = [far, absurd]
    if gaps:
        whole = np.concatenate([X, *found])
        for share in (0.1, 0.5, 0.9):
            some = whole[rng.integers(0, len(whole), 60)].copy()
            some[rng.random(some.shape) < share] = np.nan
            found.append(some)
        found.append(np.full((1, X.shape[1]), np.nan))
    return np.concatenate(found)


def hard_rows(table, seed=0):
    """Return rows of a table with missing, unseen, padded and absurd cells."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(table).iloc[rng.integers(0, len(table), 120)].reset_index(drop=True)
    for name in rows.columns:
        if pd.api.types.is_numeric_dtype(rows[name]):
            values = rows[name].to_numpy(dtype=float).copy()
            values[rng.random(len(rows)) < 0.1] = np.nan
            values[rng.random(len(rows)) < 0.02] = 1e12
        else:
            values = rows[name].astype(object).to_numpy().copy()
            for share, change in (
                (0.1, lambda _: ""),
                (0.05, lambda _: "quite new"),
                (0.1, lambda text: f" {text}\t\u00a0"),
            ):
                for row in np.flatnonzero(rng.random(len(rows)) < share):
                    values[row] = change(values[row])
        rows[name] = values
    rows.iloc[-1] = np.nan
    return rows


def assert_same_answers(clf, table, folder, min_trust=None, **options):
    """Check that a graph answers as the classifier does; return its answers."""
    found = answers(exported(clf, folder, min_trust=min_trust, **options), cells_of(clf, table))
    apart = differences(clf, table, found, min_trust)
    assert [apart[name] for name in ("label", "accepted", "refusal", "region")] == [0, 0, 0, 0]
    assert max(apart["probabilities"], apart["trust"]) <= NO_MORE_THAN
    assert apart["typicality"] == 0.0
    return found
