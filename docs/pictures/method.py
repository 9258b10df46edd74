"""Pictures of the page on the method, one function each; drawn when the site is built."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from sepc import SEPClassifier
from sepc.geometry import Ellipsoid, min_volume_ellipsoid, nearest_points
from sepc.partitions import partition
from sepc.plot import PartitionDisplay

COLOURS = ("#0072B2", "#D55E00")  # safe for the colour-blind
LIMITS = {"xlim": (-1.75, 2.75), "ylim": (-1.45, 1.85)}


def moons() -> tuple[np.ndarray, np.ndarray]:
    """Return the points of two classes that reach into each other."""
    X, y = make_moons(240, noise=0.17, random_state=4)
    return X[y == 0], X[y == 1]


def panels(n: int) -> tuple[plt.Figure, np.ndarray]:
    """Return a figure with n panels side by side that show the same part of the plane."""
    figure, axes = plt.subplots(
        1, n, figsize=(3.6 * n, 2.9), sharex=True, sharey=True, layout="constrained", squeeze=False
    )
    for ax in axes[0]:
        ax.set(xticks=[], yticks=[], **LIMITS)
        ax.spines[:].set_color("0.7")
    return figure, axes[0]


def dots(ax: plt.Axes, points: np.ndarray, side: int, **style: float) -> None:
    """Draw points of a class."""
    ax.scatter(*points.T, s=10, color=COLOURS[side], linewidths=0, **style)


def outline(ax: plt.Axes, ellipsoid: Ellipsoid, side: int) -> None:
    """Draw the boundary of an ellipsoid."""
    ax.plot(*ellipsoid.boundary().T, color=COLOURS[side], linewidth=1.4)


def smallest_ellipsoids() -> None:
    """Draw the smallest ellipsoid around each class: they overlap."""
    _, (ax,) = panels(1)
    for side, points in enumerate(moons()):
        dots(ax, points, side)
        outline(ax, min_volume_ellipsoid(points).ellipsoid, side)


def nearest_points_and_cut() -> None:
    """Draw the nearest points of two reduced hulls, and the cut between them."""
    A, B = moons()
    pair = nearest_points(A, B)
    w = pair.c - pair.d
    outer = A @ w >= pair.c @ w, B @ w <= pair.d @ w
    _, (left, right) = panels(2)
    for side, (points, keep) in enumerate(zip((A, B), outer, strict=True)):
        dots(left, points, side, alpha=0.6)
        dots(right, points[~keep], side, alpha=0.25)
        dots(right, points[keep], side)
        outline(right, min_volume_ellipsoid(points[keep]).ellipsoid, side)
    left.plot(*np.stack([pair.c, pair.d]).T, "o-", color="black", markersize=6, linewidth=1.6)
    left.annotate("nearest points", (pair.c + pair.d) / 2, (1.25, 1.45), arrowprops={"arrowstyle": "->"})
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    for at in (pair.c, pair.d):
        left.plot(*np.stack([at - 4 * along, at + 4 * along]).T, "--", color="0.4", linewidth=1)
        right.plot(*np.stack([at - 4 * along, at + 4 * along]).T, "--", color="0.4", linewidth=1)
    left.set_title("two lines through the nearest points", fontsize=10)
    right.set_title("what lies beyond them, and its ellipsoids", fontsize=10)


def rounds() -> None:
    """Draw the ellipsoids after one round, after two, and at the end."""
    A, B = moons()
    P = partition(A, B, n_imp=2)
    _, axes = panels(3)
    last = [1, 2, P.n_iter + 1]
    for ax, until, title in zip(axes, last, ("first round", "second round", "at the end"), strict=True):
        found = [b for b in P.blocks if 0 < b.iteration <= until or until == last[-1]]
        for side, points in enumerate((A, B)):
            own = [b for b in found if b.side == side]
            inside = np.zeros(len(points), dtype=bool)
            inside[[i for b in own for i in b.members]] = True
            dots(ax, points[~inside], side)
            dots(ax, points[inside], side, alpha=0.25)
            for block in own:
                outline(ax, block.ellipsoid, side)
        ax.set_title(title, fontsize=10)


def verdicts() -> None:
    """Draw the plane coloured by label and trust."""
    A, B = moons()
    X, y = np.concatenate([A, B]), np.repeat(["blue", "red"], [len(A), len(B)])
    _, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
    PartitionDisplay.from_estimator(SEPClassifier(n_imp=2, standardize=False).fit(X, y), shade=True, ax=ax)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")


if __name__ == "__main__":
    for draw in (smallest_ellipsoids, nearest_points_and_cut, rounds, verdicts):
        draw()
    plt.show()
