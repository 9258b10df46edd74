"""Axes to draw on, and what was drawn."""

from matplotlib.figure import Figure
from matplotlib.path import Path


def axes(**options):
    """Return axes of a figure that pyplot knows nothing of."""
    return Figure(layout="constrained", **options).subplots()


def drawn(line):
    """Return the outline that was drawn, a hair larger: its corners lie on the ellipse, its sides inside of it."""
    curve = line.get_xydata()
    center = curve[:-1].mean(axis=0)
    return Path(center + (curve - center) * (1.0 + 1e-3))


def regions_of(clf):
    """Yield name, label and training rows of all regions of classes, from the partitions alone."""
    for k, found in enumerate(clf.partitions_):
        together, numbers = len(clf.partitions_) == 1, [0] * len(clf.classes_)
        for block in found.blocks:
            numbers[block.side] += 1
            if together or block.side == 0:
                label = clf.classes_[block.side if together else k]
                yield f"{label}#{numbers[block.side]}", label, block.members
