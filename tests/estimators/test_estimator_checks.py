"""scikit-learn's own checks of an estimator: all of them, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SEPClassifier, SEPEnsembleClassifier

pytestmark = pytest.mark.conformance


@parametrize_with_checks(
    [
        SEPClassifier(),
        SEPClassifier(standardize=False, n_imp=0.05),
        SEPClassifier(trust="paper"),
        SEPClassifier(trust="counts"),
        SEPClassifier(trust="bound"),
        SEPEnsembleClassifier(n_estimators=3),  # one for each view
        SEPEnsembleClassifier(n_estimators=2, max_features=0.5, n_imp=0),
    ]
)
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
def test_scikit_learn_check(estimator, check, request):
    if "idempotent" not in str(check):  # most checks fit the same few sets
        request.getfixturevalue("fits_once")
    check(estimator)
