"""Content of a report: the model card."""

from html import unescape

import pytest

from sepc import SEPClassifier, report


@pytest.mark.slow
@pytest.mark.parametrize("trust", ["local", "counts", "bound", "paper"])
def test_every_reading_of_the_regions_can_be_reported(iris, trust):
    X, X_test, y, y_test = iris
    told = report(SEPClassifier(trust=trust).fit(X, y), X_test, y_test, max_records=3)
    assert trust in told.to_dict()["card"]["parameters"]["trust"]
    assert told.to_dict()["card"]["meaning"] in unescape(told.html())
