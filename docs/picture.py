"""Draw the README's picture: ``python docs/picture.py`` (needs the extra ``plot``)."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import sepc

COLOURS = {"setosa": "#0072B2", "versicolor": "#E69F00", "virginica": "#009E73"}  # safe for the colour-blind


def main() -> None:
    """Write geometry.png beside this file."""
    iris = load_iris()
    points = {name: iris.data[iris.target == k][:, [0, 2]] for k, name in enumerate(iris.target_names)}
    ellipsoids = {name: sepc.min_volume_ellipsoid(X).ellipsoid for name, X in points.items()}
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    for name, X in points.items():
        axes.scatter(*X.T, s=14, color=COLOURS[name], alpha=0.8, linewidths=0)
        axes.plot(*ellipsoids[name].boundary().T, color=COLOURS[name], label=f"{name}: smallest ellipsoid")
    cover = sepc.cover_intersection(ellipsoids["versicolor"], ellipsoids["virginica"]).ellipsoid
    axes.fill(*cover.boundary().T, color="0.5", alpha=0.3, label="cover of what two of them share")
    normal, offset = sepc.separate(ellipsoids["setosa"], ellipsoids["versicolor"]).hyperplane
    along = np.array([-normal[1], normal[0]])
    ends = normal * offset + np.outer([-20.0, 20.0], along)
    axes.plot(*ends.T, color="0.3", linestyle="--", linewidth=1, label="hyperplane between two that do not meet")
    axes.set(xlim=(4, 8.3), ylim=(0.6, 7.4), xlabel="sepal length (cm)", ylabel="petal length (cm)")
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("geometry.png"), dpi=160)


if __name__ == "__main__":
    main()
