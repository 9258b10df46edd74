"""Partitions with given ellipsoids, and their rules."""

import numpy as np

from sepc.geometry.ellipsoid import Ellipsoid
from sepc.model.rules import Rules
from sepc.partitions.blocks import Block, Partition


def make_rules(A, B, P, labels=("a", "b"), grows=False):
    return Rules.of(P, np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)]), labels, grows=grows)


def discs(*centres, radius=1.0):
    return [Ellipsoid(c, np.eye(len(c)), np.full(len(c), radius)) for c in centres]


def planted(ellipsoids, sides, isolated=((), ())):
    """Return a partition with given ellipsoids; the rules count what is in them, whoever built them."""
    blocks = tuple(Block(s, np.array([], dtype=int), E, 1) for E, s in zip(ellipsoids, sides, strict=True))
    return Partition(blocks, tuple(np.array(i, dtype=int) for i in isolated), (), 1, "", 0)
