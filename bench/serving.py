"""A scorer under load: single records, batches of 1,000, broken requests, its memory; and the speed of ONNX graphs.

Prints Markdown tables. The server is a process of its own, the clients are coroutines of this one, on the same machine.
``--seconds`` is how long each load lasts, ``--broken`` the number of broken requests, ``--minutes`` how long memory is
watched, ``--records`` the number of records that graphs are timed on; 0 leaves a part out.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import tempfile
import time
from functools import partial
from pathlib import Path

import graphs
import numpy as np
import pandas as pd
from measure import recording, row, table, versions
from serving_clients import Fuzz, Server, broken, load, request
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier, SEPEnsembleClassifier, save

CLIENTS = 32
BATCH = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of each load (default: 10)")
    parser.add_argument("--broken", type=int, default=10_000, help="broken requests (default: 10,000)")
    parser.add_argument("--minutes", type=float, default=1.0, help="minutes that memory is watched (default: 1)")
    parser.add_argument("--records", type=int, default=200_000, help="records for ONNX graphs (default: 200,000)")
    options = parser.parse_args()
    print(versions("sepc", "starlette", "uvicorn", "pyarrow", "onnxruntime", "numpy"))
    with tempfile.TemporaryDirectory() as folder:
        models = saved(Path(folder))
        if options.seconds:
            single(models, options.seconds)
            batches(models, options.seconds)
        if options.broken:
            fuzz(models["default"], options.broken)
        if options.minutes:
            memory(models["default"], options.minutes)
    if options.records:
        graphs.speed(options.records)


def wdbc() -> tuple[pd.DataFrame, np.ndarray]:
    data = load_breast_cancer(as_frame=True)
    return data.data, data.target_names[data.target]


def saved(place: Path) -> dict[str, Path]:
    """Return files of the models that are served, by their names."""
    models = {"default": SEPClassifier(), "ensemble": SEPEnsembleClassifier(random_state=0)}
    paths = {}
    for name, clf in models.items():
        paths[name] = place / name / "model.sepc"
        paths[name].parent.mkdir()
        save(clf.fit(*wdbc()), paths[name])
    return paths


def records(n: int) -> pd.DataFrame:
    """Return n records that are drawn from those of WDBC, each a little changed."""
    X, _ = wdbc()
    rng = np.random.default_rng(0)
    drawn = X.iloc[rng.integers(0, len(X), n)].to_numpy() * rng.normal(1.0, 0.02, (n, X.shape[1]))
    return pd.DataFrame(drawn, columns=X.columns).round(5)


def single(models: dict[str, Path], seconds: float) -> None:
    """Print how many single records are judged in a second."""
    rows = [json.dumps([one]).encode() for one in records(500).to_dict("records")]
    print(f"### Single records, by {CLIENTS} clients\n")
    table(
        "single",
        "model",
        "outputs",
        "predictions a second",
        "median, ms",
        "95 % within, ms",
        "slowest, ms",
        "server's CPU, %",
    )
    for name, model in models.items():
        server = Server(model)
        for outputs, path in (("usual", "/predict"), ("all", "/predict?outputs=all")):
            sent = [request(path, body) for body in rows]
            load(server.port, sent, CLIENTS, 1.0)
            before, start = server.cpu_seconds(), time.perf_counter()
            spent = load(server.port, sent, CLIENTS, seconds)
            took = time.perf_counter() - start
            share = f"{100 * (server.cpu_seconds() - before) / took:.0f}"
            middle, most, slowest = (f"{1e3 * q:.1f}" for q in np.quantile(spent, [0.5, 0.95, 1.0]))
            row(name, outputs, f"{len(spent) / took:,.0f}", middle, most, slowest, share)
        assert server.end() == 0


def batches(models: dict[str, Path], seconds: float) -> None:
    """Print how many rows are judged in a second, in batches."""
    forms = {"CSV": as_csv, "KServe, bytes": as_bytes, "KServe, JSON": as_tensor, "JSON records": as_records}
    forms["CSV, all outputs"] = partial(as_csv, asked="?outputs=all")
    print(f"\n### Batches of {BATCH:,} rows, by 4 clients\n")
    table("batches", "model", "form", "rows a second", "median, ms", "95 % within, ms")
    for name, model in models.items():
        server = Server(model)
        for form, write in forms.items():
            sent = [write(part) for _, part in records(8 * BATCH).groupby(np.arange(8 * BATCH) // BATCH)]
            load(server.port, sent, 4, 1.0)
            start = time.perf_counter()
            spent = load(server.port, sent, 4, seconds)
            rate = BATCH * len(spent) / (time.perf_counter() - start)
            middle, most = 1e3 * np.quantile(spent, [0.5, 0.95])
            row(name, form, f"{rate:,.0f}", f"{middle:.0f}", f"{most:.0f}")
        assert server.end() == 0


def as_csv(X: pd.DataFrame, asked: str = "") -> bytes:
    return request(f"/predict{asked}", X.to_csv(index=False).encode(), "text/csv")


def as_records(X: pd.DataFrame) -> bytes:
    return request("/predict", json.dumps({"records": X.to_dict("records")}).encode())


def as_tensor(X: pd.DataFrame) -> bytes:
    tensor = {"name": "x", "shape": list(X.shape), "datatype": "FP64", "data": X.to_numpy().ravel().tolist()}
    return request("/v2/models/model/infer", json.dumps({"inputs": [tensor]}).encode())


def as_bytes(X: pd.DataFrame) -> bytes:
    values = X.to_numpy().tobytes()
    tensor = {"name": "x", "shape": list(X.shape), "datatype": "FP64", "parameters": {"binary_data_size": len(values)}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    length = {"inference_header_content_length": str(len(head))}
    return request("/v2/models/model/infer", head + values, "application/octet-stream", **length)


def fuzz(model: Path, n: int) -> None:
    """Print the answers to broken requests."""
    X = records(1)
    server = Server(model, "--timeout", "5")
    requests = iter(Fuzz(list(X.columns), X.to_dict("records")[0]))
    broken(server.port, requests, min(n, 2000))
    before = server.megabytes()
    counts, bad = broken(server.port, requests, n)
    growth = server.megabytes() - before
    print(f"\n### {n:,} broken requests\n")
    table("fuzz", "what", "number")
    for status, number in sorted(counts.items()):
        row(f"status {status}" if status.isdigit() else status, f"{number:,}")
    for status in {"500", "hung"}.difference(counts):
        row(f"status {status}" if status.isdigit() else status, "0")
    row("growth of the server, MB", f"{growth:.1f}")
    for one in bad[:5]:
        print(one[:600])
    assert server.end() == 0


def memory(model: Path, minutes: float) -> None:
    """Print the memory of a server under load of all kinds."""
    X = records(3 * BATCH)
    rows = [request("/predict", json.dumps([one]).encode()) for one in X[:50].to_dict("records")]
    sent = [*rows, as_csv(X[:BATCH]), as_bytes(X[BATCH : 2 * BATCH]), as_records(X[2 * BATCH :])]
    server = Server(model)
    load(server.port, sent, CLIENTS, 10.0)
    sizes = [server.megabytes()]
    n, start, spell = 0, time.perf_counter(), min(10.0, 15.0 * minutes)
    while time.perf_counter() < start + 60.0 * minutes:
        n += len(load(server.port, sent, CLIENTS, spell))
        sizes.append(server.megabytes())
    print(f"\n### {minutes:g} minutes of load\n")
    table("memory", "what", "measured")
    row("requests", f"{n:,}")
    row("memory after 10 seconds, MB", f"{sizes[0]:.0f}")
    row("memory at the end, MB", f"{sizes[-1]:.0f}")
    row("most, MB", f"{max(sizes):.0f}")
    assert server.end() == 0


if __name__ == "__main__":
    with recording():
        main()
