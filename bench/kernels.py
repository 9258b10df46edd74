"""Time and memory of the geometry kernels, against peers measured in the same run.

Run by ``make bench``; prints Markdown tables. CPU time with one BLAS thread, medians of repeats that take turns with
the pass or the peer they are compared with. ``--full`` adds the peers that need minutes, ``--quick`` leaves out the
largest sizes.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median

import numpy as np
from measure import against, cpu_seconds, fresh, loop_speed, peak_growth, recording, row, table, take_turns, versions

from sepc.geometry import Ellipsoid, min_volume_ellipsoid, nearest_points, separate

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "cvxpy", "clarabel", "piqp")
SIZES = [(100, 2), (1000, 2), (1000, 10), (10_000, 10), (10_000, 30), (100_000, 10), (100_000, 30), (1_000_000, 10)]
HULLS = [(300, 200, 2), (3000, 2000, 10), (12_000, 8000, 10), (30_000, 20_000, 10), (100_000, 50_000, 30)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="peers that need minutes, too")
    parser.add_argument("--quick", action="store_true", help="nothing above 20 000 points")
    parser.add_argument("--memory", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # what the peers have to say about their accuracy
    if options.memory:
        print(peak_copies(*options.memory))
        return
    print(versions(*PACKAGES))
    start_up()
    for family in ("gauss", "ball"):
        ellipsoids(family, options)
    hulls(options)
    small_calls()


# The tables.


def start_up() -> None:
    print("### Start\n")
    table("start", "", "seconds")
    row("`import sepc`", f"{fresh('import sepc'):.3f}")
    warm_up = (
        "import numpy as np, sepc; r = np.random.default_rng(0);"
        "[sepc.geometry.min_volume_ellipsoid(r.normal(size=s)) for s in ((50, 2), (3000, 3), (900, 25))];"
        "A, B = r.normal(size=(2000, 2)), r.normal(size=(1500, 2)) + 1;"
        "[sepc.geometry.nearest_points(A[:n], B[:n], cap) for n, cap in ((9999, None), (9999, 0.01), (60, None))]"
    )
    with tempfile.TemporaryDirectory() as cache:
        row("first use of all kernels, CPU: compile", f"{fresh(warm_up, NUMBA_CACHE_DIR=cache):.1f}")
        row("the same in a later process, CPU: read from disk", f"{fresh(warm_up, NUMBA_CACHE_DIR=cache):.1f}")
    row("(ten million additions in a Python loop, CPU: the speed of this machine just now)", f"{loop_speed():.2f}")


def ellipsoids(family: str, options: argparse.Namespace) -> None:
    print(f"\n### `min_volume_ellipsoid` to 1e-7, {family} points\n")
    table(
        family,
        "n",
        "d",
        "one pass, ms",
        "sepc, ms",
        "in passes",
        "reads",
        "steps",
        "gap",
        "copies at peak",
        "cvxpy+Clarabel",
    )
    for n, d in SIZES:
        if options.quick and n > 20_000:
            continue
        X = points(family, n, d)
        image = np.eye(d)
        min_volume_ellipsoid(X)
        solve, one_pass = take_turns((min_volume_ellipsoid, X), (plain_pass, X, image))
        m = min_volume_ellipsoid(X)
        limit = 10_000 * 10 if options.full else 1000 * 10
        peer = against((min_volume_ellipsoid, X), (clarabel, X)) if n * d <= limit else ""
        row(
            f"{n:,}",
            d,
            f"{1e3 * one_pass:.3g}",
            f"{1e3 * solve:.3g}",
            f"{solve / one_pass:.1f}",
            f"{m.n_passes:.1f}",
            m.n_iter,
            f"{m.gap:.0e}",
            memory("mve", family, n, d) if n * d >= 10**6 else "",
            peer,
        )


def hulls(options: argparse.Namespace) -> None:
    print("\n### `nearest_points`, default cap\n")
    table("hulls", "points", "d", "one product, ms", "sepc, ms", "products", "gap", "copies at peak", "PIQP", "NuSVC")
    for n, m, d in HULLS:
        if options.quick and n > 20_000:
            continue
        rng = np.random.default_rng(n)
        A, B = rng.standard_normal((n, d)) + 1.0, rng.standard_normal((m, d))
        normal = np.ones(d)
        nearest_points(A, B)
        solve, product = take_turns((nearest_points, A, B), (np.dot, A, normal))
        pair = nearest_points(A, B)
        ours = (nearest_points, A, B)
        piqp = against(ours, piqp_solver(A, B)) if n <= 30_000 or options.full else ""
        svc = against(ours, svc_solver(A, B)) if n <= 12_000 else ""
        row(
            f"{n:,} + {m:,}",
            d,
            f"{1e3 * product:.3g}",
            f"{1e3 * solve:.3g}",
            f"{pair.n_passes:.1f}",
            f"{pair.gap:.0e}",
            memory("hulls", n, m, d) if n * d >= 3 * 10**5 else "",
            piqp,
            svc,
        )


def small_calls() -> None:
    print("\n### Calls on ellipsoids\n")
    table("calls", "", "d = 2", "d = 10", "d = 30")
    row("`separate`, µs per pair", *(f"{1e6 * separate_seconds(d):.0f}" for d in (2, 10, 30)))
    row("`distance`, million points per second", *(f"{distance_rate(d) / 1e6:.1f}" for d in (2, 10, 30)))
    row("`gauge`, million points per second", *(f"{gauge_rate(d) / 1e6:.1f}" for d in (2, 10, 30)))


# What is measured.


def points(family: str, n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng([n, d])
    X = rng.standard_normal((n, d))
    if family == "ball":
        X *= rng.random((n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)
    return X


def plain_pass(X: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    Y = X @ matrix.T
    return np.einsum("ij,ij->i", Y, Y)


def clarabel(X: np.ndarray) -> None:
    import cvxpy as cp

    d = X.shape[1]
    A, b = cp.Variable((d, d), PSD=True), cp.Variable(d)
    problem = cp.BinaryProblem(cp.Maximize(cp.log_det(A)), [cp.norm(X @ A + b[None], axis=1) <= 1])
    problem.solve(solver=cp.CLARABEL)


def piqp_solver(A: np.ndarray, B: np.ndarray) -> tuple:
    """Return the same problem as a sparse QP: the projection of B's centroid on A's reduced hull."""
    import piqp
    from scipy import sparse

    n, d = A.shape
    c = B.mean(axis=0)
    inf = np.full(n, np.inf)
    P = sparse.block_diag([sparse.csc_matrix((n, n)), sparse.eye(d)], format="csc")
    equality = sparse.vstack(
        [sparse.csc_matrix(np.r_[np.ones(n), np.zeros(d)][None]), sparse.hstack([(A - c).T, -sparse.eye(d)])],
        format="csc",
    )
    low = np.r_[np.zeros(n), np.full(d, -np.inf)]
    high = np.r_[np.full(n, 1 / len(B)), inf[:d]]

    def solve() -> None:
        solver = piqp.SparseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
        solver.setup(P, np.zeros(n + d), equality, np.r_[1.0, np.zeros(d)], None, None, None, low, high)
        solver.solve()

    return (solve,)


def svc_solver(A: np.ndarray, B: np.ndarray) -> tuple:
    from sklearn.svm import NuSVC

    X, y = np.vstack([A, B]), np.r_[np.ones(len(A)), np.zeros(len(B))]
    nu = 2 * min(len(A), len(B)) / len(X) * (1 - 1e-12)
    return (NuSVC(nu=nu, kernel="linear").fit, X, y)


def random_ellipsoid(d: int, rng: np.random.Generator, offset: float) -> Ellipsoid:
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Ellipsoid(offset * rng.standard_normal(d) / np.sqrt(d), axes, rng.uniform(0.5, 2.0, d))


def separate_seconds(d: int) -> float:
    rng = np.random.default_rng(d)
    pairs = [(random_ellipsoid(d, rng, 0.0), random_ellipsoid(d, rng, offset)) for offset in rng.uniform(0, 6, 50)]
    return median(cpu_seconds(lambda: [separate(E, F) for E, F in pairs]) / len(pairs) for _ in range(20))


def distance_rate(d: int) -> float:
    rng = np.random.default_rng(d)
    E, Z = random_ellipsoid(d, rng, 0.0), 2 * rng.standard_normal((200_000, d))
    return len(Z) / median(cpu_seconds(lambda: E.distance(Z)) for _ in range(5))


def gauge_rate(d: int) -> float:
    rng = np.random.default_rng(d)
    E, Z = random_ellipsoid(d, rng, 0.0), rng.standard_normal((200_000, d))
    return len(Z) / median(cpu_seconds(lambda: E.gauge(Z)) for _ in range(5))


# Memory.


def memory(*job: object) -> str:
    """Peak memory of one solve in a process of its own, in copies of its input, the input not counted."""
    if not Path("/proc/self/clear_refs").exists():
        return "not on Linux"
    command = [sys.executable, __file__, "--memory", *map(str, job)]
    return f"{float(subprocess.run(command, capture_output=True, text=True, check=True).stdout):.2f}"


def peak_copies(kind: str, *job: str) -> float:
    rng = np.random.default_rng(0)
    d = int(job[-1])
    # What the libraries themselves take is taken before.
    min_volume_ellipsoid(rng.standard_normal((3000, d)))
    nearest_points(rng.standard_normal((2000, d)), rng.standard_normal((1500, d)) + 1)
    if kind == "mve":
        X = points(job[0], int(job[1]), d)
        size, solve = X.nbytes, lambda: min_volume_ellipsoid(X)
    else:
        A, B = rng.standard_normal((int(job[0]), d)) + 1, rng.standard_normal((int(job[1]), d))
        size, solve = A.nbytes + B.nbytes, lambda: nearest_points(A, B)
    return peak_growth(solve) / size


if __name__ == "__main__":
    with recording():
        main()
