"""Data frames of the kind that came in, and plain Python values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sepc.common.errors import SepcError


@dataclass(frozen=True, slots=True)
class FrameMaker:
    """Maker of pandas or polars frames.

    Attributes
    ----------
    library : {"pandas", "polars"}
    index : pandas.Index or None
        Names of the rows that came in.
    """

    library: str = "pandas"
    index: Any = None

    @classmethod
    def like(cls, X: Any) -> "FrameMaker":
        """Return a maker of frames like `X`; pandas for what is no frame."""
        library = type(X).__module__.split(".")[0]
        if library == "polars":
            return cls("polars")
        return cls("pandas", getattr(X, "index", None) if library == "pandas" else None)

    @classmethod
    def joined(cls, makers: Sequence["FrameMaker"]) -> "FrameMaker":
        """Return a maker of frames for the rows of several, those of the first one first."""
        first, *others = makers
        if first.index is None or not others:
            return first
        return cls(first.library, first.index.append([maker.index for maker in others]))

    def frame(self, columns: Mapping[str, Any], rows: bool = False) -> Any:
        """Return a frame; if its `rows` are those that came in, under their names."""
        try:
            library = import_module(self.library)
        except ImportError as error:
            raise SepcError(
                f"a data frame needs {self.library}, which is not installed. Run: pip install pandas"
            ) from error
        if self.library == "polars":
            return library.DataFrame(dict(columns))
        return library.DataFrame(dict(columns), index=self.index if rows else None)


def plain(label: Any) -> Any:
    """Return a NumPy scalar as a plain Python value."""
    return label.item() if isinstance(label, np.generic) else label


def records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a table as one dict per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
