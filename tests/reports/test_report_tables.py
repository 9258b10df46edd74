"""Scores beside those of plain methods, each with what it means."""

import pytest
from sklearn.metrics import log_loss

from sepc.reports.baselines import baseline_results
from sepc.reports.report_tables import MEANINGS, plain_methods


@pytest.mark.slow
def test_two_plain_methods_stand_beside_the_result(wdbc, wdbc_clf, wdbc_report):
    X, X_test, y, y_test = wdbc
    content = wdbc_report.to_dict()
    own, *others = plain_methods(content)["rows"]
    expected = baseline_results(X, y, X_test, y_test)
    assert [(row[0], row[1]) for row in others] == [(one.name, one.n_right) for one in expected]
    assert own[1] == (wdbc_clf.predict(X_test) == y_test).sum()
    assert abs(own[4] - log_loss(y_test, wdbc_clf.predict_proba(X_test), labels=wdbc_clf.classes_)) < 1e-9
    first_screen = wdbc_report.html().split("</section>")[0]
    for one in expected:
        assert one.name.capitalize() in first_screen
        assert one.name in content["summary"]
        assert one.name in wdbc_report.markdown()


@pytest.mark.slow
def test_words_of_experts_are_explained_where_they_stand(wdbc_report):
    page, text = wdbc_report.html(), wdbc_report.markdown()
    for word in ("AURC", "AUGRC", "calibration error (ECE)", "Brier score", "likeness (OVL)", "purity", "recall"):
        meaning = MEANINGS[word].replace("'", "&#39;")
        assert meaning in page
        assert MEANINGS[word] in text.replace("\\", "")
