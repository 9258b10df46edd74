"""Findings on missing values: where they are, which columns lack them together, and whether that tells the label."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import fisher_exact

from sepc.common.text import listed, many, percent, shortened
from sepc.common.typing import BoolArray, IntArray
from sepc.landscapes.constants import MISSING_BY_CHANCE, MISSING_SHARES_APART
from sepc.landscapes.findings import NAMED, Finding
from sepc.landscapes.known_values import SourceColumn


def missing_findings(
    columns: Sequence[SourceColumn], codes: IntArray, labels: Sequence[str], is_filled: bool
) -> Iterator[Finding]:
    """Yield findings on missing values.

    `codes` are the classes of the records, as numbers of their labels; `is_filled` tells whether ellipsoids are of all
    records, with gaps filled, or of the complete ones.
    """
    masks = [(column.name, column.missing) for column in columns if column.missing.any()]
    if not masks:
        return
    together = _together(masks)
    yield _count(masks, len(codes), is_filled)
    yield from _joint(together, len(codes))
    yield from _by_label(together, codes, labels)


def _together(masks: Sequence[tuple[str, BoolArray]]) -> list[tuple[list[str], BoolArray]]:
    """Return the columns that lack values in the same records, and in which; those of most records first."""
    groups: dict[bytes, tuple[list[str], BoolArray]] = {}
    for name, mask in masks:
        groups.setdefault(mask.tobytes(), ([], mask))[0].append(name)
    return sorted(groups.values(), key=lambda group: -np.count_nonzero(group[1]))


def _count(masks: Sequence[tuple[str, BoolArray]], n: int, is_filled: bool) -> Finding:
    n_gappy = int(np.count_nonzero(np.any([mask for _, mask in masks], axis=0)))
    counts = sorted(((int(np.count_nonzero(mask)), name) for name, mask in masks), key=lambda one: -one[0])
    named = shortened([f"{name} in {k} ({percent(k / n)})" for k, name in counts], NAMED, "column")
    filled = "of all, with likely values in the gaps, and there are no findings on overlaps"
    return Finding(
        "missing-values",
        "note",
        f"values are missing: {shortened([name for _, name in counts], NAMED, 'column')}",
        f"{n_gappy} of {n} records {'lacks' if n_gappy == 1 else 'lack'} a value: {named}. Other findings speak of the "
        f"values that are there; ellipsoids are {filled if is_filled else 'of records without a gap'}.",
        "Nothing need be filled in: records are judged by their known values.",
    )


def _joint(groups: Sequence[tuple[list[str], BoolArray]], n: int) -> Iterator[Finding]:
    for names, mask in groups:
        if len(names) > 1:
            k = int(np.count_nonzero(mask))
            yield Finding(
                "missing-together",
                "note",
                f"{_listed(names)} are missing together in {many(k, 'row')}",
                f"In {k} of {n} records none of these {len(names)} columns has a value; in all others each has one.",
                "Find out what these records have in common, such as a test that was not made.",
            )


def _by_label(
    groups: Sequence[tuple[list[str], BoolArray]], codes: IntArray, labels: Sequence[str]
) -> Iterator[Finding]:
    """Yield a finding on columns that one label lacks more often than the others by more than chance explains."""
    n, told, columns = np.bincount(codes, minlength=len(labels)), [], []
    for names, mask in groups:
        k = np.bincount(codes[mask], minlength=len(labels))
        shares = k / n
        most = int(np.argmax(shares))
        rest = (k.sum() - k[most]) / (n.sum() - n[most])
        if shares[most] - rest < MISSING_SHARES_APART:
            continue
        table = [[k[most], n[most] - k[most]], [k.sum() - k[most], n.sum() - n[most] - k.sum() + k[most]]]
        if fisher_exact(table).pvalue * len(groups) * len(labels) > MISSING_BY_CHANCE:
            continue
        told.append(f"{_listed(names)} in {percent(shares[most])} of {labels[most]} and {percent(rest)} of the others")
        columns += names
    if told:
        yield Finding(
            "missing-by-label",
            "warning",
            f"whether a value is missing depends on the label: {shortened(columns, NAMED, 'column')}",
            f"Missing are {shortened(told, NAMED, 'group', '; ')}: more than chance explains.",
            "Check whether values of new records will be missing for the same reason: a model learns from gaps too.",
        )


def _listed(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= NAMED else shortened(names, NAMED, "column")
