"""Partitions: the paper's Algorithms 1 and 2, and the binary problems of several classes."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={"algorithm": ["partition"], "blocks": ["Block", "Hyperplane", "Partition"]}
)
