"""Classes that can be saved. A file names one of them; nothing else is ever made from a file."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sepc.common.errors import InputError
from sepc.persist.named_arrays import ArrayReader, ArrayWriter
from sepc.persist.saved_parts import Header


class ModelKind(NamedTuple):
    """Class that can be saved, with the functions that do it.

    Attributes
    ----------
    module, name : str
        Where it is defined, and what it is called. It is not imported for that.
    pack : callable
        Puts a fitted object into arrays, with or without its training records; returns the rest of it.
    unpack : callable
        Returns the object.
    """

    module: str
    name: str
    pack: Callable[[ArrayWriter, Any, bool], Header]
    unpack: Callable[[ArrayReader, Header], Any]


def kind_name(clf: Any, kinds: Mapping[str, ModelKind]) -> str:
    """Return the name of an object's kind; raise an `InputError` if it is none of them."""
    defined_as = (type(clf).__module__, type(clf).__qualname__)
    names = [name for name, kind in kinds.items() if (kind.module, kind.name) == defined_as]
    if not names:
        raise InputError(
            f"clf is {clf!r}; expected a fitted {' or '.join(kinds)}. Of another pipeline, save its last step."
        )
    return names[0]
