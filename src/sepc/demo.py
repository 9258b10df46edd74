"""What there is so far, on data that everyone knows: run by ``make demo``."""

from time import perf_counter

import numpy as np
from sklearn.datasets import load_iris

import sepc


def main() -> None:
    """Take the two iris species that overlap through the geometry core, and print what it finds."""
    iris = load_iris()
    points = {name: iris.data[iris.target == label] for label, name in enumerate(iris.target_names)}
    start = perf_counter()
    sepc.nearest_points([[0.0], [1.0]], [[2.0], [3.0], [5.0]])
    sepc.min_volume_ellipsoid(np.vstack([np.eye(3), -np.eye(3)]))
    print(f"kernels ready in {perf_counter() - start:.1f} s (compiled on the first run, then read from disk)\n")

    print("Smallest ellipsoid around each species of iris, 4 features")
    solved = {name: sepc.min_volume_ellipsoid(X) for name, X in points.items()}
    for name, m in solved.items():
        on_boundary = int((m.weights > 1e-6).sum())
        print(
            f"  {name:<11} {len(points[name])} flowers, {on_boundary} of them hold the ellipsoid; log volume "
            f"{m.ellipsoid.log_volume:6.3f}, certified to {(m.rank + 1) / 2 * m.gap:.0e}"
        )

    setosa, versicolor, virginica = (m.ellipsoid for m in solved.values())
    print("\nDo they meet?")
    _meeting("setosa", setosa, "versicolor", versicolor)
    _meeting("versicolor", versicolor, "virginica", virginica)

    cover = sepc.cover_intersection(versicolor, virginica)
    assert cover.ellipsoid is not None
    inside = {name: int(cover.ellipsoid.contains(points[name]).sum()) for name in ("versicolor", "virginica")}
    share = np.exp(cover.log_volume - versicolor.log_volume)
    print(f"  what these two share is covered by an ellipsoid of {share:.0%} of versicolor's volume;")
    print(f"  {inside['versicolor']} versicolor and {inside['virginica']} virginica lie in it")

    pair = sepc.nearest_points(points["setosa"], points["virginica"], cap=1.0)
    print(f"\nThe convex hulls of setosa and virginica are {pair.distance:.3f} cm apart (gap {pair.gap:.0e})")


def _meeting(name: str, E: sepc.Ellipsoid, other: str, F: sepc.Ellipsoid) -> None:
    verdict = sepc.separate(E, F)
    if verdict.disjoint:
        print(f"  {name} and {other}: no; a hyperplane leaves {verdict.gap:.2f} cm between them")
    else:
        print(f"  {name} and {other}: yes; both would have to shrink to {1 + verdict.margin:.0%} to just touch")


if __name__ == "__main__":
    main()
