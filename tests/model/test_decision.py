"""Trust methods: the paper's formula, shares of held-out points, their lower bounds."""

from types import SimpleNamespace

import numpy as np
import pytest
from fitted_classifiers import overlapping, voters

from sepc import InputError, SEPClassifier
from sepc.model.count_model import CountModel
from sepc.model.decision import (
    TRUST_METHODS,
    lower_bound_of,
    require_method,
    share_of,
    trust_of,
)

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
    with pytest.raises(
        InputError, match=r"trust is .*; expected one of 'local', 'raw', 'counts', 'bound', 'paper'. Use 'local'"
    ):
        SEPClassifier(trust=trust).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("trust", TRUST_METHODS)
def test_every_method_is_accepted(trust):
    require_method(trust)


@pytest.mark.parametrize("trust", ["Local", None, 0.95])
def test_what_is_no_method_is_named_with_the_rule_and_the_remedy(trust):
    with pytest.raises(InputError) as error:
        require_method(trust)
    assert str(error.value) == (
        f"trust is {trust!r}; expected one of 'local', 'raw', 'counts', 'bound', 'paper'. "
        "Use 'local' unless another way to read the regions is asked for."
    )


@pytest.mark.parametrize("trust", ["counts", "bound"])
def test_a_method_that_needs_sorted_points_is_named_with_the_rule_and_the_reason(trust):
    with pytest.raises(InputError) as error:
        require_method(trust, in_memory=False)
    assert str(error.value) == (
        f"trust is {trust!r}; expected one of 'local', 'raw', 'paper' for a training set that is not in memory: "
        "records that are held out are chosen in sorted order, which chunks do not have."
    )


@pytest.mark.parametrize(("own", "others"), [(0, 0), (7, 0), (0, 7), (31, 4)])
def test_the_trust_in_an_ellipsoid_is_that_of_its_counts(own, others):
    expected = {reading: formula(np.array(own), np.array(others)) for reading, formula in FORMULAS.items()}
    training_counts = SimpleNamespace(totals=np.array([60, 90]))
    rules = SimpleNamespace(sides=np.array([0]), counts=np.array([[own, others]]), training_counts=training_counts)
    models = {trust: SimpleNamespace(trust=trust, rules=[rules]) for trust in FORMULAS}
    assert {trust: CountModel.region_trust(model, 0, 0) for trust, model in models.items()} == expected
