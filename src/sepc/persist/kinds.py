"""Which classes can be saved. A file names one of them; nothing else is ever made from a file."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sepc.errors import InputError
from sepc.persist.drawers import Inbox, Outbox
from sepc.persist.pieces import Header


class Kind(NamedTuple):
    """A class that can be saved, and how.

    Attributes
    ----------
    module, name : str
        Where it is defined, and what it is called. It is not imported for that.
    pack : callable
        Puts a fitted object into arrays, with or without its training records; returns the rest of it.
    unpack : callable
        Returns the object.

    Examples
    --------
    >>> Kind._fields
    ('module', 'name', 'pack', 'unpack')
    """

    module: str
    name: str
    pack: Callable[[Outbox, Any, bool], Header]
    unpack: Callable[[Inbox, Header], Any]


def kind_of(clf: Any, kinds: Mapping[str, Kind]) -> str:
    """Return the name of an object's kind; an error if it is none of them."""
    itself = (type(clf).__module__, type(clf).__qualname__)
    found = [name for name, kind in kinds.items() if (kind.module, kind.name) == itself]
    if not found:
        raise InputError(
            f"clf is {clf!r}; expected a fitted {' or '.join(kinds)}. Of another pipeline, save its last step."
        )
    return found[0]
