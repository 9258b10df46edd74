from .intake import Terms
from .running import Address, run

__all__ = ["Address", "Terms", "run"]
