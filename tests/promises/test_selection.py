"""Promises by label, region and group, and by cost."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline, select_min_trust
from sepc.promises.criteria import CostLimit, ErrorLimit, equal_share, shared_risks
from sepc.promises.safe_thresholds import lowest_safe_threshold

COSTS = {"ill": {"well": 5.0}, "well": {"ill": 1.0}}


def patients(n, seed=0):
    """Two classes that overlap, the rarer one in two groups far from each other."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.35, "ill", "well")
    X = rng.normal(size=(n, 2))
    X[y == "ill"] += np.where(rng.random((np.count_nonzero(y == "ill"), 1)) < 0.5, [3.0, 0.0], [-3.0, 3.0])
    return X, y


@pytest.fixture(scope="module")
def clf():
    return SEPClassifier(n_imp=0.1).fit(*patients(600))


@pytest.fixture(scope="module")
def cal():
    return patients(800, seed=1)


def accepts(clf, X, promise, **kwargs):
    return np.array([label is not None for label in clf.predict_or_abstain(X, promise, **kwargs)])


class TestByLabel:
    def test_each_label_gets_the_threshold_of_its_own_records_at_its_share_of_the_risk(self, clf, cal):
        found = select_min_trust(clf, *cal, max_error=0.1, by="label")
        a = clf.assess(cal[0])
        for label in ("ill", "well"):
            mine = (a.label == label) & a.accepted(min_trust=0.0)
            own = lowest_safe_threshold(a.trust[mine], (a.label != cal[1])[mine], 0.1, 1 - equal_share(0.05, 2))
            part = found.parts[label]
            assert (part.status, part.min_trust) == ("promised", own.threshold)
            assert (part.n_calibration, part.n_accepted) == (mine.sum(), own.n_accepted)
            taken = mine & (a.trust >= part.min_trust)
            assert part.n_errors == np.count_nonzero(a.label[taken] != cal[1][taken])
            assert part.n_errors / part.n_accepted <= part.error_bound <= 0.1

    def test_what_is_accepted_is_what_was_counted(self, clf, cal):
        found = select_min_trust(clf, *cal, max_error=0.1, by="label")
        accepted = accepts(clf, cal[0], found)
        assert accepted.sum() == found.n_accepted
        a = clf.assess(cal[0])
        assert np.array_equal(a.accepted(found), accepted)
        assert np.array_equal(a.accepted({p.part: p.min_trust for p in found.parts.values()}), accepted)

    def test_a_label_without_enough_records_costs_the_others_nothing(self, clf, cal):
        few = np.concatenate(
            [np.flatnonzero(clf.predict(cal[0]) == "well"), np.flatnonzero(clf.predict(cal[0]) == "ill")[:5]]
        )
        X, y = cal[0][few], cal[1][few]
        found = select_min_trust(clf, X, y, max_error=0.1, by="label")
        assert found.parts["ill"].status == "too few records"
        assert found.parts["ill"].n_more > 30
        a = clf.assess(X)
        mine = (a.label == "well") & a.accepted(min_trust=0.0)
        own = lowest_safe_threshold(a.trust[mine], (a.label != y)[mine], 0.1, 0.95)
        assert (found.parts["well"].min_trust, found.parts["well"].n_accepted) == (own.threshold, own.n_accepted)
        reasons = clf.assess(cal[0]).refusals(found)
        assert set(reasons[(clf.predict(cal[0]) == "ill")]) <= {"promise", "beyond", "strange", "contested"}

    def test_enough_more_records_that_are_right_make_the_promise(self):
        class Sure:
            classes_ = np.array(["a", "b"])

            def predict(self, X):
                return np.where(np.asarray(X)[:, 0] > 0, "a", "b")

            def trust_score(self, X):
                return np.full(len(X), 0.9)

        def found(n_b):
            X = np.repeat([[1.0], [-1.0]], [300, n_b], axis=0)
            return select_min_trust(Sure(), X, Sure().predict(X), by="label")

        more = found(40).parts["b"].n_more
        assert found(40 + more).parts["b"].status == "promised"
        assert found(39 + more).parts["b"].status == "too few records"

    def test_too_many_wrong(self, clf):
        X, y = patients(400, seed=2)
        rng = np.random.default_rng(0)
        y = np.where(rng.random(400) < 0.4, np.where(y == "ill", "well", "ill"), y)
        found = select_min_trust(clf, X, y, by="label")
        assert {part.status for part in found.parts.values()} == {"too many wrong"}
        assert not clf.assess(X).accepted(found).any()
        assert "too many wrong: " in repr(found)

    def test_limits_may_differ(self, clf, cal):
        both = select_min_trust(clf, *cal, max_error={"ill": 0.2, None: 0.1}, by="label")
        assert [part.limit for part in both.parts.values()] == [0.2, 0.1]
        strict = select_min_trust(clf, *cal, max_error=0.1, by="label")
        assert both.parts["ill"].min_trust <= strict.parts["ill"].min_trust
        assert both.parts["well"].min_trust == strict.parts["well"].min_trust


class TestByRegion:
    @pytest.mark.slow
    def test_the_region_is_the_one_with_the_largest_share_of_the_label(self, clf, cal):
        a = clf.assess(cal[0][:40])
        for i in range(40):
            own = [s for s in clf.explain(cal[0][i]).shares if s.label == a.label[i] and s.region != "background"]
            assert a.main_region[i] == max(own, key=lambda s: s.share).region

    def test_regions_that_are_read_as_one_are_one_part(self, clf, cal):
        found = select_min_trust(clf, *cal, max_error=0.15, by="region")
        assert len(clf.model_.densities.codes) < len(clf.model_.fit.groups)
        # Both groups of the rarer class are parts of their own.
        assert list(found.parts) == clf.model_.region_names()
        assert [name.rpartition("#")[0] for name in found.parts] == ["ill", "ill", "well"]

    def test_regions_are_signed_or_pooled_and_every_record_is_in_one(self, cal):
        clf = SEPClassifier(n_imp=0.1, trust="raw").fit(*patients(600))  # which reads each region by itself
        found = select_min_trust(clf, *cal, max_error=0.15, by="region")
        names = [part.part for part in found.parts.values()]
        assert len(set(names)) == len(names)
        assert any(name.startswith("other regions of ") for name in names)
        which = found.part_of(clf.assess(cal[0]))
        assert (which >= 0).all()
        eligible = clf.assess(cal[0]).accepted(min_trust=0.0)
        assert [part.n_calibration for part in found.parts.values()] == np.bincount(
            which[eligible], minlength=len(names)
        ).tolist()
        assert accepts(clf, cal[0], found).sum() == found.n_accepted > 0

    def test_which_regions_are_pooled_does_not_depend_on_where_calibration_records_fell(self, clf):
        sets = [patients(500, seed) for seed in range(3, 6)]
        n = min(np.count_nonzero(clf.assess(X).accepted(min_trust=0.0)) for X, _ in sets)
        named = []
        for X, y in sets:
            rows = np.flatnonzero(clf.assess(X).accepted(min_trust=0.0))[:n]
            named.append(list(select_min_trust(clf, X[rows], y[rows], by="region", max_error=0.2).parts))
        assert named[0] == named[1] == named[2]

    @pytest.mark.parametrize("model", [SEPEnsembleClassifier(n_estimators=2), SEPClassifier(trust="paper")], ids=str)
    def test_without_regions_a_clear_error(self, model, cal):
        with raises("by-region-needs-regions"):
            select_min_trust(model.fit(*patients(120)), *cal, by="region")


class TestByGroups:
    def test_each_group_has_its_own_threshold(self, clf, cal):
        groups = np.where(cal[0][:, 1] > 0, "north", "south")
        found = select_min_trust(clf, *cal, max_error=0.1, by=groups)
        assert [part.part for part in found.parts.values()] == ["north", "south"]
        assert accepts(clf, cal[0], found, groups=groups).sum() == found.n_accepted
        for kind in (pd.Series(groups), pl.Series(groups.tolist()), groups.tolist()):
            assert np.array_equal(accepts(clf, cal[0], found, groups=kind), accepts(clf, cal[0], found, groups=groups))

    def test_overlapping_groups_are_promised_by_combination_at_the_strictest_limit(self, clf, cal):
        table = pd.DataFrame({"old": cal[0][:, 0] > 0.5, "woman": np.arange(800) % 2 == 0})
        found = select_min_trust(clf, *cal, max_error={"old": 0.2, "woman": 0.3, None: 0.25}, by=table)
        limits = {part.part: part.limit for part in found.parts.values()}
        assert limits == {"none of the groups": 0.25, "old only": 0.2, "old & woman": 0.2, "woman only": 0.3}
        accepted = accepts(clf, cal[0], found, groups=table)
        assert accepted.sum() == found.n_accepted
        assert np.array_equal(accepted, accepts(clf, cal[0], found, groups=pl.from_pandas(table)))

    def test_an_unknown_or_missing_group_is_refused_and_the_others_are_not(self, clf, cal):
        groups = np.where(cal[0][:, 1] > 0, "north", "south")
        found = select_min_trust(clf, *cal, max_error=0.1, by=groups)
        new = groups.astype(object)
        new[0], new[1] = "west", None
        accepted, usual = (accepts(clf, cal[0], found, groups=g) for g in (new, groups))
        assert not accepted[:2].any()
        assert np.array_equal(accepted[2:], usual[2:])

    @pytest.mark.parametrize(
        ("by", "refusal"),
        [
            (["a", "b"], raises("groups-shape", shape=(2,), n_records=800)),
            (np.full((800, 2), 0.5), raises("group-value", value=0.5, row=0, column="group 0")),
            (["a"] * 799 + [None], raises("promise-by-gap", row=799)),
            ("sex", raises("promise-by", by="'sex'")),
            (3, raises("promise-by", by="3")),
        ],
    )
    def test_groups_that_do_not_fit(self, clf, cal, by, refusal):
        with refusal:
            select_min_trust(clf, *cal, by=by)

    @pytest.mark.parametrize("name", ["old & woman", "old only", "none of the groups", "woman"])
    def test_names_by_which_combinations_would_read_alike(self, clf, cal, name):
        table = pd.DataFrame(np.ones((800, 2), dtype=bool), columns=["woman", name])
        with raises("group-name", found=f"the group {name!r}"):
            select_min_trust(clf, *cal, by=table)

    def test_whole_numbers_are_the_same_groups_as_floats_and_with_gaps(self, clf, cal):
        groups = np.where(cal[0][:, 1] > 0, 1, 2)
        found = select_min_trust(clf, *cal, max_error=0.1, by=groups)
        usual = accepts(clf, cal[0], found, groups=groups)
        assert usual.any()
        kinds = (groups.astype(float), pd.Series(groups, dtype="Int64"), pd.Series(groups.astype(str), dtype="string"))
        for kind in kinds:
            assert np.array_equal(accepts(clf, cal[0], found, groups=kind), usual)
        gaps = pd.Series(groups, dtype="Int64")
        gaps[0] = pd.NA
        assert np.array_equal(accepts(clf, cal[0], found, groups=gaps)[1:], usual[1:])
        floats = np.where(np.arange(800) == 0, np.nan, groups)
        assert np.array_equal(accepts(clf, cal[0], found, groups=floats)[1:], usual[1:])

    @pytest.mark.parametrize(
        ("by", "refusal"),
        [
            ([[True], [True, False]] * 400, raises("groups-ragged")),
            (np.empty((800, 0), dtype=bool), raises("group-name", found="no column")),
            (
                pd.DataFrame({"a": pd.array([True, None] * 400, dtype="boolean")}),
                raises("group-value", row=1, column="a"),
            ),
            (pd.Series([pd.NA] * 800, dtype="string"), raises("promise-by-gap", row=0)),
        ],
        ids=["ragged", "no column", "NA in a table", "NA"],
    )
    def test_groups_without_sense(self, clf, cal, by, refusal):
        with refusal:
            select_min_trust(clf, *cal, by=by)

    def test_groups_are_given_again(self, clf, cal):
        table = pd.DataFrame({"old": cal[0][:, 0] > 0.5, "woman": np.arange(800) % 2 == 0})
        found = select_min_trust(clf, *cal, max_error=0.3, by=table)
        with raises("groups-needed"):
            clf.predict_or_abstain(cal[0], found)
        with raises("groups-changed", now="woman, old", was="old, woman"):
            clf.predict_or_abstain(cal[0], found, groups=table[["woman", "old"]])
        with raises("groups-changed", now="one group for each record"):
            clf.predict_or_abstain(cal[0], found, groups=table["old"])
        with raises("groups-for-another-promise", by="label"):
            clf.predict_or_abstain(cal[0], select_min_trust(clf, *cal, by="label"), groups=table)
        with raises("groups-not-asked", min_trust=0.9):
            clf.predict_or_abstain(cal[0], 0.9, groups=table)


class TestCosts:
    def test_the_mean_cost_of_accepted_labels_is_bounded(self, clf, cal):
        found = select_min_trust(clf, *cal, max_cost=0.3, costs=COSTS)
        assert not found.parts
        accepted = accepts(clf, cal[0], found)
        given, true = clf.predict(cal[0])[accepted], cal[1][accepted]
        cost = np.where(given == true, 0.0, np.where(true == "ill", 5.0, 1.0))
        assert found.cost == pytest.approx(cost.mean())
        assert found.cost < found.error_bound <= 0.3
        assert found.n_accepted == accepted.sum() > 0

    def test_by_label_only_what_that_label_can_cost_counts(self, clf, cal):
        found = select_min_trust(clf, *cal, max_cost={"ill": 1.0, "well": 0.2}, costs=COSTS, by="label")
        assert (found.parts["ill"].min_trust, found.parts["ill"].status) == (0.0, "promised")  # none costs more than 1
        assert 0.0 < found.parts["well"].min_trust < 1.0

    def test_costs_that_the_classifier_was_told_are_taken(self, clf, cal):
        careful = clf.under(costs=COSTS)
        found = select_min_trust(careful, *cal, max_cost=0.3, by="label")
        assert found == select_min_trust(careful, *cal, max_cost=0.3, by="label", costs=[[0.0, 5.0], [1.0, 0.0]])
        assert accepts(careful, cal[0], found).sum() == found.n_accepted
        with raises("promise-of-another-model"):
            clf.predict_or_abstain(cal[0], found)

    def test_the_order_of_records_does_not_matter_for_sums_of_costs(self):
        class Sure:
            classes_ = np.array([0, 1])

            def predict(self, X):
                return np.zeros(len(X), dtype=int)

            def trust_score(self, X):
                return np.asarray(X)[:, 0]

        rng = np.random.default_rng(0)
        X, y = np.repeat([[0.9], [0.5]], 100, axis=0), (rng.random(200) < 0.4).astype(int)
        costs = [[0.0, 1.0], [0.1, 0.0]]
        for limit in np.linspace(0.03, 0.08, 40):
            found = {
                repr(select_min_trust(Sure(), X[o], y[o], max_cost=float(limit), costs=costs).to_dict())
                for o in (rng.permutation(200) for _ in range(4))
            }
            assert len(found) == 1

    @pytest.mark.parametrize("kind", [float, bool, np.int8])
    def test_labels_that_are_equal_are_the_same_label(self, kind):
        X, y = patients(400)
        codes = (y == "ill").astype(int)
        clf = SEPClassifier(n_imp=0.1).fit(X[:200], codes[:200])
        asked = {"max_cost": 0.5, "costs": [[0.0, 1.0], [5.0, 0.0]], "by": "label"}
        one = select_min_trust(clf, X[200:], codes[200:], **asked)
        assert select_min_trust(clf, X[200:], codes[200:].astype(kind), **asked).parts == one.parts

    def test_without_records_no_cost_is_bounded_but_the_largest(self):
        nothing = np.empty(0)
        assert CostLimit(1.0, 0.0, 2.0).threshold(nothing, nothing, 0.05) is None
        assert CostLimit(2.0, 0.0, 2.0).threshold(nothing, nothing, 0.05).threshold == 0.0

    def test_costs_need_the_order_of_labels(self, clf, cal):
        class Bare:
            predict, trust_score = clf.predict, clf.trust_score

        with raises("costs-without-classes", type="Bare"):
            select_min_trust(Bare(), *cal, max_cost=0.3, costs=COSTS)

    def test_dearer_than_anything_promises_nothing(self, clf, cal):
        found = select_min_trust(clf, *cal, max_cost=0.0, costs=COSTS)
        assert found.status == "too dear"  # no number of records shows a cost of 0
        dear = select_min_trust(clf, *cal, max_cost=0.05, costs=COSTS)
        assert dear.status in ("too dear", "too few records")

    @pytest.mark.parametrize(
        ("change", "refusal"),
        [
            ({"costs": COSTS}, raises("costs-without-max-cost")),
            ({"max_cost": 0.3}, raises("max-cost-without-costs", type="SEPClassifier")),
            ({"max_cost": -1.0, "costs": COSTS}, raises("cost-limit", name="max_cost", value=-1.0)),
            (
                {"max_cost": {"ill": 1.0}, "costs": COSTS, "by": "label"},
                raises("limit-without-entry", name="max_cost", part="well"),
            ),
            (
                {"max_cost": {"sick": 1.0}, "costs": COSTS, "by": "label"},
                raises("limit-of-unknown-part", name="max_cost", part="sick"),
            ),
            ({"max_cost": 0.3, "costs": [[0, 1]]}, raises("costs-shape", shape=(1, 2), n_classes=2)),
            ({"max_cost": 0.3, "costs": COSTS, "unknown_labels": "wrong"}, raises("unknown-labels-without-price")),
            ({"unknown_labels": "maybe"}, raises("unknown-labels", unknown_labels="maybe")),
            ({"max_error": {"ill": 0.1}}, raises("not-strictly-between-0-and-1", name="max_error")),
            (
                {"max_error": 0.1, "max_cost": 0.3, "costs": COSTS},
                raises("max-error-and-max-cost", max_error=0.1, max_cost=0.3),
            ),
        ],
    )
    def test_bad_requests(self, clf, cal, change, refusal):
        with refusal:
            select_min_trust(clf, *cal, **change)


class TestSharing:
    @given(st.lists(st.integers(0, 600), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.2]))
    def test_no_more_than_the_risk_is_shared_out_and_nothing_where_it_is_lost(self, sizes, limit):
        criteria = [ErrorLimit(limit)] * len(sizes)
        risks = shared_risks(sizes, criteria, 0.05)
        assert np.prod([1 - r for r in risks]) >= 0.95 - 1e-12
        for n, r in zip(sizes, risks, strict=True):
            assert r == 0.0 or n >= ErrorLimit(limit).needed(r)
        m = sum(r > 0 for r in risks)
        more = equal_share(0.05, m + 1)
        assert sum(n >= ErrorLimit(limit).needed(more) for n in sizes) < m + 1

    def test_of_more_parts_than_can_share_the_one_with_most_records_for_its_need_is_promised(self):
        strict, lax = ErrorLimit(0.05), ErrorLimit(0.2)
        sizes = [strict.needed(0.05), lax.needed(equal_share(0.05, 2)) - 1]  # each is enough alone, and none for both
        assert shared_risks(sizes, [strict, lax], 0.05) == [0.0, 0.05]

    def test_a_limit_that_all_keep_needs_no_record(self):
        assert shared_risks([0], [CostLimit(3.0, 0.0, 2.0)], 0.05) == [0.05]


class TestAnyModel:
    @pytest.mark.slow
    def test_ensembles_and_tables(self, cal):
        X, y = patients(150)
        ensemble = SEPEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y)
        found = select_min_trust(ensemble, *cal, max_error=0.15, by="label")
        assert accepts(ensemble, cal[0], found).sum() == found.n_accepted
        table = pd.DataFrame(cal[0], columns=["a", "b"])
        pipeline = make_table_pipeline().fit(pd.DataFrame(X, columns=["a", "b"]), y)
        for by in ("label", "region"):
            found = select_min_trust(pipeline, table, cal[1], max_error=0.15, by=by)
            assert accepts(pipeline, table, found).sum() == found.n_accepted
        careful = pipeline.under(class_prior={"ill": 0.1})
        with raises("promise-of-another-model"):
            careful.predict_or_abstain(table, found)

    def test_a_promise_of_another_model_is_refused(self, clf, cal):
        other = SEPClassifier().fit(*patients(300, seed=9))
        for by in (None, "label"):
            found = select_min_trust(clf, *cal, max_error=0.15, by=by)
            for use in (
                lambda f=found: other.predict_or_abstain(cal[0], f),
                lambda f=found: other.assess(cal[0]).accepted(f),
            ):
                with raises("promise-of-another-model"):
                    use()

    def test_a_model_that_was_fitted_again_to_the_same_records_is_the_same(self, clf, cal):
        found = select_min_trust(clf, *cal, max_error=0.15, by="label")
        again = SEPClassifier(n_imp=0.1).fit(*patients(600))
        assert np.array_equal(accepts(again, cal[0], found), accepts(clf, cal[0], found))

    def test_the_order_of_records_does_not_matter(self, clf, cal):
        order = np.random.default_rng(0).permutation(800)
        groups = np.where(cal[0][:, 1] > 0, "north", "south")
        for by in ("label", "region", groups):
            shuffled = by if isinstance(by, str) else by[order]
            one = select_min_trust(clf, *cal, max_error=0.1, by=by)
            assert one == select_min_trust(clf, cal[0][order], cal[1][order], max_error=0.1, by=shuffled)

    def test_everything_as_json_and_as_a_frame(self, clf, cal):
        found = select_min_trust(clf, *cal, max_error=0.1, by="label")
        assert json.loads(json.dumps(found.to_dict()))["parts"][0]["part"] == "ill"
        assert found.to_frame()["min_trust"].tolist() == [part.min_trust for part in found.parts.values()]
        assert "95 %" in found._repr_html_()
        with pytest.raises(KeyError):
            found.parts["maybe"]

    def test_three_classes_a_weak_one_does_not_block_the_others(self):
        X, y = three_classes(1200, 0)
        clf = SEPClassifier(n_imp=0.1).fit(X[:400], y[:400])
        found = select_min_trust(clf, X[400:], y[400:], max_error=0.05, by="label")
        status = {part.part: part.status for part in found.parts.values()}
        assert status["far"] == "promised"
        assert "promised" not in (status["near"], status["nearer"])


def three_classes(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(["far", "near", "nearer"], n)
    X = rng.normal(size=(n, 2))
    X[y == "far"] += 8.0
    X[y == "nearer", 0] += 0.4
    return X, y
