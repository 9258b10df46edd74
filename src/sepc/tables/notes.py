"""Sentences on what an encoder makes of the columns of a table."""

from sepc.common.text import plural, shortened
from sepc.tables.cells import BOOL, DATE, MISSING, NUMBER, OTHER, date_text
from sepc.tables.columns import CATEGORY, LEFT_OUT, Column

# From so many features on a fit of an ensemble takes several times as long as a forest's.
MANY_FEATURES = 300
_NAMES_SHOWN = 6


def notes_on(columns: tuple[Column, ...], n_features: int) -> list[str]:
    """Return sentences for people on what was made of the columns."""
    as_they_are = [c.name for c in columns if c.kind == NUMBER and not c.n_missing]
    notes = [f"Numbers, taken as they are: {shortened(as_they_are, _NAMES_SHOWN)}."] if as_they_are else []
    notes += [f"{c.name}: {_features(c)}{_missing(c)}." for c in columns if c.name not in as_they_are]
    if n_features > MANY_FEATURES:
        notes.append(
            f"The table became {n_features} features. If a fit takes too long, drop columns that say little, or set a "
            "smaller max_levels."
        )
    return notes


def _features(column: Column) -> str:
    if column.kind == CATEGORY:
        return _category(column)
    if column.kind == DATE:
        return f"dates, as days since the earliest one, {date_text(column.origin, column.whole)}"
    return {NUMBER: "numbers", BOOL: "true or false, as 1 or 0"}.get(column.kind, f"left out: {column.reason}")


def _category(column: Column) -> str:
    own = [level for level in column.levels if level not in (MISSING, OTHER)]
    rare = len([text for text in column.pooled if text != MISSING])
    if len(column.levels) == 2:
        features = f"one feature that says whether it is {column.levels[1]}"
    else:
        features = f"one feature for each{f' of the {len(own)} most frequent ones' if rare else ''}"
    pooled = f"; {rare} rare {plural('value', rare)} count{'' if rare > 1 else 's'} as {OTHER}" if rare else ""
    return f"category with {len(own) + rare} {plural('value', len(own) + rare)}, {features}{pooled}"


def _missing(column: Column) -> str:
    if not column.n_missing or column.kind == LEFT_OUT:
        return ""
    n = f"; {column.n_missing} missing {plural('value', column.n_missing)}"
    if column.keeps_gaps and (MISSING not in column.levels if column.kind == CATEGORY else column.varies):
        stay = "stays missing" if column.n_missing == 1 else "stay missing"
        return f"{n} {stay}{', and a feature says which' if column.flagged else ''}"
    if column.kind == CATEGORY:
        return f"{n} count as {MISSING if MISSING in column.levels else OTHER}"
    if not column.varies:
        return f"{n}, and a feature says which; all others are the same"
    median = column.value_of(column.fill)
    stand_in = f"the median, {f'{median:.4g}' if column.kind == NUMBER else median}"
    return f"{n} became {stand_in}{', and a feature says which' if column.flagged else ''}"
