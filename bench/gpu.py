"""Fits and assessments on a GPU: `python bench/gpu.py` on a machine with a CUDA device and PyTorch.

Prints Markdown tables: fits and assessments of rows on the device, beside them the same in NumPy on one core of the
machine's processor. Wall-clock seconds with the device synchronised, medians of repeats.
"""

import argparse
import os
from statistics import median
from time import perf_counter

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import torch
from measure import recording, row, table, versions
from sklearn import config_context

import sepc

DIM = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6, help="of the training set")
    parser.add_argument("--queries", type=float, default=1e8, help="rows to assess")
    parser.add_argument("--apart", type=float, nargs="+", default=[8.0, 4.0], help="distances of the two classes")
    parser.add_argument("--n-jobs", type=int, default=1, help="of the fits")
    options = parser.parse_args()
    print(versions("numpy", "torch", "scikit-learn", "numba"))
    print(f"{torch.cuda.get_device_name()}, {DIM} features, double precision\n")
    warm_up()
    model = fits(int(options.rows), options.apart, options.n_jobs)
    assessments(model, int(options.queries), options.apart[0])


def gaussians(n: int, apart: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Two classes, every other row each, whose means are this many standard deviations apart."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn(n, DIM, dtype=torch.float64, device="cuda", generator=generator)
    y = torch.arange(n, device="cuda") % 2
    X[:, 0] += apart * y
    return X, y


def seconds(call, repeats: int = 5) -> float:
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = perf_counter()
        call()
        torch.cuda.synchronize()
        found.append(perf_counter() - start)
    return median(found)


def warm_up() -> None:
    """Compile what has to be compiled."""
    X, y = gaussians(20_000, 3.0)
    with config_context(array_api_dispatch=True):
        sepc.SEPClassifier().fit(X, y).assess(X).counts  # noqa: B018


def fits(n: int, distances: list[float], n_jobs: int) -> sepc.SEPClassifier:
    print(f"### `SEPClassifier(n_jobs={n_jobs}).fit`, two Gaussians, {n:,} x {DIM}\n")
    table("fit", "standard deviations apart", "regions", "s on the device", "s in NumPy", "labels that differ")
    models = []
    for apart in distances:
        X, y = gaussians(n, apart)
        clf = sepc.SEPClassifier(n_jobs=n_jobs)
        with config_context(array_api_dispatch=True):
            wall = seconds(lambda clf=clf, X=X, y=y: clf.fit(X, y), 1)
        host, labels = X.cpu().numpy(), y.cpu().numpy()
        start = perf_counter()
        near = sepc.SEPClassifier(n_jobs=n_jobs).fit(host, labels)
        in_numpy = perf_counter() - start
        differ = np.count_nonzero(clf.predict(host) != near.predict(host))
        row(apart, len(clf.regions()), f"{wall:.1f}", f"{in_numpy:.1f}", differ)
        models.append(clf)
    return models[0]


def assessments(clf: sepc.SEPClassifier, n: int, apart: float) -> None:
    print(f"\n### Assessment of {n:,} x {DIM}, {len(clf.regions())} regions\n")
    X = gaussians(n, apart)[0]
    floor = seconds(lambda: torch.empty_like(X).copy_(X), 3) / 2
    with config_context(array_api_dispatch=True):
        trust = seconds(lambda: clf.trust_score(X), 3)
        whole = seconds(lambda: clf.assess(X).counts, 2)
        sample = X[: 10**5]
        a, b = clf.assess(sample), clf.assess(sample.cpu().numpy())
    same = np.mean((a.region == b.region) & (a.label.cpu().numpy() == b.label))
    host = X[: 10**6].cpu().numpy()
    start = perf_counter()
    clf.assess(host)
    near = (perf_counter() - start) * n / 10**6
    rows = [
        ("floor: the rows at the speed of a copy", floor),
        ("`trust_score`", trust),
        ("`assess`", whole),
        ("`assess` in NumPy, from a million rows", near),
    ]
    table("assessment", "", "ms", "in floors")
    for name, t in rows:
        row(name, f"{1e3 * t:,.1f}", f"{t / floor:.1f}")
    print(f"\nRegions and labels equal to NumPy's: {same:.6f} of {len(sample):,} rows.")


if __name__ == "__main__":
    with recording():
        main()
