"""Where a classifier fails: regions of held-out records with more errors than elsewhere, as rules on their columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import hypergeom
from sklearn.base import clone

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.intervals import exact_interval
from sepc.common.splits import Hashes, record_hashes
from sepc.common.text import many, percent
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import known_labels, require_share
from sepc.landscapes.failing_rules import Axis, Rule, failing_rules, under
from sepc.landscapes.rule_columns import RuleColumns

# Of 48 planted regions of 20 in 1,000 records, two parts find 29 %, three and five 42 %; five take twice as long.
N_PARTS = 3
# Values of a category that rules can name, at least: one of 2 % of the records may be where a model fails.
_MOST_LEVELS = 100
# Columns of the table.
_FIELDS = (
    *("rule", "n_records", "n_tested", "n_errors", "error_rate", "low", "high", "elsewhere", "lift"),
    *("share_of_errors", "p_value"),
)


@dataclass(frozen=True, eq=False, slots=True)
class FailingRegion:
    """A rule under which errors are more frequent than elsewhere.

    Attributes
    ----------
    rule : str
        In the columns' own words.
    n_records : int
        Held-out records under the rule.
    n_tested : int
        Those of them that the search for the rule has not seen. All that follows is of such records.
    n_errors : int
    error_rate, low, high : float
        Share of errors, with its interval.
    elsewhere : float
        Share of errors among the records that are not under the rule.
    share_of_errors : float
        Share of all errors that is under the rule.
    p_value : float
        Of the hypothesis that errors are no more frequent than elsewhere, adjusted for all rules that were tested.
    """

    rule: str
    n_records: int
    n_tested: int
    n_errors: int
    error_rate: float
    low: float
    high: float
    elsewhere: float
    share_of_errors: float
    p_value: float
    bins: Rule = field(repr=False)

    @property
    def lift(self) -> float:
        """The error rate as a multiple of that elsewhere."""
        return self.error_rate / self.elsewhere if self.elsewhere else float("inf")

    @property
    def text(self) -> str:
        """The region in one sentence."""
        return (
            f"Where {self.rule}: {self.n_errors} of {many(self.n_tested, 'record')} wrong, {percent(self.error_rate)} "
            f"({percent(self.low)} to {percent(self.high)}), against {percent(self.elsewhere)} elsewhere; "
            f"{percent(self.share_of_errors)} of all errors."
        )

    def row(self) -> dict[str, Any]:
        """Return the numbers by their names in the table, ready for JSON but for a lift without errors elsewhere."""
        return {name: getattr(self, name) for name in _FIELDS}


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class ErrorLandscape:
    """Where a classifier fails on held-out records, as `error_landscape` returns it.

    Attributes
    ----------
    n_records, n_errors : int
        Held-out records, and how many of their predicted labels are wrong.
    regions : tuple of FailingRegion
        The most certain one first; none if errors are not known to be more frequent anywhere.
    region_of : ndarray of int, shape (n_records,)
        Number of the first region that each record is in, counted from 0; -1 for none.
    n_tested : int
        Rules that were tested.
    max_fdr, confidence : float

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> X = np.linspace(0.0, 1.0, 400)[:, None]
    >>> found = error_landscape(DummyClassifier().fit(X, np.zeros(400)), X, X[:, 0] > 0.9)
    >>> found
    40 of 400 labels wrong.
    Where x0 above 0.9: 16 of 16 records wrong, 100 % (74.1 % to 100 %), against 0 % elsewhere; 100 % of all errors.
    """

    n_records: int
    n_errors: int
    regions: tuple[FailingRegion, ...]
    region_of: IntArray
    n_tested: int
    max_fdr: float
    confidence: float
    columns: RuleColumns | None
    frames: FrameMaker

    def to_frame(self) -> Any:
        """Return one row per region, with the fields of `FailingRegion` and its lift.

        Returns
        -------
        pandas.DataFrame
            A polars frame if X was one.
        """
        return self.frames.frame({name: [getattr(region, name) for region in self.regions] for name in _FIELDS})

    def assign(self, X: Any) -> IntArray:
        """Return the number of the first region that each of some new records is in, -1 for none.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            With the columns of the held-out records.

        Returns
        -------
        ndarray of int, shape (n,)

        Examples
        --------
        >>> from sklearn.dummy import DummyClassifier
        >>> X = np.linspace(0.0, 1.0, 400)[:, None]
        >>> found = error_landscape(DummyClassifier().fit(X, np.zeros(400)), X, X[:, 0] > 0.9)
        >>> found.assign([[0.5], [0.95]]).tolist()
        [-1, 0]
        """
        found = np.full(len(X), -1)
        for k in reversed(range(len(self.regions))):
            found[self.members(X, k)] = k
        return found

    def members(self, X: Any, region: int) -> BoolArray:
        """Return which of some records are in a region, given by its number.

        Parameters
        ----------
        X : table of shape (n, n_columns)
        region : int

        Returns
        -------
        ndarray of bool, shape (n,)

        Examples
        --------
        >>> from sklearn.dummy import DummyClassifier
        >>> X = np.linspace(0.0, 1.0, 400)[:, None]
        >>> found = error_landscape(DummyClassifier().fit(X, np.zeros(400)), X, X[:, 0] > 0.9)
        >>> found.members([[0.5], [0.95]], 0).tolist()
        [False, True]
        """
        rule = self.regions[region].bins
        assert self.columns is not None  # where there are regions there are columns
        return under(self.columns.axes(_features(self.columns.encoder, X)), rule)

    def summary(self) -> str:
        """Return everything in plain sentences, one for each line."""
        head = f"{self.n_errors:,} of {many(self.n_records, 'label')} wrong."
        if not self.regions:
            return f"{head}\nNo region is known to have more errors than elsewhere."
        return "\n".join([head, *(region.text for region in self.regions)])

    def __repr__(self) -> str:
        return self.summary()


def error_landscape(
    clf: Any, X: Any, y: Any, *, max_fdr: float = 0.05, confidence: float = 0.95, encoder: Any = None
) -> ErrorLandscape:
    """Find regions of held-out records where a classifier is wrong more often than elsewhere.

    Parameters
    ----------
    clf : classifier
        Fitted; anything with `predict`, which gets X as it came.
    X : table of shape (n, n_columns)
        Held-out records: a frame with numbers, texts, categories, dates and gaps, or an array.
    y : array-like of shape (n,)
        Their true labels.
    max_fdr : float, default=0.05
        Largest false discovery rate: expected share of regions that are none. It bounds the probability of any such
        region, too.
    confidence : float, default=0.95
        Confidence that all intervals hold together.
    encoder : TableEncoder, optional
        Not fitted, with parameters of its own, such as `categorical_features`. It names 100 values of a category or
        more, and keeps gaps.

    Returns
    -------
    ErrorLandscape

    Notes
    -----
    The records are split into three parts. On each two of them, the paper's algorithm partitions wrong and right
    answers, and its ellipsoids of wrong ones become at most five rules of few conditions. On the third part, whose
    answers these rules do not depend on, the number of errors under a rule is hypergeometric if errors are as frequent
    as elsewhere. Holm's method at `max_fdr` / 3 for each part bounds the probability that any rule is reported under
    which errors are not more frequent, whatever the dependence between rules. Intervals are Clopper and Pearson's, with
    Bonferroni's correction for all tested rules. A rule is dropped if, beyond the records of
    more certain ones, its errors are no more frequent.

    The records must be independent of each other and of the fit. The result does not depend on the order of the rows.

    References
    ----------
    Y. Chung, T. Kraska, N. Polyzotis, K. H. Tae, S. E. Whang, "Automated data slicing for model validation", IEEE
    Transactions on Knowledge and Data Engineering 32 (2020) 2284-2296.

    Examples
    --------
    A model that knows one label is wrong on the other one.

    >>> from sklearn.dummy import DummyClassifier
    >>> X = np.linspace(0.0, 1.0, 400)[:, None]
    >>> clf = DummyClassifier().fit(X, np.zeros(400))
    >>> error_landscape(clf, X, X[:, 0] > 0.9).to_frame()["rule"].tolist()
    ['x0 above 0.9']
    """
    if not hasattr(clf, "predict"):
        raise InputError("error-landscape-clf", type=type(clf).__name__)
    require_share(max_fdr, "max_fdr", 0.05)
    require_share(confidence, "confidence", 0.95)
    truth = known_labels(X, y, "test")
    return landscape_of_errors(X, _wrong(clf, X, truth), max_fdr=max_fdr, confidence=confidence, encoder=encoder)


def landscape_of_errors(
    X: Any, wrong: BoolArray, *, max_fdr: float = 0.05, confidence: float = 0.95, encoder: Any = None
) -> ErrorLandscape:
    """Do what `error_landscape` does, with known errors, shape (n,)."""
    frames, n_wrong = FrameMaker(FrameMaker.like(X).library), int(wrong.sum())
    encoder = _fitted(encoder, X) if 0 < n_wrong < len(wrong) else None
    if encoder is None:
        nowhere = np.full(len(wrong), -1)
        return ErrorLandscape(len(wrong), n_wrong, (), nowhere, 0, max_fdr, confidence, None, frames)
    features = _features(encoder, X)
    order, part = _parts(features, wrong)
    columns = RuleColumns.of(encoder, features)
    axes = columns.axes(features)
    ordered = [axis.of(order) for axis in axes]
    tested = list(_tested(ordered, wrong[order], part))
    certain = sorted(_holm(tested, max_fdr / N_PARTS), key=lambda one: one[0])
    kept = _distinct(ordered, wrong[order], part, certain, max_fdr / N_PARTS)
    level = 1.0 - (1.0 - confidence) / max(len(tested), 1)
    regions = tuple(_region(one, p, columns, ordered, level) for p, one in kept)
    return ErrorLandscape(
        len(wrong),
        n_wrong,
        regions,
        _first(axes, [region.bins for region in regions]),
        len(tested),
        max_fdr,
        confidence,
        columns,
        frames,
    )


def _wrong(clf: Any, X: Any, truth: list[Any]) -> BoolArray:
    """Return which predicted labels are wrong, shape (n,)."""
    predicted = np.asarray(clf.predict(X), dtype=object).reshape(-1).tolist()
    if len(predicted) != len(truth):
        raise InputError("error-landscape-predictions", n_predicted=len(predicted), n=len(truth))
    if isinstance(predicted[0], str) != isinstance(truth[0], str):
        raise InputError("error-landscape-labels", predicted=predicted[0], label=truth[0])
    return np.array([one != other for one, other in zip(predicted, truth, strict=True)], dtype=bool)


def _fitted(encoder: Any, X: Any) -> Any:
    """Return an encoder of X that keeps gaps; None if no column tells records apart."""
    from sepc.tables.encoder import TableEncoder  # the one room above that is looked at; it needs pandas

    if encoder is not None and not isinstance(encoder, TableEncoder):
        raise InputError("error-landscape-encoder", type=type(encoder).__name__)
    try:
        encoder = clone(TableEncoder() if encoder is None else encoder)
        most = max(encoder.max_levels, _MOST_LEVELS)
        return encoder.set_params(keep_gaps=True, max_levels=most).fit(X)
    except InputError as error:
        if error.code not in ("table-without-differences", "one-sample"):
            raise
        return None


def _features(encoder: Any, X: Any) -> FloatArray:
    return np.asarray(encoder.transform(X), dtype=np.float64)


def _parts(features: FloatArray, wrong: BoolArray) -> tuple[IntArray, IntArray]:
    """Return an order of the records that does not depend on that of the rows, and the part of each in that order."""
    hashes = record_hashes(np.nan_to_num(features, nan=0.1))
    order = np.lexsort([wrong, hashes])
    hashes = hashes[order]
    is_first = np.concatenate([[True], hashes[1:] != hashes[:-1]])
    if 2 * np.count_nonzero(is_first) < len(hashes):
        # A table of few values: equal records are no copies. Which part one is in does not depend on its answer.
        hashes = _one_by_one(hashes, is_first)
    return order, (hashes >> np.uint64(17)).astype(np.int64) % N_PARTS


def _one_by_one(hashes: Hashes, is_first: BoolArray) -> Hashes:
    """Return hashes of equal records, which follow each other, that differ by their number among them."""
    at = np.arange(len(hashes))
    number = at - np.maximum.accumulate(np.where(is_first, at, 0))
    return record_hashes(np.column_stack([hashes.view(np.float64), number.astype(np.float64)]))


class _Tested(NamedTuple):
    """A rule, its counts among the records that it does not depend on, its part and its p-value."""

    rule: Rule
    n: int
    n_errors: int
    n_all: int
    n_all_errors: int
    part: int
    p_value: float


def _tested(axes: list[Axis], wrong: BoolArray, part: IntArray) -> Iterator[_Tested]:
    """Yield the rules that all parts but one propose, tested on that one."""
    for k in range(N_PARTS):
        seen, other = part != k, part == k
        others = [axis.of(other) for axis in axes]
        for rule in failing_rules([axis.of(seen) for axis in axes], wrong[seen]):
            held = under(others, rule)
            n, n_errors = int(held.sum()), int(wrong[other][held].sum())
            yield _Tested(rule, n, n_errors, int(other.sum()), int(wrong[other].sum()), k, p_value(wrong[other], held))


def _holm(tested: list[_Tested], level: float) -> Iterator[tuple[float, _Tested]]:
    """Yield the rules that Holm's method keeps within each part, with their adjusted p-values."""
    for k in range(N_PARTS):
        of_part = sorted((one for one in tested if one.part == k), key=lambda one: one.p_value)
        adjusted = 0.0
        for i, one in enumerate(of_part):
            adjusted = min(1.0, max(adjusted, (len(of_part) - i) * one.p_value))
            if adjusted > level:
                break
            yield min(1.0, N_PARTS * adjusted), one


def _distinct(
    axes: list[Axis], wrong: BoolArray, part: IntArray, found: list[tuple[float, _Tested]], level: float
) -> Iterator[tuple[float, _Tested]]:
    """Yield the regions, the most certain first, that say more than those before.

    That is, beyond these, errors are still more frequent under the rule, by the same test.
    """
    beyond = np.ones(len(wrong), dtype=bool)
    for p, one in found:
        held, rest = under(axes, one.rule), beyond & (part == one.part)
        if p_value(wrong[rest], held[rest]) <= level:
            beyond &= ~held
            yield p, one


def p_value(wrong: BoolArray, held: BoolArray) -> float:
    """Return the p-value of the hypothesis that errors are not more frequent among the records that a rule holds for.

    Given the numbers of records and errors, the number of errors under the rule is hypergeometric if errors are as
    frequent as elsewhere, and smaller if they are less frequent.
    """
    return float(hypergeom.sf(np.sum(wrong & held) - 1, len(wrong), wrong.sum(), held.sum()))


def _region(one: _Tested, p: float, columns: RuleColumns, axes: list[Axis], confidence: float) -> FailingRegion:
    low, high = exact_interval(one.n_errors, one.n, confidence)
    return FailingRegion(
        rule=columns.words(one.rule),
        n_records=int(under(axes, one.rule).sum()),
        n_tested=one.n,
        n_errors=one.n_errors,
        error_rate=one.n_errors / one.n,
        low=low,
        high=high,
        elsewhere=(one.n_all_errors - one.n_errors) / max(one.n_all - one.n, 1),
        share_of_errors=one.n_errors / one.n_all_errors,
        p_value=p,
        bins=one.rule,
    )


def _first(axes: list[Axis], rules: list[Rule]) -> IntArray:
    """Return the number of the first rule that holds for each record, -1 for none."""
    found = np.full(len(axes[0].codes), -1)
    for k in reversed(range(len(rules))):
        found[under(axes, rules[k])] = k
    return found
