"""Audits: the same picks for the same seed, in whatever order, with the chances that are told."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import drawn_points, examples, orders

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.audits import audit_of


@pytest.fixture(scope="module")
def watch(clf, iris):
    return FeedbackMonitor(clf, reference=iris[0][1::4], reference_labels=iris[1][1::4])


class TestAudit:
    @examples(20)
    @given(drawn_points(2), st.data())
    def test_the_order_of_rows_does_not_matter(self, rows, data):
        n = len(rows)
        rows = np.where(data.draw(arrays(bool, (n, 2))), np.nan, rows)
        rows[np.isnan(rows).all(axis=1)] = -0.0
        accepted = data.draw(arrays(bool, n))
        trust = data.draw(arrays(np.int64, n, elements=st.integers(90, 100))) / 100.0
        order = data.draw(orders(n))
        for by_trust in (False, True):
            one = audit_of(rows, accepted, trust, 0.3, 5, by_trust)
            two = audit_of(rows[order], accepted[order], trust[order], 0.3, 5, by_trust)
            assert np.array_equal(one.probability[order], two.probability)
            distinct = ~pd.DataFrame(rows + 0.0).duplicated(keep=False).to_numpy()
            assert np.array_equal(one.chosen[order][distinct[order]], two.chosen[distinct[order]])

    def test_the_same_seed_picks_the_same_and_other_seeds_and_batches_others(self, watch, iris):
        X = iris[0]
        one, again, other = (watch.audit(X, 0.4, seed) for seed in (1, 1, 2))
        assert np.array_equal(one.chosen, again.chosen)
        assert not np.array_equal(one.chosen, other.chosen)
        # A batch of its own is drawn anew, not by the place in it.
        later = watch.audit(X + 1e-6, 0.4, 1)
        assert not np.array_equal(one.chosen, later.chosen)

    def test_refused_records_are_all_chosen(self, watch, clf, iris):
        accepted = clf.assess(iris[0]).accepted()
        audit = watch.audit(iris[0], 0.3)
        assert np.array_equal(audit.accepted, accepted)
        assert audit.chosen[~accepted].all()
        assert np.array_equal(audit.rows, np.flatnonzero(audit.chosen & accepted))
        assert set(audit.probability[accepted]) == {0.3}
        assert set(audit.probability[~accepted]) == {1.0}
        none = watch.audit(iris[0], 0.3, min_trust={"setosa": 0.5, "versicolor": 1.0, "virginica": 1.0})
        assert not none.accepted[iris[1] == "virginica"].any()

    def test_chances_are_kept(self):
        rng = np.random.default_rng(0)
        rows, accepted, trust = rng.random((200, 2)), np.ones(200, dtype=bool), rng.beta(20.0, 1.0, 200)
        for by_trust in (False, True):
            audits = [audit_of(rows, accepted, trust, 0.1, seed, by_trust) for seed in range(400)]
            chance = audits[0].probability
            often = np.mean([audit.chosen for audit in audits], axis=0)
            assert np.mean(often / chance) == pytest.approx(1.0, abs=0.02)
            spread = np.sqrt(chance * (1.0 - chance) / 400)
            assert (np.abs(often - chance) < 4.5 * spread).all()

    def test_by_trust_chances_rise_with_the_doubt_and_keep_the_share(self):
        rows, accepted = np.arange(100.0)[:, None], np.arange(100) < 80
        trust = np.linspace(0.95, 1.0, 100)
        chance = audit_of(rows, accepted, trust, 0.05, 0, True).probability
        assert chance[:80].mean() == pytest.approx(0.05)
        assert chance[:80].min() >= 0.025
        assert (np.diff(chance[:80]) < 0.0).all()
        assert (chance[80:] == 1.0).all()
        assert set(audit_of(rows, accepted, np.ones(100), 0.05, 0, True).probability[:80]) == {0.05}
        rare = np.where(np.arange(100) == 3, 0.5, 1.0)
        assert audit_of(rows, accepted, rare, 0.5, 0, True).probability[3] == 1.0

    def test_bad_input_is_refused(self, watch, iris):
        for options, refusal in (
            ({"share": 0.0}, raises("audit-share", share=0.0)),
            ({"share": 1.5}, raises("audit-share", share=1.5)),
            ({"share": True}, raises("audit-share", share=True)),
            ({"share": "all"}, raises("audit-share", share="all")),
            ({"share": 0.005}, raises("chance-below-least", which="share", smallest=0.005, least_probability=0.01)),
            (
                {"share": 0.015, "by_trust": True},
                raises("chance-below-least", which="half of share, the least chance by trust,", smallest=0.0075),
            ),
            ({"seed": -1}, raises("audit-seed", seed=-1)),
            ({"seed": 0.5}, raises("audit-seed", seed=0.5)),
            ({"min_trust": 2.0}, raises("not-between-0-and-1", name="min_trust", value=2.0)),
        ):
            with refusal:
                watch.audit(iris[0], **options)

    def test_a_classifier_that_was_fitted_again_is_noticed(self, iris):
        clf = SEPClassifier().fit(iris[0][::2], iris[1][::2])
        monitor = FeedbackMonitor(clf, reference=iris[0][1::2])
        clf.fit(*iris)
        with raises("fitted-again"):
            monitor.audit(iris[0])
