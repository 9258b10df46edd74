"""Explanations of many records at once: the same as of single ones, at a fraction of the work."""

import numpy as np
import pandas as pd
import pytest
from coded import raises

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.explanations.change_search import ChangeSearch
from sepc.model.densities import LocalDensities


def loans(n, seed):
    """Return loans with numbers, categories and gaps, and whether they were paid back."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n).astype(float),
            "income": np.round(rng.lognormal(3.0, 0.5, n), 2),
            "months": rng.integers(6, 48, n).astype(float),
            "purpose": rng.choice(["car", "house", "school"], n),
            "owner": rng.choice(["yes", "no"], n),
        }
    )
    debt = table.months / 12.0 - 0.08 * table.income + (table.purpose == "car") + rng.normal(0.0, 0.4, n)
    table["income"] = table.income.mask(rng.random(n) < 0.1)
    table["purpose"] = table.purpose.mask(rng.random(n) < 0.05)
    return table, np.where(debt > 1.0, "lost", "paid")


def new_loans(n):
    new = loans(n, seed=1)[0]
    new.loc[3, "income"] = 1e6  # strange
    new.loc[4, "purpose"] = "yacht"  # never seen
    new.loc[5] = [np.nan, np.nan, np.nan, None, None]
    return new


@pytest.fixture(
    scope="module",
    params=[SEPClassifier(), SEPClassifier(trust="counts"), SEPEnsembleClassifier(n_estimators=3)],
    ids=["local", "counts", "ensemble"],
)
def fitted(request):
    table, y = loans(160, seed=0)
    return make_table_pipeline(request.param).fit(table, y)


def test_each_is_the_explanation_of_the_single_record(fitted):
    new = new_loans(8)
    for row, why in enumerate(fitted.explain_many(new, changes=True)):
        alone = fitted.explain(new.iloc[[row]])
        assert (why.text, why.details) == (alone.text, alone.details)
        assert why.to_dict().keys() == alone.to_dict().keys()
        assert why.table()["contribution"].tolist() == pytest.approx(
            alone.table()["contribution"].tolist(), abs=1e-9, nan_ok=True
        )


def test_without_changes_only_these_are_not_told(fitted):
    new = new_loans(8)
    for row, why in enumerate(fitted.explain_many(new)):
        alone = fitted.explain(new.iloc[[row]])
        assert (why.counterfactual, why.actionable_change, why.no_change_because) == (None, None, "not-asked")
        assert (why.text, why.nearest_other) == (alone.text, alone.nearest_other)
        assert alone.details == " ".join(filter(None, [why.details, alone.change_in_words()])) or why.missing.is_all


@pytest.mark.parametrize("classifier", [SEPClassifier(), SEPEnsembleClassifier(n_estimators=2)], ids=str)
def test_of_more_records_the_densities_are_not_evaluated_more_often(classifier, monkeypatch):
    table, y = loans(120, seed=0)
    X = table[["age", "months"]].to_numpy()
    clf = classifier.fit(X, y)
    calls = []
    evaluate = LocalDensities.log_joint
    monkeypatch.setattr(LocalDensities, "log_joint", lambda *args: calls.append(len(args[1])) or evaluate(*args))
    monkeypatch.setattr(ChangeSearch, "judge", None)  # no change is looked for
    numbers = []
    for n in (5, 50):
        calls.clear()
        assert len(clf.explain_many(X[:n])) == n
        numbers.append(len(calls))
    # Strange records, of which there are some among many, are looked at once more.
    assert 0 < numbers[0] <= numbers[1] <= 2 * numbers[0]


def test_limits_of_changes_ask_for_changes(fitted):
    with raises("limits-without-changes", limits="fixed"):
        fitted.explain_many(new_loans(8), fixed="age")


class TestRecordsWithTheSameValues:
    """Two binary columns: four combinations, of which 90 of 100 records have one."""

    X = np.array([[0.0, 0.0]] * 90 + [[1.0, 0.0]] * 6 + [[1.0, 1.0]] * 3 + [[0.0, 1.0]])
    y = np.array(["died"] * 80 + ["survived"] * 10 + ["survived"] * 9 + ["died"])

    @pytest.mark.parametrize("classifier", [SEPClassifier(), SEPEnsembleClassifier(n_estimators=2)], ids=str)
    def test_count_as_one_with_the_share_of_their_label(self, classifier):
        order = np.random.default_rng(0).permutation(100)
        X, y = self.X[order], self.y[order]
        why = classifier.fit(X, y).explain([0.0, 0.0])
        assert [near.n_equal for near in why.neighbours][:1] == [90]
        assert sorted(near.n_equal for near in why.neighbours) == [1, 3, 6, 90]
        for near in why.neighbours:
            same = ([*near.values.values()] == X).all(axis=1)
            assert near.n_equal == same.sum()
            assert near.share == np.mean(y[same] == near.label) >= 0.5
            assert near.row == np.flatnonzero(same & (y == near.label))[0]
        row = why.neighbours[0].row
        assert f"The nearest training records are 90 equal to it (88.9 % of them died, as row {row}), " in why.details

    def test_of_another_label_the_first_row_is_the_nearest(self):
        why = SEPClassifier().fit(self.X, self.y).explain([0.0, 0.0])
        assert (why.nearest_other.row, why.nearest_other.label) == (80, "survived")
