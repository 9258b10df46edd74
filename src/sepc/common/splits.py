"""Stratified splits: the records of each class dealt into parts, one after the other."""

from collections.abc import Callable

import numpy as np

from sepc.common.typing import IntArray

# The part of a record that is the only one of its class: without it the class would be unknown.
IN_NO_PART = -1


def _as_they_come(rows: IntArray) -> IntArray:
    return rows


def _at_the_first(rows: IntArray) -> int:  # noqa: ARG001
    return 0


def deal(
    codes: IntArray,
    n_parts: int,
    *,
    order: Callable[[IntArray], IntArray] = _as_they_come,
    first: Callable[[IntArray], int] = _at_the_first,
) -> IntArray:
    """Deal the records of each class into parts by turns.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Classes, as numbers.
    n_parts : int
    order : callable, optional
        Returns the rows of a class in the order in which they are dealt; as they come by default.
    first : callable, optional
        Returns the part that gets the first record of a class with these rows, modulo `n_parts`; the first by default.
        It is called before `order`.

    Returns
    -------
    ndarray of int, shape (n,)
        The part of each record, `IN_NO_PART` for the only one of its class.
    """
    parts = np.full(len(codes), IN_NO_PART)
    for k in range(codes.max() + 1):
        rows = np.flatnonzero(codes == k)
        if len(rows) > 1:
            turns = (np.arange(len(rows)) + first(rows)) % n_parts
            parts[order(rows)] = turns
    return parts
