"""Around another classifier: its labels, what they are worth, and when they are refused."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sepc import TrustedClassifier, select_min_trust
from sepc.metrics import aurc, expected_calibration_error


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X[["mean radius", "mean texture", "mean smoothness", "worst radius"]], y.map({0: "malignant", 1: "benign"})
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def around_bayes(wdbc):
    X, y, _, _ = wdbc
    return TrustedClassifier(GaussianNB(), cv=3).fit(X, y)


class LabelsAlone(DecisionTreeClassifier):
    """A classifier that gives labels and nothing else."""

    def __getattribute__(self, name):
        if name in ("predict_proba", "decision_function"):
            raise AttributeError(name)
        return super().__getattribute__(name)

    def predict(self, X):
        return self.classes_[DecisionTreeClassifier.predict_proba.__get__(self)(X).argmax(axis=1)]


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        RidgeClassifier(),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        FixedThresholdClassifier(GaussianNB(), threshold=0.9, pos_label="malignant"),
    ],
    ids=["probabilities", "values", "tree", "a threshold of its own"],
)
def test_labels_are_those_of_the_estimator_to_the_last(estimator, wdbc):
    X, y, X_new, _ = wdbc
    clf = TrustedClassifier(estimator, cv=3).fit(X, y)
    own = clf.estimator_.predict(X_new)
    assert clf.predict(X_new).tolist() == own.tolist()
    assert clf.assess(X_new).label.tolist() == own.tolist()


def test_trust_is_the_combined_probability_of_the_label_and_disagreement_is_refused(around_bayes, wdbc):
    X_new = wdbc[2]
    a, proba = around_bayes.assess(X_new), around_bayes.predict_proba(X_new)
    codes = np.searchsorted(around_bayes.classes_, a.label)
    assert np.array_equal(a.trust, proba[np.arange(len(codes)), codes])
    assert np.array_equal(a.disagrees, proba.argmax(axis=1) != codes)
    assert a.disagrees.any()
    assert not a.accepted(min_trust=0.0)[a.disagrees].any()
    assert set(a.reason[a.disagrees]) <= {"disagreement", "strange", "beyond"}
    assert "disagreement" in a.refusals(min_trust=0.0)


def test_joint_labels_are_the_likeliest_and_right_more_often(wdbc, around_bayes):
    X, y, X_new, y_new = wdbc
    joint = TrustedClassifier(GaussianNB(), cv=3, labels="joint").fit(X, y)
    proba = joint.predict_proba(X_new)
    assert np.array_equal(proba, around_bayes.predict_proba(X_new))
    assert joint.predict(X_new).tolist() == joint.classes_[proba.argmax(axis=1)].tolist()
    assert (joint.predict(X_new) == y_new).mean() >= (around_bayes.predict(X_new) == y_new).mean()
    assert not joint.assess(X_new).disagrees.any()


def test_the_trust_ranks_and_calibrates_better_than_the_model_alone(around_bayes, wdbc):
    X_new, y_new = wdbc[2:]
    a, alone = around_bayes.assess(X_new), around_bayes.estimator_.predict_proba(X_new).max(axis=1)
    right = a.label == y_new.to_numpy()
    assert aurc(right, a.trust) < aurc(right, alone)
    assert expected_calibration_error(right, a.trust) < expected_calibration_error(right, alone)


def test_records_that_are_strange_to_the_regions_are_refused_however_sure_the_model_is(around_bayes, wdbc):
    far = wdbc[2] * 50.0
    assert (around_bayes.estimator_.predict_proba(far).max(axis=1) > 0.999).all()
    assert not around_bayes.assess(far).accepted(min_trust=0.0).any()


def test_what_each_says_stands_in_the_assessment(around_bayes, wdbc):
    X_new = wdbc[2]
    frame = around_bayes.assess(X_new).to_frame()
    assert frame["given_label"].tolist() == around_bayes.estimator_.predict(X_new).tolist()
    assert np.allclose(frame["given_trust"], around_bayes.estimator_.predict_proba(X_new).max(axis=1))
    assert frame["region_label"].tolist() == around_bayes.regions_.predict(X_new).tolist()
    assert np.allclose(frame["region_trust"], around_bayes.regions_.trust_score(X_new))


def test_the_order_of_rows_changes_nothing(wdbc, around_bayes):
    X, y, X_new, _ = wdbc
    order = np.random.default_rng(0).permutation(len(X))
    again = TrustedClassifier(GaussianNB(), cv=3).fit(X.iloc[order], y.iloc[order])
    assert np.allclose(again.predict_proba(X_new), around_bayes.predict_proba(X_new), rtol=1e-6)


def test_a_frozen_estimator_is_not_fitted_again(wdbc):
    X, y, X_new, _ = wdbc
    model = GaussianNB().fit(X[::2], y[::2])
    before = model.theta_.copy()
    clf = TrustedClassifier(FrozenEstimator(model)).fit(X[1::2], y[1::2])
    assert np.array_equal(model.theta_, before)
    assert clf.predict(X_new).tolist() == model.predict(X_new).tolist()
    assert clf.estimator_name == "GaussianNB"


def test_grid_search_reaches_the_estimator(wdbc):
    X, y, _, _ = wdbc
    search = GridSearchCV(TrustedClassifier(GaussianNB(), cv=2), {"estimator__var_smoothing": [1e-9, 0.1]}, cv=2)
    assert search.fit(X, y).best_estimator_.estimator_.var_smoothing in (1e-9, 0.1)


def test_a_splitter_draws_its_own_folds(wdbc):
    X, y, X_new, _ = wdbc
    splitter = StratifiedKFold(3, shuffle=True, random_state=1)
    clf = TrustedClassifier(GaussianNB(), cv=splitter).fit(X, y)
    assert clf.assess(X_new).label.tolist() == clf.estimator_.predict(X_new).tolist()


def test_given_answers_take_the_place_of_the_estimators(around_bayes, wdbc):
    X_new = wdbc[2]
    scores = around_bayes.estimator_.predict_proba(X_new)
    assert np.array_equal(around_bayes.assess(X_new, scores=scores).trust, around_bayes.assess(X_new).trust)
    with raises("scores-shape"):
        around_bayes.assess(X_new, scores=scores[:, :1])


def test_texts_and_gaps_go_to_the_estimator_as_they_came(wdbc):
    X, y, _, _ = wdbc
    size = pd.cut(X["mean radius"], 3, labels=["small", "middle", "large"]).astype(str)
    table = X.assign(size=size).mask(np.random.default_rng(0).random((len(X), 5)) < 0.03)
    seen = []

    class Reader(LogisticRegression):
        def fit(self, X, y):
            seen.append(list(X.columns))
            return super().fit(X.drop(columns="size").fillna(0.0), y)

        def predict(self, X):
            return super().predict(X.drop(columns="size").fillna(0.0))

        def predict_proba(self, X):
            return super().predict_proba(X.drop(columns="size").fillna(0.0))

    clf = TrustedClassifier(Reader(max_iter=1000), cv=2).fit(table, y)
    assert seen == [list(table.columns)] * 3
    assert clf.table_encoder.columns_[4].kind == "category"
    assert clf.assess(table[:5].assign(size="huge")).reason.tolist() == ["strange"] * 5


def test_an_embedding_of_hundreds_of_columns_is_reduced(wdbc):
    X, y, _X_new, _ = wdbc
    images = X.to_numpy()[:, :, None] * np.linspace(0.5, 1.5, 50)
    clf = TrustedClassifier(
        FrozenEstimator(_Mean().fit(images, y)), encoder=lambda batch: batch.reshape(len(batch), -1)
    ).fit(images, y)
    assert len(clf.model_.features) <= 32
    assert clf.assess(images[:4]).label.tolist() == _Mean().fit(images, y).predict(images[:4]).tolist()


class _Mean(GaussianNB):
    """A classifier of images, by their means."""

    def fit(self, X, y):
        return super().fit(X.mean(axis=2), y)

    def predict(self, X):
        return super().predict(X.mean(axis=2))

    def predict_proba(self, X):
        return super().predict_proba(X.mean(axis=2))


def test_weights_repeat_records_also_where_the_estimator_takes_none(wdbc):
    X, y, X_new, _ = wdbc
    weight = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), weight)

    class Unweighted(GaussianNB):
        def fit(self, X, y):
            return super().fit(X, y)

    weighted = TrustedClassifier(Unweighted(), cv=2).fit(X, y, sample_weight=weight)
    repeated = TrustedClassifier(Unweighted(), cv=2).fit(X.iloc[rows], y.iloc[rows])
    assert np.allclose(weighted.predict_proba(X_new), repeated.predict_proba(X_new), rtol=1e-6)


def test_costs_keep_the_labels_and_decide_on_acceptance(around_bayes, wdbc):
    X_new = wdbc[2]
    costs = {"malignant": {"benign": 20.0}, "benign": {"malignant": 1.0}, None: 0.5}
    a = around_bayes.assess(X_new, costs=costs)
    assert a.label.tolist() == around_bayes.predict(X_new).tolist()
    kept = a.accepted()
    assert (a.expected_cost[kept] <= a.asking_cost[kept]).all()
    assert kept.sum() < around_bayes.assess(X_new).accepted(min_trust=0.0).sum()


def test_a_promise_counts_what_is_accepted(around_bayes, wdbc):
    X_new, y_new = wdbc[2:]
    promise = select_min_trust(around_bayes, X_new, y_new, max_error=0.1, confidence=0.9)
    accepted = around_bayes.sign(promise).assess(X_new).accepted()
    assert promise.is_kept
    assert accepted.sum() == promise.n_accepted
    around_bayes.sign(None)


def test_label_sets_hold_the_true_label(around_bayes, wdbc):
    X_new, y_new = wdbc[2:]
    around_bayes.calibrate(X_new[::2], y_new[::2])
    found = around_bayes.predict_set(X_new[1::2], coverage=0.9).labels()
    assert np.mean([label in labels for label, labels in zip(y_new[1::2], found, strict=True)]) > 0.8


def test_a_model_that_only_gives_labels_is_read_by_what_these_were_worth(wdbc):
    X, y, X_new, y_new = wdbc
    clf = TrustedClassifier(LabelsAlone(max_depth=2, random_state=0), cv=3).fit(X, y)
    a = clf.assess(X_new)
    assert np.isnan(a.given_trust).all()
    assert a.label.tolist() == clf.estimator_.predict(X_new).tolist()
    assert expected_calibration_error(a.label == y_new.to_numpy(), a.trust) < 0.1


def test_errors_name_value_rule_and_remedy(wdbc):
    X, y, _, _ = wdbc
    with raises("labels-of"):
        TrustedClassifier(GaussianNB(), labels="both").fit(X, y)
    with raises("cv-refits"):
        TrustedClassifier(GaussianNB(), cv=1).fit(X, y)
    with raises("estimator-no-classifier"):
        TrustedClassifier("forest").fit(X, y)
    with raises("encoder"):
        TrustedClassifier(GaussianNB(), encoder="pca").fit(X, y)
    with raises("encoder-shape"):
        TrustedClassifier(GaussianNB(), encoder=lambda X: np.zeros((len(X), 2, 2))).fit(X, y)
    with raises("estimator-label-unknown"):
        TrustedClassifier(FrozenEstimator(GaussianNB().fit(X, [f"{label}!" for label in y]))).fit(X, y)


def test_a_failed_fit_leaves_the_classifier_as_it_was(wdbc):
    X, y, X_new, _ = wdbc
    clf = TrustedClassifier(RandomForestClassifier(5, random_state=0), cv=2).fit(X, y)
    before = clf.predict_proba(X_new)
    with raises("one-class"):
        clf.fit(X, ["benign"] * len(X))
    assert np.array_equal(clf.predict_proba(X_new), before)


def test_metadata_goes_to_the_estimator_and_to_the_splitter(wdbc):
    X, y, X_new, _ = wdbc
    weight, groups, seen = np.arange(len(X)) % 3 + 1.0, np.arange(len(X)) // 4, []

    class Splitter(GroupKFold):
        def split(self, X, y=None, groups=None):
            seen.append(groups)
            return super().split(X, y, groups)

    with config_context(enable_metadata_routing=True):
        estimator = GaussianNB().set_fit_request(sample_weight=True)
        cv = Splitter(3).set_split_request(groups=True)
        clf = TrustedClassifier(estimator, cv=cv).fit(X, y, sample_weight=weight, groups=groups)
    assert np.array_equal(seen[0], groups)
    weighted = GaussianNB().fit(X, y, sample_weight=weight)
    assert np.allclose(clf.estimator_.theta_, weighted.theta_)
    assert clf.predict(X_new).tolist() == weighted.predict(X_new).tolist()
