from .algorithm import partition
from .blocks import Block, Hyperplane, Partition

__all__ = ["Block", "Hyperplane", "Partition", "partition"]
