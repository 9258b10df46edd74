import numpy as np
import pytest
from coded import raises
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from sepc.reports.baselines import LOGISTIC, MAJORITY, baseline_results, mean_log_loss


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], p=[0.6, 0.3, 0.1], size=400)
    X = rng.normal(size=(400, 3)) + 2.0 * (y == "b")[:, None]
    return X[:300], y[:300], X[300:], y[300:]


def test_majority_is_counted_by_hand(parts):
    _, y_train, _, y_test = parts
    majority = baseline_results(*parts)[0]
    shares = np.array([np.mean(y_train == label) for label in y_test])
    assert (majority.name, majority.n, majority.n_right) == (MAJORITY, 100, np.count_nonzero(y_test == "a"))
    assert majority.accuracy == majority.n_right / 100
    assert np.isclose(majority.log_loss, -np.log(shares).mean())
    assert majority.accuracy_interval[0] < majority.accuracy < majority.accuracy_interval[1]


def test_logistic_regression_is_that_of_scikit_learn_on_standardised_features(parts):
    X_train, y_train, X_test, y_test = parts
    logistic = baseline_results(*parts)[1]
    scaler = StandardScaler().fit(X_train)
    expected = LogisticRegression(max_iter=300).fit(scaler.transform(X_train), y_train)
    assert logistic.name == LOGISTIC
    assert logistic.accuracy == expected.score(scaler.transform(X_test), y_test)
    assert np.isclose(logistic.log_loss, log_loss(y_test, expected.predict_proba(scaler.transform(X_test))))


def test_units_of_a_feature_do_not_matter(parts):
    X_train, y_train, X_test, y_test = parts
    units = np.array([1e-6, 1.0, 1e6])
    same, others = baseline_results(*parts)[1], baseline_results(X_train * units, y_train, X_test * units, y_test)[1]
    assert same.n_right == others.n_right


def test_a_label_that_training_never_had_counts_as_wrong(parts):
    X_train, y_train, X_test, _ = parts
    for result in baseline_results(X_train, y_train, X_test, ["other"] * 100):
        assert result.n_right == 0
        assert np.isclose(result.log_loss, -np.log(np.finfo(float).eps))


def test_log_loss_is_finite_where_a_probability_is_zero():
    proba, truth = np.array([[1.0, 0.0], [0.2, 0.8]]), np.array([1, 1])
    assert np.isclose(mean_log_loss(proba, truth), log_loss(truth, proba, labels=[0, 1]))


def test_no_test_records_are_refused(parts):
    with raises("no-test-records"):
        baseline_results(parts[0], parts[1], np.empty((0, 3)), [])
