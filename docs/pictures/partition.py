"""Draw the README's picture: ``python docs/pictures/partition.py`` (needs the extra ``plot``)."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from sklearn.datasets import make_moons

from sepc import SEPClassifier

COLOURS = ("#0072B2", "#D55E00")  # safe for the colour-blind
LIMITS = (-1.6, 2.6), (-1.2, 1.75)


def main() -> None:
    """Write partition.png beside this file."""
    X, y = make_moons(400, noise=0.17, random_state=4)
    clf = SEPClassifier(n_imp=4, standardize=False).fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9), sharex=True, sharey=True, layout="constrained")
    for side, colour in enumerate(COLOURS):
        left.scatter(*X[y == side].T, s=9, color=colour, linewidths=0)
        blocks = [block for block in clf.partitions_[0].blocks if block.side == side]
        for number, block in enumerate(blocks, start=1):
            left.plot(*block.ellipsoid.boundary().T, color=colour, linewidth=1.2)
            left.text(
                *block.ellipsoid.center,
                f"{side}#{number}",
                color=colour,
                fontsize=8,
                weight="bold",
                ha="center",
                bbox={"color": "white", "alpha": 0.75, "pad": 0.8},
            )
    left.set_title("ellipsoids that hold nearly one label each", fontsize=10)
    shade_by_trust(right, clf)
    right.scatter(*X.T, s=4, c=np.take(COLOURS, y), linewidths=0, alpha=0.5)
    right.set_title("label by colour, trust by depth of colour; white: strange", fontsize=10)
    for axes in (left, right):
        axes.set(xlim=LIMITS[0], ylim=LIMITS[1], xticks=[], yticks=[])
        axes.spines[:].set_color("0.7")
    figure.savefig(Path(__file__).with_name("partition.png"), dpi=160)


def shade_by_trust(axes: plt.Axes, clf: SEPClassifier) -> None:
    """Colour the plane by label; the paler, the less the label is to be trusted."""
    across, up = (np.linspace(low, high, 400) for low, high in LIMITS)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    a = clf.assess(grid)
    signed = np.where(a.label == 1, 1, -1) * np.clip((a.trust - 0.4) / 0.6, 0.0, 1.0)
    signed[a.reason == "strange"] = 0.0  # nothing is known there
    colours = LinearSegmentedColormap.from_list("trust", [COLOURS[0], "white", COLOURS[1]])
    image = signed.reshape(len(up), len(across))
    axes.pcolormesh(across, up, image, cmap=colours, vmin=-1.6, vmax=1.6, shading="auto", rasterized=True)


if __name__ == "__main__":
    main()
