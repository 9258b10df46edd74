"""Data frames out, of the kind that came in."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sepc.errors import SepcError


@dataclass(frozen=True, slots=True)
class FrameMaker:
    """Makes pandas or polars frames.

    Attributes
    ----------
    library : {"pandas", "polars"}
    index : pandas.Index or None
        Names of the rows that came in.

    Examples
    --------
    >>> FrameMaker.like([[1.0]]).frame({"a": [1, 2]})
       a
    0  1
    1  2
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
