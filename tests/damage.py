"""Ways to damage a file, and to rewrite one so that only its content is wrong."""

from collections.abc import Iterator

import numpy as np


def _flip(content, at, _, rng):
    content[at] ^= 1 << int(rng.integers(8))


def _replace(content, at, length, rng):
    content[at : at + length] = rng.bytes(len(content[at : at + length]))


def _zero(content, at, length, _):
    content[at : at + length] = bytes(len(content[at : at + length]))


def _truncate(content, at, *_):
    del content[at:]


def _cut(content, at, length, _):
    del content[at : at + length]


def _insert(content, at, length, rng):
    content[at:at] = rng.bytes(length)


def _repeat(content, at, length, _):
    content[at:at] = content[at : at + length]


def _swap(content, at, length, rng):
    other = int(rng.integers(len(content)))
    one, two = content[at : at + length], content[other : other + length]
    content[at : at + len(two)], content[other : other + len(one)] = two, one


WAYS = {
    "bit flipped": _flip,
    "bytes replaced": _replace,
    "bytes set to zero": _zero,
    "truncated": _truncate,
    "bytes cut out": _cut,
    "bytes inserted": _insert,
    "bytes repeated": _repeat,
    "pieces swapped": _swap,
}


def damaged_copies(content: bytes, n: int, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """Yield n altered copies of a file, each with the way in which it was altered."""
    ways = list(WAYS)
    for k in range(n):
        way = ways[k % len(ways)]
        while True:
            copy = bytearray(content)
            # Half of the places are near the end, where an archive says what is where.
            start = 0 if rng.random() < 0.5 else max(len(content) - 3000, 0)
            WAYS[way](copy, int(rng.integers(start, len(content))), int(rng.integers(1, 40)), rng)
            if copy != content:
                break
        yield way, bytes(copy)


def spoilt_values(value):
    """Yield values of the wrong kind in place of one in JSON."""
    for wrong in (None, -1, 10**30, 0.5, "x", [], {}, True, [[]]):
        if wrong != value or type(wrong) is not type(value):
            yield wrong


def spoilt_headers(header):
    """Yield copies of nested dicts and lists, each with one thing missing, or in the wrong place."""
    keys = list(header) if isinstance(header, dict) else list(range(min(len(header), 3)))
    for key in keys:
        without = header.copy()
        del without[key]
        yield without
        for wrong in spoilt_values(header[key]):
            other = header.copy()
            other[key] = wrong
            yield other
        if isinstance(header[key], dict | list):
            for inner in spoilt_headers(header[key]):
                other = header.copy()
                other[key] = inner
                yield other


def spoilt_arrays(array):
    """Yield arrays in place of one: of other shapes and types, and with values that are out of place."""
    yield from (array[:-1], np.concatenate([array, array[:1]]), array[None], array.astype("U"), array[::-1].copy())
    yield np.zeros((0, *array.shape[1:]), array.dtype)
    wrong_values = {"i": (-1, 0, 1, 2**62), "u": (0, 2**64 - 1), "f": (-1.0, 0.0, 1e300, np.nan, np.inf)}
    for wrong in wrong_values.get(array.dtype.kind, ()) if array.size else ():
        for at in (0, -1):
            other = array.copy()
            other.flat[at] = wrong
            yield other
