"""Model card of a report."""

from html import unescape

import pytest
from saved_models import asked_of, fixture_path

from sepc import (
    SEPClassifier,
    load,
    report,
)


@pytest.mark.parametrize("trust", ["local", "counts", "bound", "paper"])
def test_every_reading_of_the_regions_can_be_reported(iris, trust):
    X, X_test, y, y_test = iris
    told = report(SEPClassifier(trust=trust).fit(X, y), X_test, y_test, max_records=3)
    assert trust in told.to_dict()["card"]["parameters"]["trust"]
    assert told.to_dict()["card"]["meaning"] in unescape(told.html())


@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
@pytest.mark.parametrize(("version", "is_told"), [("v1", True), ("v2", False)])
def test_the_card_tells_of_a_model_that_was_made_under_an_older_rule(version, is_told):
    clf = load(fixture_path(f"{version}-binary-paper"))
    X = asked_of(f"{version}-binary-paper")
    told = report(clf, X, clf.predict(X), max_records=1).to_dict()["card"]["meaning"]
    assert ("made when the nearest ellipsoid was grown" in told) is is_told
