"""scikit-learn's own checks of a classifier around another one; with its labels kept one cannot hold."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import TrustedClassifier

pytestmark = pytest.mark.conformance


@parametrize_with_checks(
    [
        TrustedClassifier(LogisticRegression(), cv=2),
        TrustedClassifier(make_pipeline(StandardScaler(), LogisticRegression()), cv=2, labels="joint"),
    ],
    expected_failed_checks=lambda clf: (
        {"check_classifiers_train": "labels are the estimator's, where the combined probabilities may prefer another"}
        if clf.labels == "model"
        else {}
    ),
)
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
def test_scikit_learn_check(estimator, check, request):
    if "idempotent" not in str(check):  # most checks fit the same few sets
        request.getfixturevalue("fits_once")
    check(estimator)
