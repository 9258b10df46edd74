"""Records with missing values, in training and after it, by both estimators."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from texts import assert_readable

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.common.text import percent
from sepc.feedback import FeedbackMonitor
from sepc.model.incomplete import completed

MAKERS = {
    "one": lambda: SEPClassifier(n_imp=0.05),
    "ensemble": lambda: SEPEnsembleClassifier(n_estimators=5),
}


def with_gaps(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :10], np.where(y == 0, "malignant", "benign")


@pytest.fixture(scope="module", params=["one", pytest.param("ensemble", marks=pytest.mark.slow)])
def fitted(request, cancer):
    """A classifier of complete records; another one of records with gaps; which kind."""
    X, y = cancer
    make = MAKERS[request.param]
    return make().fit(X[::2], y[::2]), make().fit(with_gaps(X[::2], 0.2), y[::2]), request.param


class TestNewRecords:
    @pytest.mark.slow
    def test_complete_ones_keep_their_bits(self, fitted, cancer):
        X = cancer[0][1::2]
        asked = np.vstack([X, with_gaps(X, 0.3)])
        for clf in fitted[:2]:
            alone, together = clf.predict_proba(X), clf.predict_proba(asked)
            assert np.array_equal(together[: len(X)], alone)
            frame = clf.assess(asked).to_frame()[: len(X)]
            assert frame.equals(clf.assess(X).to_frame())

    def test_nothing_known_gives_the_shares_of_the_classes_and_is_refused(self, fitted):
        empty = np.full((2, 10), np.nan)
        for clf in fitted[:2]:
            share = clf.class_count_ / clf.class_count_.sum()
            assert clf.predict_proba(empty)[0] == pytest.approx(share, abs=1e-12)
            a = clf.assess(empty)
            assert a.refusals(min_trust=0.0, min_typicality=0.0).tolist() == ["no values"] * 2
            assert a.reason[0] == "no values"
            assert np.isnan(a.typicality[0])
            assert clf.predict_or_abstain(empty, min_trust=0.0).tolist() == [None] * 2
            why = clf.explain(empty[0])
            assert why.missing.is_all
            assert_readable(why.text)
            assert why.counterfactual is None

    def test_other_shares_of_the_classes_hold_there_too(self, fitted):
        prior = {"malignant": 0.1, "benign": 0.9}
        proba = fitted[0].under(class_prior=prior).predict_proba(np.full((1, 10), np.nan))
        assert proba[0] == pytest.approx([0.9, 0.1], abs=1e-9)

    @pytest.mark.slow
    def test_they_are_judged_better_than_by_filled_means(self, cancer):
        X, y = cancer
        asked, truth = with_gaps(X[1::2], 0.4), y[1::2]
        for make in MAKERS.values():
            own = make().fit(X[::2], y[::2])
            filled = make_pipeline(SimpleImputer(), make()).fit(X[::2], y[::2])
            losses = []
            for clf in (own, filled):
                proba = clf.predict_proba(asked)[np.arange(len(truth)), np.searchsorted(own.classes_, truth)]
                losses.append(-np.log(np.maximum(proba, 1e-12)).mean())
            assert losses[0] < 0.8 * losses[1]

    def test_ordinary_ones_are_rarely_strange_and_odd_ones_are(self, fitted, cancer):
        X = cancer[0][1::2]
        for clf in fitted[:2]:
            if fitted[2] == "raw":
                continue
            a = clf.assess(with_gaps(X, 0.3, seed=1))
            assert np.mean(a.typicality < 0.01) < 0.05
            assert 0.35 < np.nanmean(a.typicality) < 0.7
            odd = with_gaps(X[:20], 0.3, seed=2)
            odd[:, 3] = 40.0 * X[:, 3].max()
            assert (clf.assess(odd).reason == "beyond").all()

    def test_frames_lists_and_one_record_at_a_time_agree(self, fitted, cancer):
        asked = with_gaps(cancer[0][1:9], 0.3)
        clf = fitted[0]
        proba = clf.predict_proba(asked)
        assert np.array_equal(clf.predict_proba(asked.tolist()), proba)
        for row, expected in zip(asked, proba, strict=True):
            assert np.array_equal(clf.predict_proba(row[None])[0], expected)

    def test_labels_that_are_accepted_are_right_as_often_as_is_promised(self, fitted, cancer):
        X, y = cancer
        asked, truth = with_gaps(X[1::2], 0.2, seed=3), y[1::2]
        a = fitted[1].assess(asked)
        taken = a.accepted(0.95)
        assert taken.mean() > 0.4
        assert np.mean(a.label[taken] == truth[taken]) > 0.95


class TestRules:
    @pytest.mark.slow
    def test_a_rule_is_known_where_no_value_could_change_it(self, cancer):
        X, y = cancer
        clf = SEPClassifier(n_imp=0.05).fit(X[::2, :3], y[::2])
        rng = np.random.default_rng(0)
        asked = with_gaps(X[1:200:2, :3] + 5.0 * rng.normal(size=(100, 3)), 0.4, seed=5)
        a = clf.assess(asked)
        gaps = np.isnan(asked)
        some = gaps.any(axis=1) & ~gaps.all(axis=1)
        assert set(a.rule[some]) == {"unknown", "R3"}
        low, high = X.min(axis=0)[:3], X.max(axis=0)[:3]
        for row in np.flatnonzero(some):
            tried = np.where(gaps[row], rng.uniform(low, high, size=(4000, 3)), asked[row])
            inside = (clf.assess(tried).rule != "R3").any()
            if a.rule[row] == "R3":
                assert not inside
                assert a.region[row] == "outside"
            else:
                assert (a.region[row], a.counts[row].tolist()) == ("unknown", [0, 0])
            if np.count_nonzero(gaps[row]) == 1:
                assert (a.rule[row] == "unknown") == self.line_meets_an_ellipsoid(clf, asked[row])
        assert np.isnan(a.distance[some]).all()
        assert set(a.reason[some]) <= {"outside", "incomplete", "contested", "strange", "beyond"}

    def line_meets_an_ellipsoid(self, clf, record):
        """Return whether some value of the one missing feature brings a record into an ellipsoid.

        The square of the gauge is a parabola along the line: three points give its least value.
        """
        j, tried = int(np.flatnonzero(np.isnan(record))[0]), np.repeat(record[None], 3, axis=0)
        tried[:, j] = clf.mean_[j] + np.array([-1.0, 0.0, 1.0]) * clf.scale_[j]
        left, middle, right = np.square(clf.model_.rules[0].stack.gauges(clf.model_.units(tried)))
        return bool((middle - np.square(right - left) / (8.0 * (left + right - 2.0 * middle)) <= 1.0).any())

    @pytest.mark.parametrize("trust", ["paper", "counts", "bound"])
    def test_readings_that_count_refuse_them(self, trust, cancer):
        X, y = cancer
        clf = SEPClassifier(trust=trust)
        assert not get_tags(clf).input_tags.allow_nan
        with raises("not-finite", kinds="NaN"):
            clf.fit(with_gaps(X[:100], 0.1), y[:100])
        clf.fit(X[::4], y[::4])
        with raises("not-finite", kinds="NaN"):
            clf.predict(np.full((1, 10), np.nan))
        for able in (SEPClassifier(), SEPClassifier(trust="raw"), SEPEnsembleClassifier()):
            assert get_tags(able).input_tags.allow_nan


class TestExplanations:
    @pytest.mark.slow
    def test_it_says_what_is_missing_and_what_that_costs(self, fitted, cancer):
        X, _ = cancer
        for clf in fitted[:2]:
            trust = clf.assess(with_gaps(X[1::2], 0.5, seed=4)).trust
            unsure = with_gaps(X[1::2], 0.5, seed=4)[int(np.argmin(np.abs(trust - 0.75)))]
            why = clf.explain(unsure)
            missing = np.flatnonzero(np.isnan(unsure))
            assert why.missing.features == tuple(f"x{j}" for j in missing)
            assert why.missing.n_features == 10
            assert why.missing.expected_trust > why.trust
            assert why.trust < why.missing.worth <= why.missing.expected_trust + 0.05
            assert why.missing.most_worth in why.missing.features
            told = list(why.missing.sentences())
            assert f" {len(missing)} " in told[0]
            assert f"{percent(why.missing.expected_trust)}" in told[1]
            assert_readable(why.text)
            assert why.to_dict()["missing"]["features"] == list(why.missing.features)
            assert all(neighbour.values.keys() == {f"x{j}" for j in range(10)} for neighbour in why.neighbours)

    @pytest.mark.slow
    def test_shares_add_up_to_the_trust_and_terms_to_the_odds(self, cancer):
        X, y = cancer
        for trust in ("local", "raw"):
            clf = SEPClassifier(n_imp=0.05, trust=trust).fit(with_gaps(X[::2], 0.1), y[::2])
            for row in with_gaps(X[1:40:2], 0.3):
                if not np.isnan(row).any():
                    continue
                why = clf.explain(row)
                assert sum(s.share for s in why.shares if s.label == why.label) == pytest.approx(why.trust, abs=1e-9)
                assert why.table()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)
                assert all(c.contribution == 0.0 for c in why.evidence.columns if c.value is None)
                assert (why.regions, why.features) == ((), ())

    @pytest.mark.slow
    def test_voices_and_the_rest_add_up_to_the_odds(self, cancer):
        X, y = cancer
        clf = SEPEnsembleClassifier(n_estimators=4).fit(X[::2], y[::2])
        why = clf.explain(with_gaps(X[1:2], 0.3)[0])
        odds = sum(voice.evidence for voice in why.voices) + why.leaning + why.background
        assert odds == pytest.approx(np.log(why.odds), abs=1e-9)

    @pytest.mark.slow
    def test_a_change_leaves_alone_what_is_missing(self, fitted, cancer):
        X, _ = cancer
        clf = fitted[0]
        for row in with_gaps(X[1:12:4], 0.3):
            why = clf.explain(row)
            found, gaps = why.counterfactual, np.isnan(row)
            assert found is not None
            assert {c.feature for c in found.changes} <= {f"x{j}" for j in np.flatnonzero(~gaps)}
            after = np.array([np.nan if v is None else v for v in found.point.values()])
            assert np.array_equal(np.isnan(after), gaps)
            assert clf.predict(after[None])[0] == found.label != why.label

    def test_what_is_strange_is_named(self, cancer):
        X, y = cancer
        clf = SEPClassifier(n_imp=0.05).fit(X[::2], y[::2])
        odd = with_gaps(X[1:2], 0.3)[0]
        odd[5] = 100.0
        why = clf.explain(odd)
        assert why.reason == "beyond"
        assert why.strange_features[0].feature == "x5"
        assert why.strange_features[0].value == 100.0


class TestTraining:
    @pytest.mark.slow
    def test_the_order_of_rows_does_not_matter(self, fitted, cancer):
        X, y = with_gaps(cancer[0][::2], 0.2), cancer[1][::2]
        order = np.random.default_rng(1).permutation(len(y))
        again = MAKERS[fitted[2]]().fit(X[order], y[order])
        asked = with_gaps(cancer[0][1::2], 0.2, seed=7)
        assert np.array_equal(again.predict_proba(asked), fitted[1].predict_proba(asked))

    @pytest.mark.study
    @pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
    def test_it_is_better_than_filling_in_before(self, cancer, make):
        X, y = cancer
        losses = []
        for seed in range(3):  # one draw of gaps may favour either
            train, asked, truth = with_gaps(X[::2], 0.4, seed), with_gaps(X[1::2], 0.4, seed + 10), y[1::2]
            for clf in (make(), make_pipeline(SimpleImputer(), make())):
                proba = clf.fit(train, y[::2]).predict_proba(asked)
                own = proba[np.arange(len(truth)), np.searchsorted(clf.classes_, truth)]
                losses.append(-np.log(np.maximum(own, 1e-12)).mean())
        assert np.mean(losses[::2]) < np.mean(losses[1::2])

    def test_labels_have_no_part_in_what_stands_in_for_gaps(self):
        X, _ = load_iris(return_X_y=True)
        asked = with_gaps(X, 0.3)
        filled, gaps = completed(asked)
        assert np.array_equal(filled[~gaps], X[~gaps])
        order = np.random.default_rng(0).permutation(len(X))
        assert np.array_equal(completed(asked[order])[0], filled[order])
        near, far = np.abs(filled - X)[gaps], np.abs(np.nanmean(asked, axis=0) - X)[gaps]
        assert near.mean() < 0.6 * far.mean()

    @pytest.mark.slow
    def test_categories_get_values_that_they_can_have(self):
        rng = np.random.default_rng(0)
        kind = rng.integers(0, 3, 200)
        X = np.column_stack([kind + 0.3 * rng.normal(size=200), np.eye(3)[kind], rng.integers(0, 2, 200)])
        asked = X.copy()
        asked[::7, 1:4] = np.nan
        asked[::5, 4] = np.nan
        asked[::9, 0] = np.nan
        filled, _ = completed(asked)
        assert np.array_equal(filled[:, 1:4].sum(axis=1), np.ones(200))
        assert set(np.unique(filled[:, 1:])) == {0.0, 1.0}
        here = np.arange(200) % 7 == 0
        known = here & (np.arange(200) % 9 != 0)
        assert np.mean(filled[known][:, 1:4].argmax(axis=1) == kind[known]) > 0.6
        clf = SEPClassifier(n_imp=0.05).fit(asked, kind > 0)
        assert clf.score(asked, kind > 0) > 0.9

    @pytest.mark.slow
    def test_honest_probabilities_know_of_the_gaps(self, cancer):
        X, y = cancer
        clf = SEPEnsembleClassifier(n_estimators=4).fit(with_gaps(X[::2], 0.3), y[::2])
        own = clf.out_of_fold_proba_[np.arange(len(y[::2])), np.searchsorted(clf.classes_, y[::2])]
        assert -np.log(own).mean() < 0.3


class TestElsewhere:
    @pytest.mark.slow
    @pytest.mark.parametrize("rows", [True, False])
    def test_files_keep_them(self, fitted, cancer, rows, tmp_path):
        clf = fitted[1]
        sepc.save(clf, tmp_path / "model.sepc", training_rows=rows)
        again = sepc.load(tmp_path / "model.sepc")
        asked = with_gaps(cancer[0][1::2], 0.3, seed=8)
        assert again.assess(asked).to_frame().equals(clf.assess(asked).to_frame())
        one, two = again.explain(asked[3]), clf.explain(asked[3])
        if rows:
            assert repr(one.to_dict()) == repr(two.to_dict())
        else:
            assert one.missing.expected_trust is None
            assert len(list(one.missing.sentences())) == len(list(two.missing.sentences())) - 1

    @pytest.mark.slow
    def test_dask_says_the_same(self, fitted, cancer):
        da = pytest.importorskip("dask.array")
        clf, asked = fitted[0], with_gaps(cancer[0][1:60:2], 0.3)
        lazy = da.from_array(asked, chunks=(7, 10))
        assert np.array_equal(clf.predict_proba(lazy).compute(), clf.predict_proba(asked))
        assert clf.assess(lazy).reason.compute().tolist() == clf.assess(asked).reason.tolist()
        assert np.array_equal(clf.assess(lazy).known.compute(), clf.assess(asked).known)

    @pytest.mark.slow
    def test_monitors_queries_and_choices_take_them(self, cancer):
        X, y = cancer
        train, asked = with_gaps(X[::4], 0.1), with_gaps(X[1::4], 0.1, seed=1)
        clf = SEPClassifier(n_imp=0.05).fit(train, y[::4])
        monitor = FeedbackMonitor(clf).observe(asked, y[1::4])
        assert monitor.report().n == len(asked)
        new, _ = monitor.repartition()
        assert new.class_count_.sum() == len(train) + len(asked)
        assert np.isnan(new.model_.training.as_they_came).sum() == np.isnan(train).sum() + np.isnan(asked).sum()
        worth = clf.query(asked, k=5)
        assert clf.assess(asked).trust[worth].mean() < clf.assess(asked).trust.mean()
        path = sepc.select_n_imp(train, y[::4], candidates=[0.02, 0.1])
        assert path.best in (0.02, 0.1)

    @pytest.mark.slow
    def test_reports_tell_of_them(self, cancer):
        pytest.importorskip("jinja2")
        X, y = cancer
        train = pd.DataFrame(with_gaps(X[::4], 0.1), columns=[f"c{j}" for j in range(10)])
        asked = pd.DataFrame(with_gaps(X[1::4], 0.1, seed=1), columns=train.columns)
        report = sepc.report(SEPClassifier(n_imp=0.05).fit(train, y[::4]), asked, y[1::4], max_records=5)
        told = report.to_dict()
        assert "incomplete" in {row[0] for row in told["results"]["reasons"]["rows"]}
        n = int(asked.isna().any(axis=1).sum())
        assert f"{n} records" in told["picture"]["note"]
        assert "<svg" in report.html()

    def test_a_damaged_file_is_refused(self, cancer, tmp_path):
        X, y = cancer
        clf = SEPClassifier(n_imp=0.05).fit(with_gaps(X[::4], 0.1), y[::4])
        sepc.save(clf, tmp_path / "model.sepc")
        raw = (tmp_path / "model.sepc").read_bytes()
        for place in (len(raw) // 3, 2 * len(raw) // 3):
            (tmp_path / "bad.sepc").write_bytes(raw[:place] + bytes([raw[place] ^ 255]) + raw[place + 1 :])
            with pytest.raises(sepc.ModelFileError):
                sepc.load(tmp_path / "bad.sepc")


class TestTables:
    def make(self, seed, n=300):
        rng = np.random.default_rng(seed)
        pays = np.where(rng.random(n) < 0.5, "yes", "no")
        full = pd.DataFrame(
            {
                "age": rng.normal(np.where(pays == "yes", 45.0, 40.0), 10.0),
                "income": rng.normal(np.where(pays == "yes", 3500.0, 2500.0), 500.0),
            }
        )
        return full.mask(np.column_stack([np.zeros(n, dtype=bool), rng.random(n) < 0.25])), full, pays

    @pytest.mark.slow
    def test_the_trust_that_is_expected_is_the_trust_that_comes(self):
        """Also where a feature says that the value is missing: it will say something else."""
        table, _, pays = self.make(0)
        new, full, _ = self.make(1)
        clf = sepc.make_table_pipeline().fit(table, pays)
        gaps = np.flatnonzero(new.income.isna())[:20]
        promised = np.mean([clf.explain(new.iloc[[i]]).missing.expected_trust for i in gaps])
        assert promised == pytest.approx(clf.trust_score(full.iloc[gaps]).mean(), abs=0.05)
        assert promised > clf.trust_score(new.iloc[gaps]).mean() + 0.05

    @pytest.mark.slow
    def test_what_speaks_of_a_missing_value_is_that_it_is_missing(self):
        table, _, pays = self.make(0)
        clf = sepc.make_table_pipeline().fit(table, pays)
        why = clf.explain(table[table.income.isna()].iloc[[0]])
        assert {c.column: c.value for c in why.evidence.columns}["income"] is None
        assert next(c.contribution for c in why.evidence.columns if c.column == "income") != 0.0

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
    def test_columns_of_pandas_own_types_may_have_no_value_in_a_batch(self, dtype):
        values = [None if i % 6 == 0 else i % 2 for i in range(60)]
        table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=60), "k": pd.array(values, dtype=dtype)})
        clf = sepc.make_table_pipeline().fit(table, np.arange(60) % 3 == 0)
        assert clf.predict(table[:1])[0] == clf.predict(table)[0]


class TestFewValues:
    @pytest.mark.slow
    @pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
    def test_the_order_of_rows_does_not_matter_where_gaps_alone_differ(self, make):
        rng = np.random.default_rng(0)
        X = with_gaps((rng.random((90, 3)) < 0.4).astype(float), 0.2)
        y = np.arange(90) % 2
        expected = make().fit(X, y).predict_proba(X)
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(90)
            assert np.array_equal(make().fit(X[order], y[order]).predict_proba(X), expected)

    def test_a_record_without_any_value_may_have_all_labels(self, cancer):
        X, y = cancer
        clf = SEPClassifier(n_imp=0.05).fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
        assert clf.predict_set(np.full((1, 10), np.nan), 0.8).labels() == [("benign", "malignant")]

    def test_an_ensemble_likens_it_to_no_region(self, fitted):
        a = fitted[0].assess(np.full((1, 10), np.nan))
        assert (a.region[0], a.counts[0].tolist()) == ("unknown", [0, 0])

    def test_pandas_na_among_objects_gets_a_clear_error(self, cancer):
        X, y = cancer
        holes = np.where(np.isnan(with_gaps(X[:50], 0.1)), pd.NA, X[:50].astype(object))
        with raises("pandas-na"):
            SEPClassifier().fit(holes, y[:50])
