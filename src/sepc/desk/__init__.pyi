from .intake import Terms
from .listening import Address
from .running import run

__all__ = ["Address", "Terms", "run"]
