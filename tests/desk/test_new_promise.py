"""A new promise has the terms of the old one, and records that the new model has not learned."""

import numpy as np
import pandas as pd
import pytest
from coded import codes_in
from desks import batch, classifier, decide_all, new_desk, records, truth

from sepc import select_min_trust
from sepc.desk.decided import labelled
from sepc.desk.new_promise import promised_anew


def sample_of(desk):
    return labelled(desk.events, "measured_label", "sampled")


@pytest.mark.parametrize(
    "terms",
    [
        {"max_error": 0.2, "by": "label"},
        {"max_error": {"ill": 0.3, "well": 0.2}, "by": "label"},
        {"max_cost": 1.0, "costs": {"ill": {"well": 3.0}, "well": {"ill": 1.0}}},
    ],
)
def test_a_new_promise_has_the_terms_of_the_old_one(tmp_path, terms):
    clf = classifier().under()
    clf.sign(select_min_trust(clf, *records(400, seed=5), **terms))
    desk = new_desk(tmp_path, clf=clf, audit=0.6, n=400)
    decide_all(desk, "ada", truth(desk))
    found = promised_anew(desk.judge, clf.promise, sample_of(desk))
    assert found.is_kept
    assert found.by == clf.promise.by
    assert [part.limit for part in found.thresholds] == [part.limit for part in clf.promise.thresholds]
    assert found.n_calibration == len(sample_of(desk).views)


def promised(**terms):
    clf = classifier().under()
    X, y = records(400, seed=5)
    by = terms.pop("by", None)
    return clf.sign(select_min_trust(clf, X, y, by=by(X) if callable(by) else by, **terms))


def test_training_records_among_the_sample_are_left_out(tmp_path):
    clf = promised(max_error=0.2)
    desk = new_desk(tmp_path, clf=clf, n=0, audit=1.0)
    (old, labels), (X, y) = records(300), records(200, seed=6)
    desk.truth = np.concatenate([labels[:20], y])
    desk.add("ada", "new.csv", "new", [batch(pd.concat([old[:20], X]))])
    decide_all(desk, "ada", truth(desk))
    found = promised_anew(desk.judge, clf.promise, sample_of(desk))
    assert found.n_calibration == 200


def groups_that_overlap(X):
    return pd.DataFrame({"old": X.age > 1.0, "much": X.dose > 1.0})


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"max_error": 0.2}, "desk-promise-no-records"),
        ({"max_error": 0.2, "by": groups_that_overlap}, "desk-promise-groups"),
        ({"max_error": {"ill": 0.3, "well": 0.2}, "by": "region"}, "desk-promise-limits"),
    ],
)
def test_a_promise_that_cannot_be_made_says_why_and_accepts_nothing(tmp_path, terms, code):
    before = promised(**terms).promise
    desk = new_desk(tmp_path, audit=0.3)
    decide_all(desk, "ada", truth(desk))
    found = promised_anew(desk.judge, before, None if code == "desk-promise-no-records" else sample_of(desk))
    assert not found.is_kept
    assert codes_in(found.message) == {code}


def test_without_a_promise_none_is_made(tmp_path):
    assert promised_anew(new_desk(tmp_path).judge, None, None) is None
