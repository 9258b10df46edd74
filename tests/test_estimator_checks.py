"""scikit-learn's own checks of an estimator: all of them, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SEPClassifier


@parametrize_with_checks(
    [
        SEPClassifier(),
        SEPClassifier(standardize=False),
        SEPClassifier(n_imp=0),
        SEPClassifier(n_imp=0.05),
    ]
)
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)
