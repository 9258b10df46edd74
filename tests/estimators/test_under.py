"""A classifier under other shares of the classes and with costs: all its methods speak of the same."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from coded import raises
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from texts import assert_readable, only_with

from sepc import (
    SepcError,
    SEPClassifier,
    SEPEnsembleClassifier,
    load,
    make_table_pipeline,
    report,
    save,
    select_min_trust,
)
from sepc.datasets import make_credit
from sepc.metrics import expected_calibration_error
from sepc.model.acceptance import REFUSALS

COSTS = {"malignant": {"benign": 20.0}, "benign": {"malignant": 1.0}, None: 0.3}
PRIOR = {"malignant": 0.05}


@pytest.fixture(scope="module", params=[SEPClassifier, SEPEnsembleClassifier], ids=["one", "ensemble"])
def clf(request, cancer):
    X, y = cancer
    small = {} if request.param is SEPClassifier else {"n_estimators": 4}
    return request.param(**small).fit(X[::2], y[::2])


def test_the_shares_of_training_and_equal_costs_change_not_a_bit(clf, cancer):
    X = cancer[0][1::2]
    shares = dict(zip(clf.classes_.tolist(), clf.class_count_ / clf.class_count_.sum(), strict=True))
    plain, same = clf.assess(X), clf.assess(X, class_prior=shares, costs=1.0 - np.eye(2))
    for name in ("label", "trust", "region", "counts", "reason", "typicality", "stability"):
        assert np.array_equal(getattr(plain, name), getattr(same, name)), name


def test_the_classifier_itself_stays_as_it_is(clf, cancer):
    X = cancer[0][1::2]
    before = clf.trust_score(X)
    other = clf.under(PRIOR, COSTS)
    assert not np.array_equal(other.trust_score(X), before)
    assert np.array_equal(clf.trust_score(X), before)
    assert np.array_equal(other.under().trust_score(X), before)
    assert clf.get_params() == other.under().get_params() != other.get_params()


class TestParameters:
    """What `under` states are parameters: they survive a clone, are searched over, pickled and saved."""

    @pytest.fixture
    def stated(self, clf):
        return clf.under(PRIOR, COSTS)

    @pytest.mark.slow
    def test_a_clone_that_is_fitted_is_the_same_classifier(self, stated, cancer):
        X, y = cancer
        again = clone(stated)
        assert (again.class_prior, again.costs) == (PRIOR, COSTS)
        assert np.array_equal(again.fit(X[::2], y[::2]).predict_proba(X), stated.predict_proba(X))
        assert np.array_equal(again.predict(X), stated.predict(X))
        assert np.array_equal(again.predict_or_abstain(X), stated.predict_or_abstain(X))

    def test_parameters_are_read_and_set(self, clf, cancer):
        X, y = cancer
        other = clone(clf).set_params(costs=COSTS, class_prior=[0.95, 0.05]).fit(X[::2], y[::2])
        assert other.get_params()["costs"] == COSTS
        assert np.array_equal(other.assess(X).expected_cost, clf.under(PRIOR, COSTS).assess(X).expected_cost)

    @pytest.mark.slow
    def test_cross_validation_goes_by_the_costs(self, cancer):
        X, y = (part[::2] for part in cancer)
        dear = {"malignant": {"benign": 1000.0}, "benign": {"malignant": 1.0}}
        found = cross_val_predict(SEPClassifier(costs=dear), X, y, cv=3)
        usual = cross_val_predict(SEPClassifier(), X, y, cv=3)
        assert np.count_nonzero(found == "malignant") > np.count_nonzero(usual == "malignant")
        scores = cross_val_score(SEPClassifier().fit(X, y).under(costs=dear), X, y, cv=3)
        assert scores.mean() == pytest.approx(np.mean(found == y), abs=0.01)

    @pytest.mark.slow
    def test_a_grid_search_tries_them(self, cancer):
        X, y = (part[::3] for part in cancer)
        grid = {"costs": [None, COSTS], "class_prior": [None, PRIOR]}
        search = GridSearchCV(SEPClassifier(), grid, cv=3).fit(X, y)
        assert len(search.cv_results_["params"]) == 4
        assert search.best_estimator_.get_params()["costs"] == search.best_params_["costs"]

    @pytest.mark.slow
    def test_a_pickled_or_saved_classifier_keeps_them(self, stated, cancer, tmp_path):
        X, y = cancer
        save(stated, tmp_path / "m.sepc")
        for again in (pickle.loads(pickle.dumps(stated)), load(tmp_path / "m.sepc")):
            assert again.get_params() == stated.get_params()
            assert np.array_equal(again.predict_proba(X), stated.predict_proba(X))
            assert np.array_equal(clone(again).fit(X[::2], y[::2]).predict(X), stated.predict(X))

    def test_arrays_are_saved_too(self, clf, cancer, tmp_path):
        other = clf.under(np.array([0.9, 0.1]), np.array([[0, 1, 0.3], [20, 0, 0.3]]))
        save(other, tmp_path / "m.sepc")
        a, b = other.assess(cancer[0]), load(tmp_path / "m.sepc").assess(cancer[0])
        assert np.array_equal(a.trust, b.trust)
        assert np.array_equal(a.asking_cost, b.asking_cost)

    def test_what_cannot_be_is_refused_before_anything_is_fitted(self, clf, cancer):
        with raises("policy-unknown-label", name="class_prior", label="sick"):
            clone(clf).set_params(class_prior={"sick": 0.5}).fit(*cancer)


def test_what_is_not_stated_anew_stays_as_it_was_stated(clf, cancer):
    X, both = cancer[0][1::2], clf.under(PRIOR, COSTS).assess(cancer[0][1::2])
    for other in (clf.under(PRIOR).under(costs=COSTS), clf.under(costs=COSTS).under(PRIOR)):
        assert np.array_equal(other.assess(X).expected_cost, both.expected_cost)
    assert np.array_equal(clf.under(costs=COSTS).assess(X, class_prior=PRIOR).label, both.label)


def test_all_predictions_agree(clf, cancer):
    X = cancer[0][1::2]
    other = clf.under(PRIOR, COSTS)
    a, proba = other.assess(X), other.predict_proba(X)
    label = np.searchsorted(clf.classes_, a.label)
    assert np.array_equal(other.predict(X), a.label)
    assert np.array_equal(other.trust_score(X), a.trust)
    assert np.array_equal(proba[np.arange(len(X)), label], a.trust)
    costs = np.array([[0.0, 1.0], [20.0, 0.0]])
    assert a.expected_cost == pytest.approx((proba @ costs).min(axis=1))
    assert a.asking_cost == pytest.approx(0.3)
    assert np.array_equal(a.label, clf.assess(X, class_prior=PRIOR, costs=COSTS).label)
    assert {"expected_cost", "asking_cost"} <= set(a.to_frame().columns)


def test_a_person_is_asked_where_that_costs_less_or_the_record_is_strange(clf, cancer):
    X = cancer[0][1::2].copy()
    X.iloc[0] *= 1000.0
    a = clf.assess(X, class_prior=PRIOR, costs=COSTS)
    dear = a.expected_cost > 0.3
    assert dear.any()
    assert not dear.all()
    strange = np.where(a.is_beyond, "beyond", "strange")
    expected = np.where(a.typicality < 0.01, strange, np.where(dear, "cost", None))
    assert a.refusals().tolist() == expected.tolist()
    given = clf.predict_or_abstain(X, class_prior=PRIOR, costs=COSTS)
    assert [label is None for label in given] == [why is not None for why in expected]
    assert (a.accepted(min_trust=0.9) == (a.accepted() & (a.trust >= 0.9))).all()


def test_without_a_price_of_asking_only_strange_records_are_refused(clf, cancer):
    costs = {label: dict(row) for label, row in COSTS.items() if label is not None}
    X, y = (part[1::2] for part in cancer)
    a = clf.assess(X, costs=costs)
    told = report(clf.under(costs=costs), X, y, max_records=0).to_dict()["summary"]
    assert REFUSALS["cost"] not in told
    assert (a.accepted() == ~(a.typicality < 0.01)).all()
    assert np.isnan(a.asking_cost).all()


def test_an_explanation_adds_up_and_tells_what_was_stated(clf, cancer):
    X = cancer[0][1::2]
    other = clf.under(PRIOR, COSTS)
    dearest = int(other.assess(X).expected_cost.argmax())
    for row in (0, dearest):
        why, p = other.explain(X.iloc[row]), other.predict_proba(X.iloc[[row]])[0]
        shares, costs = list(why.policy.sentences(why.label))[:2]
        assert "benign 95 %, malignant 5 %" in shares
        assert f" {why.policy.costs[why.label]:.3g}, " in costs
        assert shares in why.details
        assert costs in why.details
        assert_readable(why.text)
        assert_readable(why.details)
        assert why.table()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)
        if isinstance(other, SEPClassifier):
            assert sum(one.share for one in why.shares if one.label == why.label) == pytest.approx(why.trust)
        else:
            k = clf.classes_.tolist().index(why.label)
            total = why.leaning + sum(voice.evidence for voice in why.voices) + why.background
            assert total == pytest.approx(np.log(p[k] / p[1 - k]))
    why = other.explain(X.iloc[dearest])
    (told,) = only_with(why, policy=why.policy._replace(asking=None))
    assert told.endswith(" 0.3.")
    assert why.to_dict()["policy"]["asking"] == pytest.approx(0.3)


def test_a_saved_classifier_keeps_them_to_the_bit(clf, cancer, tmp_path):
    X = cancer[0][1::2]
    for n, other in enumerate((clf.under(PRIOR, COSTS), clf.under(PRIOR), clf.under(costs=COSTS))):
        save(other, tmp_path / f"{n}.sepc")
        a, b = other.assess(X), load(tmp_path / f"{n}.sepc").assess(X)
        for name in ("label", "trust", "expected_cost", "asking_cost"):
            assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=name.endswith("cost"))


@pytest.mark.slow
def test_a_report_tells_what_was_stated_and_what_decisions_cost(clf, cancer):
    X, y = (part[1::2] for part in cancer)
    other = clf.under(PRIOR, COSTS)
    told = report(other, X, y, max_records=2).to_dict()
    assert "benign 95 %, malignant 5 %" in told["summary"]
    price = {("malignant", "benign"): 20.0, ("benign", "malignant"): 1.0}
    given = other.predict_or_abstain(X)
    cost = np.mean([0.3 if g is None else price.get((t, g), 0.0) for t, g in zip(y, given, strict=True)])
    assert f" {cost:.3g} " in told["summary"]
    assert REFUSALS["cost"] in told["summary"]
    assert told["min_trust"] == 0.0


def test_label_sets_have_to_be_calibrated_anew(clf, cancer):
    X, y = (part[1::2] for part in cancer)
    calibrated = clf.under().calibrate(X, y)
    with raises("not-calibrated", SepcError):
        calibrated.under(PRIOR).predict_set(X)


def test_a_promise_under_other_shares_is_that_of_another_model(clf, cancer):
    X, y = (part[1::2] for part in cancer)
    promise = select_min_trust(clf, X, y, max_error=0.1)
    assert np.array_equal(clf.predict_or_abstain(X, promise), clf.predict_or_abstain(X, promise.min_trust))
    with raises("promise-of-another-model"):
        clf.predict_or_abstain(X, promise, class_prior=PRIOR)
    other = clf.under(PRIOR)
    stated = select_min_trust(other, X, y, max_error=0.1)
    assert stated.class_prior == pytest.approx((0.95, 0.05))
    if stated.is_kept:
        other.predict_or_abstain(X, stated)  # made for these shares: no warning


@pytest.mark.parametrize("trust", ["paper", "counts", "bound"])
def test_readings_that_count_have_no_probabilities_to_shift(trust, cancer):
    X, y = cancer
    with raises("policy-needs-probabilities", trust=trust):
        SEPClassifier(trust=trust).fit(X[::4], y[::4]).under(PRIOR)


@pytest.mark.slow
def test_a_table_pipeline_has_the_same():
    table, labels = make_credit(300)
    clf = make_table_pipeline().fit(table[:200], labels[:200])
    costs = {"default": {"repaid": 8.0}, "repaid": {"default": 1.0}, None: 0.5}
    other = clf.under({"default": 0.1}, costs)
    given = clf.predict_or_abstain(table[200:], class_prior={"default": 0.1}, costs=costs)
    assert other.predict_or_abstain(table[200:]).tolist() == given.tolist()
    assert None in given
    why = other.explain(table.iloc[200])
    assert all(sentence in why.details for sentence in why.policy.sentences(why.label))
    assert clf.predict(table[200:]).tolist() != other.predict(table[200:]).tolist()


def test_chunks_on_dask_are_judged_alike(clf, cancer):
    da = pytest.importorskip("dask.array")
    import dask

    X = cancer[0][1::2].to_numpy()
    other = clf.under(PRIOR, COSTS)
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        a, b = other.assess(X), other.assess(da.from_array(X, chunks=(100, X.shape[1])))
        for name in ("label", "trust", "expected_cost", "asking_cost"):
            assert np.array_equal(getattr(a, name), getattr(b, name).compute())
        assert a.refusals().tolist() == b.refusals().compute().tolist()


@pytest.mark.slow
def test_arrays_that_stay_on_a_device_say_that_they_cannot(cancer, monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X, y = cancer[0].to_numpy(), cancer[1]
    other = SEPClassifier().fit(X[::4], y[::4]).under(PRIOR)
    with (
        sklearn.config_context(array_api_dispatch=True),
        raises("array-with-policy", library="array_api_strict"),
    ):
        other.predict(xp.asarray(X[:3]))


@pytest.mark.study
@pytest.mark.parametrize(
    "parts",
    [
        (multivariate_normal([0, 0]), multivariate_normal([1.5, 1.0], [[1.5, 0.4], [0.4, 0.8]])),
        (multivariate_t([0, 0], df=3), multivariate_t([2, 1], df=3)),
    ],
    ids=["two normals", "heavy tails"],
)
@pytest.mark.parametrize(
    ("make", "n_draws"), [(lambda: SEPClassifier(n_imp=0.05), 4), (SEPEnsembleClassifier, 1)], ids=["one", "ensemble"]
)
def test_decisions_cost_little_more_than_the_best_possible_ones(make, n_draws, parts):
    """Within 2 % of the least expected cost, by densities that are known; `bench/decisions.py` has more of them."""
    prior, ratios = np.array([0.85, 0.15]), []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X = np.concatenate([part.rvs(1500, random_state=rng) for part in parts])
        new = np.concatenate(
            [part.rvs(round(20_000 * p), random_state=rng) for part, p in zip(parts, prior, strict=True)]
        )
        joint = np.column_stack([p * part.pdf(new) for part, p in zip(parts, prior, strict=True)])
        clf = make().fit(X, np.repeat([0, 1], 1500))
        for asking in (0.2, 0.6):
            costs = np.array([[0.0, 1.0, asking], [6.0, 0.0, asking]])
            expected = joint / joint.sum(axis=1, keepdims=True) @ costs
            given = clf.predict_or_abstain(new, class_prior=prior, costs=costs, min_typicality=0.0)
            decided = np.array([2 if label is None else label for label in given])
            assert expected[np.arange(len(new)), clf.predict(new)].mean() > 1.05 * expected.min(axis=1).mean()
            ratios.append(expected[np.arange(len(new)), decided].mean() / expected.min(axis=1).mean())
    assert np.all(np.mean(np.reshape(ratios, (n_draws, 2)), axis=0) < 1.02)


@pytest.mark.slow
def test_a_shifted_set_is_calibrated_again_by_the_shares_that_it_has():
    """Records whose classes are frequent in another way than in training: as well calibrated as those that are not."""
    rng = np.random.default_rng(1)

    def drawn(n, share):
        y = (rng.random(n) < share).astype(int)
        # Not alike: where two classes mirror each other, what one label gains by a shift the other loses.
        return (1.0 + y[:, None]) * rng.normal(size=(n, 2)) + 1.6 * y[:, None], y

    clf = SEPClassifier(n_imp=0.05).fit(*drawn(3000, 0.5))

    def error(share, **stated):
        X, y = drawn(20_000, share)
        a = clf.assess(X, **stated)
        return expected_calibration_error(y, a.label, a.trust)

    usual, shifted, told = error(0.5), error(0.05), error(0.05, class_prior=[0.95, 0.05])
    assert told <= usual + 0.01
    assert shifted > told + 0.02
