"""Promises by parts: whether all of them hold together, and what they accept, in known distributions.

Records fall into parts with known shares; in each the trust is ``T = Q(U)`` for a uniform U, and the label is wrong
with probability ``r(U)``. A run draws calibration records, and its promise is broken if in any part, or any group that
overlaps with others, the true error (or the expected cost) of what is accepted is above the limit.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from measure import row, table
from scipy.stats import binom

from sepc.promises.calibration_verdicts import PartRecords
from sepc.promises.criteria import CostLimit, ErrorLimit
from sepc.promises.selection import part_promises

CONFIDENCE = 0.95
FINE = 20_000
LIMIT = 0.05
COST = 0.15


class Part(NamedTuple):
    """Share of the records, trust and probability of an error by the quantile of the trust, and what an error costs."""

    share: float
    trust: Callable
    risk: Callable
    cost: float = 1.0


def calibrated(worst: float, power: float) -> tuple[Callable, Callable]:
    """Return a trust that is the probability to be right, from 1 down to 1 - worst."""
    return lambda u: 1 - worst * (1 - u) ** power, lambda u: worst * (1 - u) ** power


def tied(*pairs: tuple[float, float, float]) -> tuple[Callable, Callable]:
    """Return trusts with a few values: value, share and risk of each, from the lowest trust up."""
    values, shares, risks = map(np.array, zip(*pairs, strict=True))
    ends = np.cumsum(shares)

    def at(table: np.ndarray, u: np.ndarray) -> np.ndarray:
        return table[np.minimum(np.searchsorted(ends, u), len(table) - 1)]

    return partial(at, values), partial(at, risks)


def _parts(*shares_and_kinds: tuple[float, tuple[Callable, Callable]]) -> list[Part]:
    return [Part(share, *kind) for share, kind in shares_and_kinds]


GOOD, FAIR, WEAK = calibrated(0.2, 3), calibrated(0.4, 2), calibrated(0.5, 0.8)
JUST_ABOVE = (lambda u: u / 2 + 0.5, lambda u: 1.002 * LIMIT + 0 * u)
TIED = tied((0.6, 0.1, 0.4), (0.9, 0.3, 0.06), (1.0, 0.6, 0.01))
LABELS = {
    "three labels, one weak": _parts((0.6, GOOD), (0.25, FAIR), (0.15, WEAK)),
    "three labels, errors just above the limit": _parts((0.6, JUST_ABOVE), (0.25, JUST_ABOVE), (0.15, JUST_ABOVE)),
    "three labels, tied trusts": _parts((0.6, TIED), (0.3, TIED), (0.1, TIED)),
    "four labels, two rare, one never calibrated": _parts((0.69, GOOD), (0.3, FAIR), (0.0099, GOOD), (0.0001, WEAK)),
}
REGIONS = {
    "ten regions": _parts(*((0.1, kind) for kind in [GOOD] * 5 + [FAIR] * 3 + [WEAK, JUST_ABOVE])),
    "fifty regions, sizes fall": [
        Part(share, *kind)
        for share, kind in zip(
            0.9 ** np.arange(50) / (0.9 ** np.arange(50)).sum(), ([GOOD, FAIR, JUST_ABOVE] * 17)[:50], strict=True
        )
    ],
}
COSTS = {
    "two labels, errors cost 1 and 5": [Part(0.7, *GOOD, 1.0), Part(0.3, *GOOD, 5.0)],
    "two labels, just above the limit": [
        Part(0.7, lambda u: u, lambda u: 1.002 * COST + 0 * u, 1.0),
        Part(0.3, lambda u: u, lambda u: 1.002 * COST / 5 + 0 * u, 5.0),
    ],
}
# Three groups that overlap: of a record's combination depends how often it is wrong.
GROUP_SHARES = (0.5, 0.3, 0.2)


class Truth:
    """One part, with the share and the true loss of what each threshold accepts."""

    def __init__(self, part: Part) -> None:
        u = (np.arange(FINE) + 0.5) / FINE
        self.part, self.trust = part, part.trust(u)
        self.order = np.argsort(self.trust, kind="stable")
        self.trust = self.trust[self.order]
        loss = part.cost * part.risk(u)[self.order]
        self.loss = np.cumsum(loss[::-1])[::-1]  # of all from each place on

    def accepts(self, threshold: float | None) -> tuple[float, float]:
        """Return the share that is accepted, and the mean loss over all records of the part."""
        first = FINE if threshold is None else int(np.searchsorted(self.trust, threshold))
        return (1 - first / FINE, self.loss[first] / FINE) if first < FINE else (0.0, 0.0)

    def best(self, limit: float) -> float:
        """Return the share that the lowest threshold that is right accepts."""
        starts = np.flatnonzero(np.append(True, self.trust[1:] > self.trust[:-1]))
        kept = starts[self.loss[starts] <= limit * (FINE - starts)]
        return 1 - kept[0] / FINE if len(kept) else 0.0


class Draw(NamedTuple):
    """Calibration records: part, trust and whether the label is wrong."""

    part: np.ndarray
    trust: np.ndarray
    wrong: np.ndarray


def draw(parts: Sequence[Part], n: int, rng: np.random.Generator) -> Draw:
    which = np.searchsorted(np.cumsum([part.share for part in parts]), rng.random(n)).clip(max=len(parts) - 1)
    u, v = rng.random((2, n))
    trust, wrong = np.empty(n), np.empty(n, dtype=bool)
    for k, part in enumerate(parts):
        mine = which == k
        trust[mine], wrong[mine] = part.trust(u[mine]), v[mine] < part.risk(u[mine])
    return Draw(which, trust, wrong)


def ours(cal: Draw, criteria: Sequence, costs: Sequence[float]) -> list[float | None]:
    """Return the threshold of each part."""
    names = tuple(str(k) for k in range(len(criteria)))
    loss = cal.wrong * np.array(costs)[cal.part]
    records = PartRecords(cal.part, cal.trust, loss, cal.wrong, np.full(len(cal.part), True))
    found = part_promises(records, names, criteria, CONFIDENCE)
    return [part.min_trust for part in found]


def bonferroni(cal: Draw, criteria: Sequence, costs: Sequence[float]) -> list[float | None]:
    """Return the threshold of each part, each with an equal share of the risk, whatever its records."""
    loss, share = cal.wrong * np.array(costs)[cal.part], (1 - CONFIDENCE) / len(criteria)
    found = []
    for k, criterion in enumerate(criteria):
        mine = cal.part == k
        one = criterion.threshold(cal.trust[mine], loss[mine], share) if mine.any() else None
        found.append(None if one is None else one.threshold)
    return found


def mapie(cal: Draw, criteria: Sequence, _costs: Sequence[float]) -> list[float | None]:
    """Return the one threshold that MAPIE's controller finds for the precision of all labels."""
    from mapie.risk_control import MultiClassificationLTTController
    from mapie.risk_control.risks import build_precision_ovr

    n, k = len(cal.part), len(criteria)
    proba = np.repeat(((1 - cal.trust) / (k - 1))[:, None], k, axis=1)
    proba[np.arange(n), cal.part] = cal.trust
    truth = np.where(cal.wrong, (cal.part + 1) % k, cal.part)
    controller = MultiClassificationLTTController(
        predict_function=lambda X: proba[X[:, 0]],
        risks=build_precision_ovr(list(range(k))),
        target_level=[1 - LIMIT] * k,
        confidence_level=CONFIDENCE,
        classes=list(range(k)),
    )
    controller.calibrate(np.arange(n)[:, None], truth)
    found = controller.best_predict_param
    return [None if found is None else float(found)] * k


def by_parts(runs: int) -> None:
    """Print the tables of promises by label, by region and by cost."""
    limit = binom.isf(0.01, runs, 1 - CONFIDENCE) / runs
    print(
        f"### By parts: {runs} calibration sets each, all promises together with a confidence of {CONFIDENCE}\n\n"
        f"Broken: share of runs in which any part's true error is above {LIMIT}, or its expected cost above {COST}; by "
        f"chance at most {limit:.3f}. Accepted: mean share of all new records. Bonferroni: the same tests, the risk "
        "shared equally over all parts. MAPIE: its controller of the precision of each label, which has one threshold "
        "for all of them; 200 runs, for labels only. Best: the lowest right threshold of each part, which only the "
        "distribution tells. Signed: mean number of parts that are promised.\n"
    )
    table(
        "parts",
        "distribution",
        "n",
        *(f"{what}, {way}" for what in ("broken", "accepted") for way in ALL_WAYS),
        "best",
        "signed",
    )
    for kind, worlds in (("label", LABELS), ("region", REGIONS), ("cost", COSTS)):
        for name, parts in worlds.items():
            for n in (2000, 10_000) if kind == "region" else (500, 2000):
                show(kind, name, parts, n, runs, limit)
    print()


def show(kind: str, name: str, parts: list[Part], n: int, runs: int, limit: float) -> None:
    truths, costs = [Truth(part) for part in parts], [part.cost for part in parts]
    level = COST if kind == "cost" else LIMIT
    criteria = [CostLimit(COST, 0.0, cost) if kind == "cost" else ErrorLimit(LIMIT) for cost in costs]
    ways = {"ours": (ours, runs), "Bonferroni": (bonferroni, runs)}
    if kind == "label" and len(parts) == 3:
        ways["MAPIE"] = (mapie, min(runs, 200))
    told = {}
    for way, (find, repeats) in ways.items():
        rng = np.random.default_rng(0)
        outcomes = []
        for _ in range(repeats):
            thresholds = find(draw(parts, n, rng), criteria, costs)
            accepted = [truth.accepts(t) for truth, t in zip(truths, thresholds, strict=True)]
            broken = any(lost > level * share * (1 + 1e-9) for share, lost in accepted)
            covered = sum(part.share * share for part, (share, _) in zip(parts, accepted, strict=True))
            outcomes.append((broken, covered, sum(share > 0 for share, _ in accepted)))
        told[way] = np.mean(outcomes, axis=0)
    best = sum(part.share * truth.best(level) for part, truth in zip(parts, truths, strict=True))
    row(
        name,
        n,
        *(f"{told[way][0]:.3f}{' (!)' if told[way][0] > limit else ''}" if way in told else "-" for way in ALL_WAYS),
        *(f"{told[way][1]:.3f}" if way in told else "-" for way in ALL_WAYS),
        f"{best:.3f}",
        f"{told['ours'][2]:.1f} of {len(parts)}",
    )


ALL_WAYS = ("ours", "Bonferroni", "MAPIE")


def by_groups(runs: int) -> None:
    """Print the table of promises by groups that overlap."""
    limit = binom.isf(0.01, runs, 1 - CONFIDENCE) / runs
    print(
        f"### By groups that overlap: {runs} calibration sets each\n\n"
        "Three groups, of which each record is in any number. Ours promises each combination. One threshold for each "
        "group, where a record is accepted if its trust is enough for all its groups, looks natural, and promises "
        "nothing of records in several groups.\n"
    )
    table(
        "groups",
        "distribution",
        "n",
        *(f"{what}, {way}" for what in ("broken", "accepted") for way in ("ours", "one per group")),
    )
    for name, kind in GROUP_WORLDS.items():
        for n in (1000, 4000):
            show_groups(name, kind, n, runs, limit)
    print()


def _alike(_members: np.ndarray) -> tuple[Callable, Callable]:
    return FAIR


def _wrong_where_they_meet(members: np.ndarray) -> tuple[Callable, Callable]:
    return WEAK if members.sum() >= 2 else GOOD


def _one_makes_up_for_the_other(members: np.ndarray) -> tuple[Callable, Callable]:
    """Return what lets the second group keep its limit by records that the threshold of the first one refuses."""
    if members[1] and not members[0]:
        return (lambda u: 0.8 + 0.2 * u, lambda u: 0.07 + 0 * u)
    if members[1]:
        return (lambda u: 0.6 + 0 * u, lambda u: 0 * u)
    return tied((0.6, 0.5, 0.4), (0.9, 0.5, 0.0))


GROUP_WORLDS = {
    "all combinations alike": _alike,
    "wrong where groups meet": _wrong_where_they_meet,
    "one group makes up for another": _one_makes_up_for_the_other,
}


def show_groups(name: str, kind: Callable, n: int, runs: int, limit: float) -> None:
    cells = np.array(np.meshgrid(*[[0, 1]] * 3, indexing="ij")).reshape(3, -1).T.astype(bool)
    shares = np.prod(np.where(cells, GROUP_SHARES, 1 - np.array(GROUP_SHARES)), axis=1)
    parts = [Part(share, *kind(cell)) for share, cell in zip(shares, cells, strict=True)]
    truths = [Truth(part) for part in parts]
    rng, outcomes = np.random.default_rng(0), []
    for _ in range(runs):
        cal = draw(parts, n, rng)
        by_cell = ours(cal, [ErrorLimit(LIMIT)] * len(parts), [1.0] * len(parts))
        outcomes.append([*judged(cells, parts, truths, by_cell), *judged(cells, parts, truths, per_group(cal, cells))])
    broken, accepted, broken_per_group, accepted_per_group = np.mean(outcomes, axis=0)
    marks = (f"{b:.3f}{' (!)' if b > limit else ''}" for b in (broken, broken_per_group))
    row(name, n, *marks, f"{accepted:.3f}", f"{accepted_per_group:.3f}")


def per_group(cal: Draw, cells: np.ndarray) -> list[float | None]:
    """Return the threshold of each combination: the highest of those of its groups, each found for itself."""
    member, n_groups = cells[cal.part], cells.shape[1]
    found = []
    for g in range(n_groups):
        mine = member[:, g]
        one = ErrorLimit(LIMIT).threshold(cal.trust[mine], 1.0 * cal.wrong[mine], (1 - CONFIDENCE) / n_groups)
        found.append(None if one is None else one.threshold)
    return [
        None if not cell.any() or any(found[g] is None for g in np.flatnonzero(cell)) else
        max(found[g] for g in np.flatnonzero(cell))
        for cell in cells
    ]  # fmt: skip


def judged(cells: np.ndarray, parts: list[Part], truths: list[Truth], thresholds: list) -> tuple[bool, float]:
    """Return whether any group's error is above the limit, and the share of all records that is accepted."""
    accepted = np.array([truth.accepts(t) for truth, t in zip(truths, thresholds, strict=True)])
    mass = np.array([part.share for part in parts])[:, None] * accepted  # accepted, and wrong among all records
    of_group = cells.T.astype(float) @ mass
    return bool((of_group[:, 1] > LIMIT * of_group[:, 0] * (1 + 1e-9)).any()), float(mass[:, 0].sum())
