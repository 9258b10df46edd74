"""Decisions: which label, which trust by which method, whether it is contested."""

from types import SimpleNamespace

import numpy as np
import pytest
from coded import raises
from fitted_classifiers import overlapping, voters
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from planted_partitions import discs, make_rules, planted
from strategies import examples, labelled_points
from texts import only_with

from sepc import SEPClassifier
from sepc.model.decision import (
    TRUST_METHODS,
    decide_by_counts,
    decide_by_probability,
    deciding_problem,
    label_counts,
    lower_bound_of,
    require_method,
    share_of,
    trust_of,
)
from sepc.model.partition_model import CountModel
from sepc.model.verdicts import RegionNames, Verdicts

ignore_few = pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
RULES = make_rules(np.zeros((1, 1)), np.ones((1, 1)), planted(discs((0.0,)), (0,)))


def verdicts_with(counts):
    """Return verdicts with these counts, none of them by one ellipsoid alone."""
    n = len(counts)
    nobody = np.full(n, -1)
    rule, distance, points = np.zeros(n, dtype=int), np.zeros(n), np.zeros((n, 1))
    return Verdicts(np.array(counts), rule, nobody, nobody, distance, RegionNames([], n), points)


@st.composite
def sizes_and_counts(draw):
    """Return class sizes, and counts in their binary problems on 40 points; on the first all labels are tied."""
    n_classes = draw(st.integers(2, 5))
    counts = draw(arrays(np.int64, (1 if n_classes == 2 else n_classes, 40, 2), elements=st.integers(0, 3)))
    counts[:, 0] = 2
    return 10 * draw(arrays(np.int64, n_classes, elements=st.integers(1, 3))), counts


class TestChoice:
    """Which label the counts give."""

    def choose(self, counts, totals):
        A, B = np.zeros((totals[0], 1)), np.ones((totals[1], 1))
        rules = make_rules(A, B, planted(discs((0.0,), radius=0.5), (0,)))
        v = rules.judge(np.array([[0.0]]))
        v.counts[:] = counts
        return decide_by_counts([v], [rules], np.array(totals))

    def test_more_points_win_whatever_the_class_sizes(self):
        assert self.choose([3, 2], [4, 900]).label.tolist() == [0]
        assert self.choose([2, 3], [900, 4]).label.tolist() == [1]

    def test_equal_counts_go_to_the_larger_class(self):
        assert self.choose([2, 2], [5, 9]).label.tolist() == [1]
        assert self.choose([2, 2], [9, 5]).label.tolist() == [0]

    def test_equal_counts_and_classes_go_to_the_first(self):
        d = self.choose([2, 2], [5, 5])
        assert d.label.tolist() == [0]
        assert d.contested.tolist() == [True]
        assert 0.5 < d.proba[0, 0] < 0.5 + 1e-6

    def test_an_outnumbered_ellipsoid_is_contested(self):
        assert self.choose([2, 3], [5, 5]).contested.tolist() == [True]
        assert self.choose([3, 2], [5, 5]).contested.tolist() == [False]

    def test_trust_weighs_in_the_class_sizes(self):
        d = self.choose([5, 2], [10, 300])
        assert d.trust[0] == pytest.approx(1 / (1 + 2 * 300 / (6 * 11)))
        assert d.trust[0] < 0.5


@ignore_few
@pytest.mark.parametrize("trust", ["counts", "bound"])
class TestNothingCounted:
    @pytest.mark.parametrize(("n_features", "has_regions"), [(3, True), (30, False)])
    def test_the_label_is_theirs_who_shaped_the_region(self, trust, n_features, has_regions):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, n_features)), np.repeat([0, 1], 6)
        X[y == 1] += 3
        clf = SEPClassifier(trust=trust).fit(X, y)
        a = clf.assess(X)
        assert np.array_equal(a.label, y)
        nothing = a.counts.sum(axis=1) == 0
        assert nothing.any()
        assert (a.reason[nothing] == "contested").all()
        assert (a.trust[nothing] <= 0.5).all()
        why = clf.explain(X[nothing.argmax()])
        assert (bool(why.regions), set(why.counts.values())) == (has_regions, {0})
        # Such a label gets other words than one that is confirmed.
        assert len(only_with(why, counts={"own": 9, "others": 0})) == (2 if has_regions else 0)

    @examples(40)
    @given(data=labelled_points())
    def test_regions_of_one_label_alone(self, trust, data):
        A, B, n_imp = data
        X, y = np.vstack([A, B]), np.repeat(["a", "b"], [len(A), len(B)])
        a = SEPClassifier(trust=trust, n_imp=n_imp).fit(X, y).assess(X)
        for label, region, counts in zip(a.label, a.region, a.counts, strict=True):
            owners = {name.removeprefix("~")[0] for name in region.replace("|", "&").split("&")}
            if counts.sum() == 0 and len(owners) == 1 and "@" not in region:
                assert owners == {label}


@pytest.mark.parametrize("trust", ["local", "raw"])
def test_a_label_is_contested_where_another_has_a_third_of_the_probability(trust):
    X, y, Z = overlapping(3)
    clf = SEPClassifier(trust=trust).fit(X, y)
    a, proba = clf.assess(Z), clf.predict_proba(Z)
    rival = np.sort(proba, axis=1)[:, -2]
    assert 0 < a.contested.sum() < len(a)
    assert np.array_equal(a.contested, rival >= 1 / 3)
    assert np.array_equal(a.reason == "contested", a.contested & ~(a.typicality < 0.01) & ~a.is_beyond)


class TestDecidingProblem:
    def test_the_only_problem_has_a_side_for_each_label(self):
        problem, side = deciding_problem(np.array([0, 1, 1]), 1)
        assert (problem.tolist(), side.tolist()) == ([0, 0, 0], [0, 1, 1])

    def test_of_several_problems_each_label_has_its_own_and_is_the_first_side_there(self):
        problem, side = deciding_problem(np.array([2, 0, 1]), 3)
        assert (problem.tolist(), side.tolist()) == ([2, 0, 1], [0, 0, 0])

    def test_counts_of_the_label_come_first(self):
        only = verdicts_with([[5, 1], [5, 1]])
        assert label_counts(np.array([0, 1]), [only]).tolist() == [[5, 1], [1, 5]]

    def test_counts_are_those_of_the_label_s_own_problem(self):
        several = [verdicts_with([[10 * k, 1], [10 * k, 2]]) for k in range(3)]
        assert label_counts(np.array([2, 1]), several).tolist() == [[20, 1], [10, 2]]


class TestProbabilities:
    @given(sizes_and_counts())
    def test_they_sum_to_1_and_the_label_has_the_largest(self, data):
        sizes, verdicts = data[0], [verdicts_with(of_problem) for of_problem in data[1]]
        for trust in ("paper", "counts", "bound"):
            d = decide_by_counts(verdicts, [RULES] * len(verdicts), sizes, trust)
            assert d.proba.shape == (40, len(sizes))
            assert d.proba.sum(axis=1) == pytest.approx(1, abs=1e-12)
            assert np.array_equal(d.proba.argmax(axis=1), d.label)
            assert ((d.trust >= 0) & (d.trust <= 1)).all()

    @given(sizes_and_counts())
    def test_the_winner_of_a_tie_leads_by_a_hair(self, data):
        sizes, verdicts = data[0], [verdicts_with(of_problem) for of_problem in data[1]]
        d = decide_by_counts(verdicts, [RULES] * len(verdicts), sizes)
        every = [label_counts(np.full(40, k), verdicts) for k in range(len(sizes))]
        shares = np.column_stack([(own + 1) / (own + others + 2) for own, others in (counts.T for counts in every)])
        second, first = np.sort(d.proba, axis=1)[:, -2:].T
        tied = np.count_nonzero(shares == shares.max(axis=1, keepdims=True), axis=1) > 1
        assert tied[0]
        assert ((first - second)[tied] > 0).all()
        assert ((first - second)[tied] < 1e-8).all()
        assert d.proba[~tied] == pytest.approx((shares / shares.sum(axis=1, keepdims=True))[~tied], abs=1e-12)

    @given(sizes_and_counts())
    def test_the_reading_changes_the_trust_alone(self, data):
        sizes, verdicts = data[0], [verdicts_with(of_problem) for of_problem in data[1]]
        paper, counts, bound = (
            decide_by_counts(verdicts, [RULES] * len(verdicts), sizes, trust) for trust in ("paper", "counts", "bound")
        )
        for other in (counts, bound):
            assert np.array_equal(other.label, paper.label)
            assert np.array_equal(other.proba, paper.proba)
            assert np.array_equal(other.contested, paper.contested)
        assert (bound.trust < counts.trust).all()

    @given(st.integers(2, 5).flatmap(lambda k: arrays(np.int64, (40, k), elements=st.integers(1, 30))))
    def test_the_likeliest_label_is_chosen_and_contested_where_another_has_a_third(self, shares):
        proba = shares / shares.sum(axis=1, keepdims=True)
        d = decide_by_probability(proba)
        assert np.array_equal(d.label, proba.argmax(axis=1))
        assert np.array_equal(d.trust, proba.max(axis=1))
        others = np.where(np.arange(proba.shape[1]) == d.label[:, None], 0.0, proba)
        assert np.array_equal(d.contested, others.max(axis=1) >= 1 / 3)
        assert d.typicality is None


# Trust by the counts of a label and of all others in a region, of a training set of 60 and 90 points.
FORMULAS = {
    "paper": lambda own, other: trust_of(own, other, 60, 90),
    "counts": share_of,
    "bound": lower_bound_of,
}
every_formula = pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
OWN, OTHER = np.mgrid[0:60, 0:60]


@every_formula
def test_trust_is_between_0_and_1(formula):
    trust = formula(OWN, OTHER)
    assert ((trust > 0) & (trust <= 1)).all()


@every_formula
def test_more_records_of_the_label_raise_the_trust_and_more_of_the_others_lower_it(formula):
    trust = formula(OWN, OTHER)
    assert (np.diff(trust[:, 1:], axis=0) > 0).all()
    assert (np.diff(trust[:, 0]) >= 0).all()  # the paper's trust is 1 where there are no others
    assert (np.diff(trust, axis=1) < 0).all()


def test_region_61_of_the_adult_figure():
    assert trust_of(np.array([5]), np.array([1]), 204, 438)[0] == pytest.approx(0.737, abs=5e-4)


class TestPaper:
    def test_it_is_the_formula_on_the_counts_of_all_training_points(self):
        X, y, Z = overlapping(2)
        clf = SEPClassifier(trust="paper").fit(X, y)
        a = clf.assess(Z)
        assert np.array_equal(a.trust, trust_of(*a.counts.T, 40, 40))
        assert len(voters(clf, len(X))) == 0
        (E,) = [b.ellipsoid for b in clf.partitions_[0].blocks if b.side == 0][:1]
        inside = E.contains((X - clf.mean_) / clf.scale_)
        alone = a.region == "a#1"
        assert alone.any()
        assert (a.counts[alone].max(axis=1) == max(np.count_nonzero(inside & (y == c)) for c in "ab")).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_trust_is_the_share_or_its_bound(n_classes):
    X, y, Z = overlapping(n_classes)
    counts, bound = (SEPClassifier(trust=t).fit(X, y).assess(Z) for t in ("counts", "bound"))
    assert np.array_equal(counts.counts, bound.counts)
    assert np.array_equal(counts.label, bound.label)
    assert np.array_equal(counts.trust, share_of(*counts.counts.T))
    assert np.array_equal(bound.trust, lower_bound_of(*bound.counts.T))
    assert (bound.trust < counts.trust).all()


def test_the_bound_is_below_the_share_and_grows_with_the_points_at_the_same_share():
    own, other = (n.ravel() for n in np.mgrid[0:60, 0:60])
    assert (lower_bound_of(own, other) < share_of(own, other)).all()
    sizes = np.arange(1, 200)
    for a, b in ((1, 0), (3, 1), (9, 1), (1, 1)):
        assert (np.diff(lower_bound_of(a * sizes, b * sizes)) > 0).all()


@pytest.mark.parametrize("trust", ["Local", None, 0.95, "", ["local"]])
def test_another_trust_is_refused(trust):
    with raises("trust-method", methods="'local', 'raw', 'counts', 'bound', 'paper'", trust=trust):
        SEPClassifier(trust=trust).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("trust", TRUST_METHODS)
def test_every_method_is_accepted(trust):
    require_method(trust)


@pytest.mark.parametrize("trust", ["Local", None, 0.95])
def test_what_is_no_method_is_named_with_the_rule_and_the_remedy(trust):
    methods = "'local', 'raw', 'counts', 'bound', 'paper'"
    with raises("trust-method", trust=trust, methods=methods, default="local"):
        require_method(trust)


@pytest.mark.parametrize("trust", ["counts", "bound"])
def test_a_method_that_needs_sorted_points_is_named_with_the_rule_and_the_reason(trust):
    with raises("trust-method-in-memory", trust=trust, methods="'local', 'raw', 'paper'"):
        require_method(trust, in_memory=False)


@pytest.mark.parametrize(("own", "others"), [(0, 0), (7, 0), (0, 7), (31, 4)])
def test_the_trust_in_an_ellipsoid_is_that_of_its_counts(own, others):
    expected = {reading: formula(np.array(own), np.array(others)) for reading, formula in FORMULAS.items()}
    training_counts = SimpleNamespace(totals=np.array([60, 90]))
    rules = SimpleNamespace(sides=np.array([0]), counts=np.array([[own, others]]), training_counts=training_counts)
    models = {trust: SimpleNamespace(trust=trust, rules=[rules]) for trust in FORMULAS}
    assert {trust: CountModel.region_trust(model, 0, 0) for trust, model in models.items()} == expected
