"""Words of all texts for people: shares, counts, lists, values, lengths, and the meaning of each trust method."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple


class TrustText(NamedTuple):
    """What the trust of a method means, and its limitation."""

    meaning: str
    caveat: str


ENSEMBLE, AROUND = "ensemble", "around"
# By the values of a classifier's `trust`, the default first, an ensemble's, and that around a model. The parser of
# the command line lists them, and this module loads quickly.
TRUST_TEXTS = {
    "local": TrustText(
        "Each ellipsoid's training records, or those of several that look like one cloud, are read as a local "
        "distribution; the trust is the label's probability by Bayes' formula, calibrated by what partitions without a "
        "part of the training records say of that part.",
        "It is calibrated on average over records like the training records, not for each kind of them.",
    ),
    "raw": TrustText(
        "Each ellipsoid's training records are read as a local distribution; the trust is the label's probability by "
        "Bayes' formula, not calibrated.",
        "The records that shaped an ellipsoid also speak for it. Read 0.99 as very one-sided here, not as 1 error in "
        "100.",
    ),
    "counts": TrustText(
        "The trust is the label's smoothed share of the held-out records in the deciding region.",
        "All records of a region get the same, so many are tied.",
    ),
    "bound": TrustText(
        "The trust is what the label's share of the held-out records in the deciding region exceeds with a probability "
        "of 95 %.",
        "It is a cautious lower end, below the share on purpose, and no probability of being right.",
    ),
    "paper": TrustText(
        "The trust is the paper's formula, from the counts of all training records in the deciding region.",
        "It is no probability: a pure region has a trust of 1 whether it holds 2 records or 2000.",
    ),
    ENSEMBLE: TrustText(
        "The log odds of one label against another are the weighted sum of what each member says of them, and the "
        "difference of the leanings. The trust is the label's probability by these odds.",
        "The weights were learnt from training records that the members had not seen. The trust is calibrated on "
        "average over records like the training records.",
    ),
    AROUND: TrustText(
        "The log odds of one label against another are the weighted sum of those of the model and of the regions, and "
        "a correction of each label. The trust is the label's probability by these odds.",
        "Weights and corrections were learnt from records that neither had seen. The trust is calibrated on average "
        "over records like these.",
    ),
}
# The values of a classifier's `trust`.
TRUST_METHODS = tuple(method for method in TRUST_TEXTS if method not in (ENSEMBLE, AROUND))


def percent(share: float) -> str:
    """Return a share in per cent."""
    # 99.96 % must not be rounded to certainty, nor 0.04 % to impossibility.
    text = f"{100 * share:.1f}"
    if text == "0.0" and share > 0.0:
        return "under 0.1 %"
    return "over 99.9 %" if text == "100.0" and share < 1.0 else f"{text.removesuffix('.0')} %"


def percents_apart(one: float, other: float) -> tuple[str, str]:
    """Return two shares in per cent, with as many digits as tell them apart."""
    texts = percent(one), percent(other)
    for digits in range(2, 15):
        if texts[0] != texts[1] or one == other:
            break
        texts = f"{100 * one:.{digits}f} %", f"{100 * other:.{digits}f} %"
    return texts


def at_least(threshold: float) -> str:
    """Return a threshold as text, rounded up to four digits; of one below 1 as many more as stay below 1.

    Examples
    --------
    >>> at_least(0.840766497230694), at_least(0.95), at_least(0.99998612), at_least(1.0)
    ('0.8408', '0.95', '0.99999', '1')
    """
    exact = rounded = Decimal(repr(float(threshold)))
    for digits in range(4, 18):
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        if rounded < 1 or exact >= 1:
            break
    return f"{rounded.normalize():f}"


def plural(noun: str, n: int) -> str:
    """Return a noun as it follows a number."""
    return noun if n == 1 else f"{noun}s"


def many(n: int, noun: str) -> str:
    """Return a number and its noun."""
    return f"{n:,} {plural(noun, n)}"


def listed(parts: Sequence[str]) -> str:
    """Return words as an enumeration: "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def nearly_same(texts: Iterable[str]) -> list[list[str]]:
    """Return the groups of texts that differ only in case, blanks or the spelling of a number, each in their order.

    Examples
    --------
    >>> nearly_same(["male", "female", "Male", "1", "1.0"])
    [['male', 'Male'], ['1', '1.0']]
    """
    alike: dict[object, list[str]] = {}
    for text in texts:
        alike.setdefault(_plain_form(text), []).append(text)
    return [group for group in alike.values() if len(group) > 1]


def _plain_form(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return " ".join(text.casefold().split())


def shortened(items: Iterable[object], most: int, noun: str = "", between: str = ", ") -> str:
    """Return the first `most` items, and the number of the others, each of which is a `noun`.

    Examples
    --------
    >>> shortened(["age", "dose", "site"], 2, "column")
    'age, dose and 1 more column'
    """
    every = list(items)
    n_more = len(every) - most
    more = f" and {n_more} more {plural(noun, n_more) if noun else ''}".rstrip() if n_more > 0 else ""
    return f"{between.join(map(str, every[:most]))}{more}"


def in_words(value: float | str | bool | None) -> str:
    """Return a value of a record as text; None is a missing one.

    A number of at most 7 digits was measured, and is shown in full; any other was computed, and is rounded to 4 digits.
    """
    if value is None:
        return "missing"
    if not isinstance(value, float):
        return str(value)
    exact, rounded = f"{value:.7g}", f"{value:.4g}"
    if float(exact) == value and "e" not in exact:
        return exact
    # Below 1e15 whole numbers are easier to read than powers of ten.
    return f"{value:.0f}" if "e+" in rounded and abs(value) < 1e15 else rounded


def length_in_words(distance: float, unit: str) -> str:
    """Return a distance with its unit."""
    amount = f"{distance:.2g}" if distance < 10 else f"{distance:.0f}"
    return f"{amount} {unit.removesuffix('s') if amount == '1' else unit}"
