"""Scales of columns in a fit: chosen where tails are heavy, and no one who uses the model need know of them."""

import numpy as np
import pytest
from scattered_fits import WHERE, agree

import sepc
from sepc import SEPClassifier
from sepc.estimators.scale_choice import has_heavy_tails
from sepc.persist import rules_dict


def incomes(n=240, seed=0):
    """Return two lognormal columns that differ between the labels, and a normal one that does not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 3))
    X[:, :2] = np.exp(2.0 * (X[:, :2] + 1.5 * y[:, None]))
    return X, np.array(["low", "high"])[y]


@pytest.fixture(scope="module")
def fitted():
    return SEPClassifier().fit(*incomes())


@pytest.fixture(scope="module")
def new():
    return incomes(400, seed=1)


class TestProposal:
    def test_tails_are_those_of_a_lognormal_or_a_cauchy_column(self):
        rng = np.random.default_rng(0)
        columns = [rng.normal(size=900), rng.uniform(size=900), rng.exponential(size=900), rng.standard_cauchy(900)]
        columns += [np.exp(2.0 * rng.normal(size=900)), rng.random(900) < 0.02, rng.integers(0, 9, 900) ** 9]
        assert has_heavy_tails(np.column_stack(columns)).tolist() == [False, False, False, True, True, False, False]

    def test_missing_values_count_for_nothing(self):
        X = incomes()[0]
        with_gaps = np.vstack([X, np.full((300, 3), np.nan)])
        assert has_heavy_tails(with_gaps).tolist() == has_heavy_tails(X).tolist() == [True, True, False]
        assert not has_heavy_tails(np.full((30, 1), np.nan)).any()


class TestChoice:
    def test_columns_with_heavy_tails_are_bent_where_that_helps(self, fitted, new):
        assert fitted.model_.scales.curves.columns.tolist() == [0, 1]
        assert fitted.score(*new) > SEPClassifier(trust="counts").fit(*incomes()).score(*new) + 0.05

    @pytest.mark.parametrize("how", [{"standardize": False}, {"trust": "counts"}, {"trust": "paper"}])
    def test_other_methods_leave_columns_as_they_are(self, how):
        assert SEPClassifier(**how).fit(*incomes(60)).model_.scales.is_linear

    @pytest.mark.slow
    def test_neither_row_order_nor_units_matter(self, fitted, new):
        X, y = incomes()
        order = np.random.default_rng(0).permutation(len(y))
        shuffled = SEPClassifier().fit(X[order], y[order])
        assert np.array_equal(shuffled.predict_proba(new[0]), fitted.predict_proba(new[0]))
        in_cents = SEPClassifier().fit(100.0 * X + 7.0, y).predict_proba(100.0 * new[0] + 7.0)
        assert in_cents == pytest.approx(fitted.predict_proba(new[0]), abs=1e-6)

    @pytest.mark.slow
    def test_with_missing_values(self, new):
        X, y = incomes()
        X[::7, 0] = X[::5, 2] = np.nan
        clf = SEPClassifier().fit(X, y)
        assert 0 in clf.model_.scales.curves.columns
        asked = new[0].copy()
        asked[::2, 1] = np.nan
        assert np.isfinite(clf.predict_proba(asked)).all()
        assert clf.score(asked, new[1]) > 0.7


class TestConsumers:
    def test_a_value_in_another_unit_is_strange(self, fitted, new):
        X = new[0].copy()
        X[:, 0] *= 1e6
        assert (fitted.assess(X).typicality < 0.01).mean() > 0.9
        assert (fitted.assess(new[0]).typicality < 0.01).mean() < 0.05

    def test_records_come_back_as_they_were(self, fitted):
        X, model = incomes()[0], fitted.model_
        assert model.original(model.records.points) == pytest.approx(X[model.records.rows], rel=1e-6)
        assert model.records.recorded(model.units(X)).all()

    def test_regions_are_in_original_units(self, fitted):
        X, regions = incomes()[0], fitted.regions()
        low, high = (regions[[f"x{j} {end}" for j in range(3)]].to_numpy() for end in ("low", "high"))
        for k, block in enumerate(fitted.partitions_[0].blocks):
            own = X[block.members]
            slack = 1e-6 * (high[k] - low[k])
            assert ((own >= low[k] - slack) & (own <= high[k] + slack)).all()
        assert np.isfinite(regions.log_volume).all()
        assert len(rules_dict(fitted)) > 0

    def test_samples_are_in_original_units(self, fitted):
        X, y = fitted.sample(200, random_state=0)
        assert np.mean(fitted.predict(X) == y) > 0.7
        assert 0.1 < np.median(X[:, 0]) / np.median(incomes()[0][:, 0]) < 10.0

    @pytest.mark.parametrize("training_rows", [True, False])
    def test_a_saved_model_gives_the_same_verdicts(self, fitted, new, training_rows, tmp_path):
        sepc.save(fitted, tmp_path / "model.sepc", training_rows=training_rows)
        loaded = sepc.load(tmp_path / "model.sepc")
        assert np.array_equal(loaded.predict_proba(new[0]), fitted.predict_proba(new[0]))
        assert loaded.model_.key() == fitted.model_.key()

    def test_explanations_add_up_and_changes_lead_to_the_other_label(self, fitted, new):
        x = new[0][0]
        found = fitted.explain(x)
        assert found.table()["contribution"].sum() == pytest.approx(found.evidence.log_odds, abs=1e-9)
        changed = np.array(list(found.counterfactual.point.values()))
        assert fitted.predict(changed[None])[0] == found.counterfactual.label != found.label

    def test_axes_of_pictures_name_the_scale(self, fitted):
        from sepc.plot import PartitionDisplay

        curves = fitted.model_.scales.curves
        scale = "normal scores" if curves.ranked[0] else "signed logarithm"
        assert PartitionDisplay.from_estimator(fitted, features=(0, 2)).axis_names == (f"x0 ({scale})", "x2")

    def test_a_report_and_a_landscape_can_be_made(self, fitted, new):
        assert sepc.report(fitted, *new, max_records=20).to_dict()
        assert len(fitted.landscape_.regions)

    @pytest.mark.slow
    @WHERE
    @pytest.mark.usefixtures("small_chunks")
    def test_fits_elsewhere_are_the_same(self, fitted, where, tmp_path):
        X, y = incomes()
        agree(where(SEPClassifier(), X, y), fitted, X, tmp_path)

    def test_predictions_on_a_device_are_the_same(self, fitted, new, monkeypatch):
        import array_api_strict as xp
        import sklearn

        monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn insists on it
        with sklearn.config_context(array_api_dispatch=True):
            found = fitted.predict_proba(xp.asarray(new[0]))
        assert np.asarray(found) == pytest.approx(fitted.predict_proba(new[0]), abs=1e-9)
