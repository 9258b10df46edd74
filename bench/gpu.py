"""Fits and assessments on a GPU: `python bench/gpu.py` on a machine with a CUDA device, PyTorch and CuPy.

Prints Markdown tables: passes over the points, minimum-volume ellipsoids, fits, assessments; beside them the same in
NumPy on one core of the machine's processor. Wall-clock seconds with the device synchronised, medians of repeats; the
device's own time is that of its kernels, as PyTorch's profiler adds it up.
"""

import argparse
import os
from statistics import median
from time import perf_counter

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import torch
from measure import row, table, versions
from sklearn import config_context
from sklearn.externals.array_api_compat import array_namespace
from torch.profiler import ProfilerActivity, profile

import sepc
from sepc.scale.array_api import Place, _words
from sepc.scale.cuda_passes import with_own_pass
from sepc.scale.device_points import DevicePoints

DIM = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7, help="of the training set")
    parser.add_argument("--queries", type=float, default=1e8, help="rows to assess")
    parser.add_argument(
        "--apart", type=float, nargs="+", default=[8.0, 6.0, 5.0, 4.0], help="distances of the two classes"
    )
    parser.add_argument("--host", type=float, default=1e6, help="rows of the fit in NumPy")
    options = parser.parse_args()
    print(versions("numpy", "torch", "scikit-learn", "numba"))
    print(f"{torch.cuda.get_device_name()}, {DIM} features, double precision\n")
    warm_up()
    n = int(options.rows)
    plain = passes(n)
    ellipsoids(n, plain)
    model = fits(n, plain, options)
    assessments(model, int(options.queries), options.apart[0])


def gaussians(n: int, apart: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Two classes, every other row each, whose means are this many standard deviations apart."""
    X = torch.randn(n, DIM, dtype=torch.float64, device="cuda", generator=_generator())
    y = torch.arange(n, device="cuda") % 2
    X[:, 0] += apart * y
    return X, y


def ball(n: int) -> torch.Tensor:
    X = gaussians(n)[0]
    X *= (torch.rand(n, 1, dtype=torch.float64, device="cuda", generator=_generator()) ** (1 / DIM)) / X.norm(
        dim=1, keepdim=True
    )
    return X


def _generator() -> torch.Generator:
    return torch.Generator(device="cuda").manual_seed(0)


def seconds(call, repeats: int = 5) -> float:
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = perf_counter()
        call()
        torch.cuda.synchronize()
        found.append(perf_counter() - start)
    return median(found)


def device_seconds(call) -> float:
    """Return the time that the device's kernels and copies take in a call."""
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        call()
        torch.cuda.synchronize()
    return sum(event.self_device_time_total for event in found.key_averages()) * 1e-6


def points_of(X: torch.Tensor) -> DevicePoints:
    return DevicePoints.of(array_namespace(X), X)


def warm_up() -> None:
    """Compile what has to be compiled."""
    X, y = gaussians(20_000, 3.0)
    with config_context(array_api_dispatch=True):
        clf = sepc.SEPClassifier(n_imp=0.05).fit(X, y)
        clf.assess(X).counts  # noqa: B018


def passes(n: int) -> float:
    """Measure one pass over the points, in several ways; return the seconds of the plain one."""
    X = gaussians(n)[0]
    matrix = gaussians(DIM)[0]
    copy = torch.empty_like(X)
    plain = seconds(lambda: ((Y := X @ matrix) * Y).sum(1))
    own = with_own_pass(array_namespace(X), X)
    host, nothing = matrix.cpu().numpy(), np.zeros(DIM)
    fused = seconds(lambda: own.row_squares(X, nothing, nothing, host, nothing))
    bandwidth = 2 * X.nbytes / seconds(lambda: copy.copy_(X))
    rows = [
        ("plain pass of PyTorch: `Y = X @ L; (Y * Y).sum(1)`", plain),
        ("sepc's pass: reads each point once", fused),
        (f"floor: the points at the {bandwidth / 1e12:.1f} TB/s of a copy", X.nbytes / bandwidth),
    ]
    print(f"### One pass over {n:,} x {DIM}\n")
    table("", "ms", "in plain passes")
    for name, t in rows:
        row(name, f"{1e3 * t:.2f}", f"{t / plain:.2f}")
    return plain


def ellipsoids(n: int, plain: float) -> None:
    print(f"### `min_volume_ellipsoid` of {n:,} x {DIM} to 1e-7\n")
    table("points", "device, ms", "wall, ms", "in plain passes", "reads", "gap", "NumPy, ms", "log volumes differ by")
    for name, X in (("Gaussian", gaussians(n)[0]), ("ball", ball(n))):
        m = sepc.min_volume_ellipsoid(points_of(X))
        wall = seconds(lambda X=X: sepc.min_volume_ellipsoid(points_of(X)), 3)
        device = device_seconds(lambda X=X: sepc.min_volume_ellipsoid(points_of(X)))
        host = X.cpu().numpy()
        start = perf_counter()
        near = sepc.min_volume_ellipsoid(host)
        numpy_seconds = perf_counter() - start
        agree = abs(near.ellipsoid.log_volume - m.ellipsoid.log_volume)
        cells = (f"{1e3 * device:.1f}", f"{1e3 * wall:.0f}", f"{wall / plain:.0f}", f"{m.n_passes:.0f}")
        row(name, *cells, f"{m.gap:.0e}", f"{1e3 * numpy_seconds:,.0f}", f"{agree:.0e}")


def fits(n: int, plain: float, options: argparse.Namespace) -> sepc.SEPClassifier:
    print(f"### `SEPClassifier(n_imp=0.01).fit`, two Gaussians, {n:,} x {DIM}\n")
    head = ("apart", "ellipsoids", "s", "s per ellipsoid", "plain passes per ellipsoid")
    table(*head, f"NumPy on {options.host:,.0f} rows, s", "its ellipsoids")
    first = None
    for apart in options.apart:
        X, y = gaussians(n, apart)
        clf = sepc.SEPClassifier(n_imp=0.01)
        with config_context(array_api_dispatch=True):
            wall = seconds(lambda clf=clf, X=X, y=y: clf.fit(X, y), 3)
        first = first or clf
        found = len(clf.partitions_[0].blocks)
        m = int(options.host)
        host, labels = X[:m].cpu().numpy(), y[:m].cpu().numpy()
        start = perf_counter()
        beside = sepc.SEPClassifier(n_imp=0.01).fit(host, labels)
        near = perf_counter() - start
        cells = (f"{wall:.1f}", f"{wall / found:.2f}", f"{wall / plain / found:.0f}", f"{near:.1f}")
        row(apart, found, *cells, len(beside.partitions_[0].blocks))
    return first


def assessments(clf: sepc.SEPClassifier, n: int, apart: float) -> None:
    print(f"### Assessment of {n:,} x {DIM}\n")
    X = gaussians(n, apart)[0]
    floor = X.nbytes / (2 * X.nbytes / seconds(lambda: torch.empty_like(X).copy_(X), 3))
    xp = array_namespace(X)
    place = Place(with_own_pass(xp, X), X.device)
    stack = clf._model.rules[0].stack
    held = seconds(lambda: _words(stack, X, place), 3) / len(stack)
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
        (f"which rows an ellipsoid holds (mean of {len(stack)})", held),
        ("`trust_score`", trust),
        ("`assess`", whole),
        ("`assess` in NumPy, from a million rows", near),
    ]
    table("", "ms", "in floors")
    for name, t in rows:
        row(name, f"{1e3 * t:,.1f}", f"{t / floor:.1f}")
    print(f"\nRegions and labels equal to NumPy's: {same:.6f} of {len(sample):,} rows.")


if __name__ == "__main__":
    main()
