"""Times of day and durations as texts write them: 13:45, 1:45 PM, 36:20:05."""

import pyarrow as pa
from pyarrow import compute

from sepc.cli.written_units import SPACES

_TIME = (
    r"^(?P<hours>\d{1,3})(?P<minutes>:[0-5]\d)?(?P<seconds>:[0-5]\d(?:\.\d+)?)?"
    rf"(?P<half>[{SPACES}]*[aApP]\.?[mM]\.?)?$"
)


def _parts(text: pa.Array) -> list[pa.Array]:
    parts = compute.extract_regex(compute.utf8_trim_whitespace(text), _TIME)
    return [compute.struct_field(parts, name) for name in ("hours", "minutes", "seconds", "half")]


def is_time(text: pa.Array) -> pa.Array:
    """Return which texts are times, null where a text is missing: hours and minutes, or hours before noon or after."""
    _, minutes, _, half = _parts(text)
    found = compute.or_(compute.not_equal(minutes, ""), compute.not_equal(half, ""))
    return compute.if_else(compute.is_null(text), None, compute.fill_null(found, False))


def parse_times(text: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return times in hours, and which texts are no times; both null where a text is missing."""
    hours, minutes, seconds, half = _parts(text)
    half = compute.utf8_lower(compute.utf8_trim_whitespace(half))
    hours = compute.cast(hours, pa.float64())
    hours = compute.if_else(compute.and_(compute.equal(hours, 12.0), compute.not_equal(half, "")), 0.0, hours)
    hours = compute.if_else(compute.starts_with(half, "p"), compute.add(hours, 12.0), hours)
    all_seconds = compute.add(compute.multiply(_number(minutes), 60.0), _number(seconds))
    is_good = is_time(text)
    return compute.if_else(is_good, compute.add(hours, compute.divide(all_seconds, 3600.0)), None), compute.invert(
        is_good
    )


def _number(part: pa.Array) -> pa.Array:
    digits = compute.replace_substring(part, ":", "")
    return compute.cast(compute.if_else(compute.equal(digits, ""), "0", digits), pa.float64())


def are_written_in_two_forms(text: pa.Array) -> tuple[str, str] | None:
    """Return two durations, without seconds and with, that may mean different things; None if there are none."""
    if (compute.max(parse_times(text)[0]).as_py() or 0.0) <= 24.0:  # times of day
        return None
    colons = compute.count_substring(text, ":")
    short, long = (text.filter(compute.equal(colons, n)) for n in (1, 2))
    return (short[0].as_py(), long[0].as_py()) if len(short) and len(long) else None
