"""Data frames of the same library as the input, through narwhals, and plain Python values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.common.errors import SepcError
from sepc.common.typing import RowNumbers

if TYPE_CHECKING:
    import narwhals as nw


def as_frame(X: Any) -> "nw.DataFrame[Any] | None":
    """Return a frame of pandas, polars, pyarrow or the like through narwhals; None for what is no frame.

    narwhals refuses columns of the same name.
    """
    if not hasattr(X, "columns"):  # then narwhals is not loaded
        return None
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


@dataclass(frozen=True, slots=True)
class FrameMaker:
    """Maker of frames of a library, "pandas" or "polars"; `index` is the pandas index of the input, if it had one."""

    library: str = "pandas"
    index: Any = None

    @classmethod
    def like(cls, X: Any) -> "FrameMaker":
        """Return a maker of frames like `X`; pandas for what is neither a pandas nor a polars frame."""
        frame = as_frame(X)
        if frame is None:
            return cls()
        return cls("polars") if frame.implementation.is_polars() else cls("pandas", getattr(X, "index", None))

    @classmethod
    def joined(cls, makers: Sequence["FrameMaker"]) -> "FrameMaker":
        """Return a maker of frames for the rows of several inputs, in their order."""
        first, *others = makers
        if first.index is None or not others:
            return first
        return cls(first.library, first.index.append([maker.index for maker in others]))

    def frame(self, columns: Mapping[str, Any], rows: bool = False) -> Any:
        """Return a frame, with the index of the input if its `rows` are those of the input."""
        import narwhals as nw

        backend: Any = self.library
        try:
            frame = nw.from_dict(dict(columns), backend=backend).to_native()
        except ImportError as error:
            raise SepcError("frame-library-missing", library=self.library) from error
        return frame if self.index is None or not rows else frame.set_axis(self.index)


def numbered(row: int, rows_from: RowNumbers) -> int:
    """Return the number that a row, counted from 0, is called by."""
    return row + rows_from if isinstance(rows_from, int) else int(rows_from[row])


def plain(label: Any) -> Any:
    """Return a NumPy scalar as a plain Python value."""
    return label.item() if isinstance(label, np.generic) else label


def records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a table as one dict per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
