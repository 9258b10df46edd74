"""Explanations in the columns and values of the raw table."""

import json

import numpy as np
import pandas as pd
import pytest
from coded import raises
from raw_tables import patients
from sklearn.base import clone
from texts import assert_readable

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.datasets import make_credit
from sepc.explanations.change_search import change_metric


@pytest.fixture(
    scope="module",
    params=[SEPClassifier(), SEPClassifier(trust="paper"), SEPEnsembleClassifier(n_estimators=3)],
    ids=["local", "paper", "ensemble"],
)
def explained(request):
    """A fitted pipeline, its training table, new records, and what it says of them."""
    table, y = patients()
    clf = make_table_pipeline(clone(request.param)).fit(table[::2], y[::2])
    new = table[1::2].head(12)
    return clf, table[::2], new, [clf.explain(new.iloc[i]) for i in range(len(new))]


def used(table: pd.DataFrame) -> dict[str, object]:
    """Return the record of a table of one row as an explanation shows it."""
    row = table.drop(columns=["id", "country"]).astype({"weight": float}).iloc[0]
    shown = row.astype(object).where(row.notna(), None).to_dict()
    return {**shown, "joined": f"{row['joined']:%Y-%m-%d}"}


def test_explanations_name_raw_columns_only(explained):
    _, _, new, told = explained
    columns = set(used(new[:1]))
    for why in told:
        assert " = " not in why.text + why.details
        assert " is missing" not in why.details
        spoken_of = {f.feature for f in getattr(why, "features", ())} | {
            name for voice in getattr(why, "voices", ()) for name in voice.features
        }
        assert spoken_of <= columns
        assert not hasattr(why, "features") or spoken_of == columns
        assert json.loads(json.dumps(why.to_dict()))["text"] == why.text


def test_values_and_neighbours_are_those_of_the_raw_tables(explained):
    _, training, new, told = explained
    for i, why in enumerate(told):
        record = used(new[i : i + 1])
        assert all(f.value == record[f.feature] for f in getattr(why, "features", ()))
        for neighbour in why.neighbours:
            assert neighbour.values == pytest.approx(used(training[neighbour.row : neighbour.row + 1]))


@pytest.mark.slow
def test_shares_of_the_features_of_a_column_are_added(explained):
    clf, _, new, told = explained
    if not hasattr(told[0], "features"):
        pytest.skip("an ensemble tells no shares")
    for i, why in enumerate(told):
        by_feature = clf["classifier"].explain(clf["columns"].transform(new[i : i + 1])).features
        for f in why.features:
            own = [
                g.share for g in by_feature if g.feature.partition(" = ")[0].removesuffix(" is missing") == f.feature
            ]
            assert f.share == pytest.approx(sum(own))


def test_a_counterfactual_is_true_of_the_raw_record_that_it_tells(explained):
    clf, _, new, told = explained
    assert any(why.counterfactual is not None for why in told)
    for i, why in enumerate(told):
        found, record = why.counterfactual, used(new[i : i + 1])
        if found is None:
            continue
        judged = clf.assess(pd.DataFrame([found.point]))
        assert judged.label[0] == found.label != why.label
        assert (judged.trust[0], judged.region[0]) == (found.trust, found.region)
        changed = {c.feature: c for c in found.changes}
        assert {name for name, value in found.point.items() if value != record[name]} == set(changed)
        for name, c in changed.items():
            assert (c.before, c.after) == (record[name], found.point[name])
            assert c.after is not None  # nobody is told to lose a value
            if name == "age":
                assert c.after == round(c.after)  # as all ages are
        assert not clf["columns"].unseen(pd.DataFrame([found.point, found.point]))


def test_only_what_decides_has_to_change():
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue"], 90)
    table = pd.DataFrame({"color": color, "noise": rng.normal(size=90), "more": rng.choice(["a", "b"], 90)})
    clf = make_table_pipeline().fit(table, np.where(color == "red", "stop", "go"))
    why = clf.explain({"color": "red", "noise": 0.1, "more": "a"})
    assert why.label == "stop"
    assert [c.feature for c in why.counterfactual.changes] == ["color"]
    assert_readable(why.text)


@pytest.mark.slow
def test_missing_and_unseen_values_are_called_what_they_are():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    why = clf.explain({**table.iloc[0].to_dict(), "color": "pink"})
    assert {f.feature: f.value for f in why.features}["color"] == "pink"
    assert {f.feature: f.in_words("centre") for f in why.features}["color"].startswith("color (pink; ")
    why = clf.explain({**table.iloc[0].to_dict(), "age": None, "color": "pink"})
    assert why.missing.features == ("age",)
    assert (why.features, why.regions) == ((), ())
    assert why.missing.n_features == len(clf["columns"].vocabulary(table[:1]).words)
    assert " (age)" in next(why.missing.sentences())
    assert why.counterfactual.point["age"] is None


@pytest.fixture(scope="module")
def credit():
    """A pipeline of applicants, and one of them."""
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame(
        {
            "age": rng.integers(19, 76, n),
            "amount": rng.integers(2, 150, n) * 100,
            "rate": np.round(rng.uniform(0.5, 4.0, n), 2),
            "housing": rng.choice(["own", "rent", "free"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    score = table["amount"] / 4000 + table["rate"] + (table["housing"] == "rent") - table["age"] / 30
    clf = make_table_pipeline().fit(table, np.where(score + rng.normal(0.0, 0.3, n) > 3.0, "refuse", "grant"))
    return clf, table


@pytest.mark.slow
def test_a_change_holds_values_that_its_columns_can_have(credit):
    clf, table = credit
    for i in range(8):
        found = clf.explain(table.iloc[i]).counterfactual
        point = found.point
        assert clf.predict(pd.DataFrame([point]))[0] == found.label
        assert point["age"] == round(point["age"])
        assert point["amount"] == round(point["amount"])
        assert point["rate"] == round(point["rate"], 2)
        assert point["housing"] in {"own", "rent", "free"}


@pytest.mark.slow
def test_a_change_of_a_number_has_its_sign_though_values_may_be_missing():
    loans, outcome = make_credit(300)
    clf = make_table_pipeline().fit(loans, outcome)
    changes = [change for i in range(6) for change in clf.explain(loans.iloc[i]).counterfactual.changes]
    numbers = [change for change in changes if change.change]
    assert {change.feature for change in numbers} & {"savings", "years_in_job"}
    assert all(np.sign(change.in_units) == np.sign(change.change) for change in numbers)


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [["age", "housing"], [0, 3]])
def test_columns_of_the_table_can_be_held(credit, fixed):
    clf, table = credit
    ranges = {"amount": (1500, "9000"), "since": ("2020-03-01", "2021-06-30"), "rate": (0.995, 3.005)}
    for i in range(6):
        record = table.iloc[i]
        point = clf.explain(record, fixed=fixed, ranges=ranges).counterfactual.point
        assert (point["age"], point["housing"]) == (record["age"], record["housing"])
        assert point["amount"] == record["amount"] or 1500 <= point["amount"] <= 9000
        assert point["rate"] == record["rate"] or 1.0 <= point["rate"] <= 3.0
        since = f"{record['since']:%Y-%m-%d}"
        assert point["since"] == since or "2020-03-01" <= point["since"] <= "2021-06-30"


def test_a_range_is_of_numbers_or_dates(credit):
    clf, table = credit
    with raises("range-of-category", name="housing"):
        clf.explain(table.iloc[0], ranges={"housing": ("free", "own")})
    with raises("range-end-kind", name="amount"):
        clf.explain(table.iloc[0], ranges={"amount": ("much", None)})


@pytest.mark.slow
def test_no_change_of_a_table_on_lines_to_its_records_is_shorter(credit):
    clf, table = credit
    encoder, model = clf["columns"], clf["classifier"].model_
    features = encoder.transform(table).to_numpy()
    for i in range(4):
        found = clf.explain(table.iloc[i]).counterfactual
        x, label = features[i], clf.predict(table.iloc[[i]])[0]
        for t in np.linspace(0.0, 1.0, 8)[1:]:
            raw = encoder.inverse_transform(x + t * (features - x)).round({"age": 0, "amount": 0, "rate": 2})
            judged = clf.assess(raw)
            moved = model.units(encoder.transform(raw).to_numpy()) - model.units(x)
            lengths = np.sqrt(np.einsum("ij,jk,ik->i", moved, change_metric(model), moved))
            does = (judged.label != label) & (judged.typicality >= 0.1)
            assert found.distance <= 1.001 * lengths[does].min(initial=np.inf)


def test_what_is_usual_in_a_region_is_counted_among_its_records(credit):
    clf, table = credit
    for i in range(5):
        why = clf.explain(table.iloc[i])
        (housing,) = (f for f in why.features if f.feature == "housing")
        assert 1 / 3 <= housing.usual <= 1.0
        assert f"{100 * housing.usual:.0f} %" in housing.in_words("centre")
        for f in why.features:
            if f.feature in ("age", "amount", "rate"):
                assert table[f.feature].min() <= f.reference <= table[f.feature].max()
