"""What the reliability plot shows, in words: how often labels of each trust were right."""

from typing import Any

import numpy as np

from sepc.common.intervals import exact_interval
from sepc.common.text import many, percent
from sepc.reports.subject import Subject

# Bands of the trust, the surest first: from where on, and what it is called.
_BANDS = ((0.99, "99 % or more"), (0.9, "90 to 99 %"), (0.0, "less than 90 %"))


def trust_bands(subject: Subject) -> list[dict[str, Any]]:
    """Return how many test records got a label of each band of the trust, and how many of these are right."""
    bands, upper = [], np.inf
    for low, words in _BANDS:
        here = (subject.trust >= low) & (subject.trust < upper)
        upper = low
        n, n_right = int(np.count_nonzero(here)), int(np.count_nonzero(subject.right & here))
        if n:
            trust = float(subject.trust[here].mean())
            interval = list(exact_interval(n_right, n))
            bands.append({"words": words, "n_records": n, "n_right": n_right, "trust": trust, "interval": interval})
    return bands


def trust_in_words(bands: list[dict[str, Any]]) -> str:
    """Return sentences on how often labels were right, and on whether their trust says so.

    A band holds if its mean trust is in the exact 95 % interval of the share that is right.
    """
    told: list[str] = []
    for band in bands:
        n, n_right = band["n_records"], band["n_right"]
        start = "of" if told else "Of"
        trust = band["words"] if told else f"a trust of {band['words']}"
        rightly = f"{n_right:,} {'was' if n_right == 1 else 'were'} right ({percent(n_right / n)})"
        told.append(f"{start} {many(n, 'label')} with {trust}, {rightly}")
    too_much = [band["words"] for band in bands if band["trust"] > band["interval"][1]]
    too_little = [band["words"] for band in bands if band["trust"] < band["interval"][0]]
    if not too_much and not too_little:
        verdict = "That is what such a trust claims, within chance."
    else:
        verdict = " ".join(
            f"The trust claims too {how} where it is {' and '.join(which)}."
            for how, which in (("much", too_much), ("little", too_little))
            if which
        )
    return f"{'; '.join(told)}. {verdict}"
