"""Time of `landscape` in passes over the data, what it finds in sets whose truth is known, and the paper's figures.

Prints Markdown tables. CPU time in one thread, medians. Real sets are read from the folder that SEPC_DATA names.
``--quick`` leaves out the real sets and looks at fewer clean ones.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections import Counter
from statistics import median

import numpy as np
from measure import cpu_seconds, recording, row, table, versions
from sets import numbers

from sepc import landscape
from sepc.geometry import Ellipsoid, overlap_coefficient

# What the paper reports of each set: OVR and number of records outside the overlap.
PAPER = {
    "vertebral_2c": "Abnormal 0.006 and 157, Normal 0.67 and 7",
    "vertebral_2c_fullprec": "(the same data at full precision)",
    "adult": "0.6 for the minority",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="no real sets, 40 clean ones")
    options = parser.parse_args()
    print(versions("numpy", "scipy", "numba", "scikit-learn"))
    landscape(*gaussians(2000, 10, 2))  # the compiled code is loaded
    passes()
    clean_sets(40 if options.quick else 200)
    planted(10 if options.quick else 50)
    coefficients()
    if not options.quick:
        paper()


def passes() -> None:
    print("### Time in passes over the data (a pass: `X @ L.T` and the norms of its rows)\n")
    table("time", "data", "labels", "rows", "features", "classes", "ms", "passes", "reads by the solvers")
    for family, n, d, k in (
        ("apart by 2", 100_000, 10, 2),
        ("apart by 6", 100_000, 10, 2),
        ("heavy tails", 100_000, 10, 2),
        ("balls, apart by 1", 100_000, 10, 2),
        ("balls, apart by 0.3", 100_000, 10, 2),
        ("apart by 2", 10_000, 10, 2),
        ("apart by 2", 100_000, 10, 3),
        ("apart by 2", 100_000, 30, 2),
    ):
        X, y = gaussians(n, d, k, family)
        for kind, labels in (("int", y), ("object", np.array(["no", "yes", "maybe"], dtype=object)[y])):
            L = np.eye(d)
            one, ours = [], []
            for _ in range(7):
                one.append(cpu_seconds(plain_pass, X, L))
                ours.append(cpu_seconds(landscape, X, labels))
            reads = landscape(X, labels).n_passes
            row(
                family,
                kind,
                f"{n:,}",
                d,
                k,
                f"{1e3 * median(ours):.0f}",
                f"{median(ours) / median(one):.1f}",
                f"{reads:.1f}",
            )


def clean_sets(n: int) -> None:
    print(f"\n### {n} clean sets: 2 or 3 Gaussian classes of 100 to 500 records, moderate overlap, 2 to 8 features\n")
    found = Counter((f.severity, f.code) for seed in range(n) for f in landscape(*clean(seed)).findings)
    table("clean", "severity", "findings")
    for severity in ("problem", "warning", "note"):
        codes = {code: count for (level, code), count in found.items() if level == severity}
        row(severity, codes or 0)


def planted(n: int) -> None:
    print(f"\n### {n} clean sets each with something planted in them\n")
    table("planted", "planted", "finding", "found")
    for code, plant in PLANTS:
        hits = sum(any(f.code == code for f in landscape(*plant(*clean(seed), seed)).findings) for seed in range(n))
        row(plant.__name__.replace("_", " "), code, f"{hits} of {n}")


def coefficients() -> None:
    print("\n### Overlapping coefficient, two random ellipsoids\n")
    table("overlap", "features", "ratio of radii", "ms", "coefficient", "Monte Carlo, 2 x 200,000")
    for d, ratio in ((1, 1), (2, 1e6), (10, 10), (10, 1e6), (60, 10), (60, 1e6)):
        rng = np.random.default_rng(d)
        E = Ellipsoid(np.zeros(d), rotation(d, rng), float(ratio) ** -rng.random(d))
        change = np.eye(d) + 0.3 / np.sqrt(d) * rng.standard_normal((d, d))
        F = Ellipsoid.from_factor(
            E.axes @ (0.2 / np.sqrt(d) * E.radii * rng.standard_normal(d)), E.axes * E.radii @ change
        )
        seconds = median(cpu_seconds(overlap_coefficient, E, F) for _ in range(9))
        row(
            d, f"{ratio:g}", f"{1e3 * seconds:.1f}", f"{overlap_coefficient(E, F):.6f}", f"{monte_carlo(E, F, rng):.4f}"
        )


def paper() -> None:
    print("\n### The paper's overlap figures\n")
    table("paper", "set", "class", "OVR", "outside the overlap", "OVL", "in the paper")
    for name, reported in PAPER.items():
        view = landscape(*numbers(name))
        pair = view.overlaps[0]
        for k, label in enumerate((pair.class_a, pair.class_b)):
            outside = f"{pair.n_outside[k]} of {pair.n_outside[k] + pair.n_inside[k]}"
            row(name, label, f"{pair.ovr[k]:.4f}", outside, f"{pair.ovl:.4f}", reported if k == 0 else "")


def gaussians(n: int, d: int, k: int, family: str = "apart by 2") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, d, k])
    y = np.arange(n) % k
    X = rng.standard_normal((n, d))
    if family == "heavy tails":
        X /= np.sqrt(rng.chisquare(4, size=(n, 1)) / 4)
    if family.startswith("balls"):
        X *= rng.random((n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)
    X[:, 0] += (float(family.split()[-1]) if "apart" in family else 2.0) * y
    return X, y


def plain_pass(X: np.ndarray, L: np.ndarray) -> np.ndarray:
    Y = X @ L.T
    return np.einsum("ij,ij->i", Y, Y)


def rotation(d: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def clean(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian classes of random shapes, their means 1.5 to 4 standard deviations or more apart, in mixed units."""
    rng = np.random.default_rng([77, seed])
    k, d = int(rng.integers(2, 4)), int(rng.integers(2, 9))
    means = rng.standard_normal((k, d))
    means *= rng.uniform(1.5, 4.0) / min(np.linalg.norm(means[i] - means[j]) for i in range(k) for j in range(i))
    sizes = rng.integers(100, 500, size=k)
    shapes = [rotation(d, rng) * rng.uniform(0.5, 1.5, d) for _ in range(k)]
    parts = [m + rng.standard_normal((n, d)) @ F.T for m, n, F in zip(means, sizes, shapes, strict=True)]
    X = np.concatenate(parts) @ rotation(d, rng) * 10.0 ** rng.uniform(-3, 3, d) + 10.0 * rng.standard_normal(d)
    return X, np.repeat(np.arange(k), sizes)


def with_dependence(X, y, seed):
    weights = np.random.default_rng(seed).integers(1, 5, size=2) * [1.0, -0.5]
    return np.column_stack([X, X[:, :2] @ weights + 3.0]), y


def with_rounded_dependence(X, y, seed):
    X, y = with_dependence((X - X.mean(axis=0)) / X.std(axis=0), y, seed)
    return np.round(X, 4), y


def with_constant(X, y, seed):
    return np.column_stack([X, np.full(len(X), 0.1 * seed)]), y


def with_duplicates(X, y, seed):
    rows = np.random.default_rng(seed).choice(len(X), 3, replace=False)
    return np.vstack([X, X[rows]]), np.append(y, (y[rows] + 1) % (y.max() + 1))


def with_heavy_overlap(X, y, seed):
    one = y == 0
    return X[one], np.random.default_rng(seed).permutation(np.arange(one.sum()) % 2)


def with_few(X, y, seed):
    keep = (y > 0) | (np.cumsum(y == 0) <= 1 + seed % X.shape[1])
    return X[keep], y[keep]


PLANTS = [
    ("linear-dependence", with_dependence),
    ("linear-dependence", with_rounded_dependence),
    ("constant-feature", with_constant),
    ("contradictory-duplicates", with_duplicates),
    ("heavy-overlap", with_heavy_overlap),
    ("few-records", with_few),
]


def monte_carlo(E: Ellipsoid, F: Ellipsoid, rng: np.random.Generator) -> float:
    total = 0.0
    for own, other in ((E, F), (F, E)):
        Z = own.center + (rng.standard_normal((200_000, own.dim)) * own.radii / np.sqrt(own.dim + 2)) @ own.axes.T
        logs = [-0.5 * (G.dim + 2) * G.gauge(Z) ** 2 - np.log(G.radii).sum() for G in (own, other)]
        total += float(np.mean(logs[1] > logs[0]))
    return total


if __name__ == "__main__":
    with recording():
        main()
