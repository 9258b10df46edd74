"""Raw tables: what becomes of their columns, and that the pipeline speaks of what came in."""

import datetime as dt
import decimal
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import InputError, SEPClassifier, SEPEnsembleClassifier, TableEncoder, TablePipeline, make_table_pipeline
from sepc.tables import CellError


@parametrize_with_checks(
    [TableEncoder(), make_table_pipeline()],
    expected_failed_checks=lambda estimator: (
        {
            "check_estimators_overwrite_params": "scikit-learn's Pipeline fits its steps in place",
            "check_dont_overwrite_parameters": "scikit-learn's Pipeline fits its steps in place",
        }
        if isinstance(estimator, TablePipeline)
        else {}
    ),
)
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)


def patients(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with every kind of column, and labels that depend on most of them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, n).astype(float)
    color = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    smoker = rng.random(n) < 0.4
    score = age / 20 + 2 * (color == "red") + 1.5 * smoker + rng.normal(0, 0.7, n)
    age[rng.random(n) < 0.1] = np.nan
    table = pd.DataFrame(
        {
            "age": age,
            "color": np.where(rng.random(n) < 0.1, None, color),
            "smoker": smoker,
            "weight": rng.normal(70, 10, n).round(1).astype(str),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "id": [f"record {i}" for i in range(n)],
            "country": "here",
        },
        index=[f"row {i}" for i in range(n)],
    )
    return table, np.where(score > np.median(score), "ill", "well")


def test_each_column_gets_the_kind_that_its_values_have():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    kinds = {column.name: column.kind for column in encoder.columns_}
    assert kinds == {
        "age": "number",
        "color": "category",
        "smoker": "bool",
        "weight": "number",
        "joined": "date",
        "sex": "category",
        "id": "left out",
        "country": "left out",
    }
    names = encoder.get_feature_names_out().tolist()
    assert names[:2] == ["age", "age is missing"]
    assert {"color = red", "color = (missing)", "smoker", "weight", "joined"} < set(names)
    assert sum(name.startswith("sex = ") for name in names) == 1


def test_features_are_what_pandas_makes_of_the_same_columns():
    table, _ = patients()
    features = TableEncoder().fit(table).transform(table)
    assert features.index.equals(table.index)
    assert set(features.dtypes) == {np.dtype("float64")}
    assert np.array_equal(features["age"], table["age"].fillna(table["age"].median()))
    assert np.array_equal(features["age is missing"], table["age"].isna())
    dummies = pd.get_dummies(table["color"].fillna("(missing)"), prefix="color", prefix_sep=" = ")
    assert np.array_equal(features[dummies.columns], dummies.astype(float))
    assert np.array_equal(features["joined"], (table["joined"] - table["joined"].min()).dt.days)
    assert np.array_equal(features["weight"], table["weight"].astype(float))


def as_polars(table: pd.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({name: table[name].astype(object).where(table[name].notna(), None).tolist() for name in table})


def test_pandas_polars_and_arrow_tables_give_the_same_features():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    expected = encoder.transform(table).to_numpy()
    other = as_polars(table).with_columns(pl.col("sex").cast(pl.Categorical), pl.col("color").cast(pl.Categorical))
    assert isinstance(encoder.transform(other), pl.DataFrame)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    for kind in (other, arrow, table.convert_dtypes(), table.astype(object)):
        assert np.array_equal(np.asarray(encoder.transform(kind)), expected)
        assert TableEncoder().fit(kind).to_dict() == encoder.to_dict()


def test_the_order_of_rows_and_columns_does_not_matter():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    assert TableEncoder().fit(table.sample(frac=1, random_state=1)).to_dict() == encoder.to_dict()
    mixed = table[table.columns[::-1]].assign(extra=1)
    assert encoder.transform(mixed).equals(encoder.transform(table))
    assert encoder.transform(table.drop(columns=["id", "country"])).equals(encoder.transform(table))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 1, None], [3.0, 1.0, 2.0]),
        (["3", " 1 ", "?"], [3.0, 1.0, 2.0]),
        (["3", "1", "N/A"], [3.0, 1.0, 2.0]),
        ([decimal.Decimal("3"), decimal.Decimal("1"), None], [3.0, 1.0, 2.0]),
        (pd.array([3, 1, None], dtype="Int64"), [3.0, 1.0, 2.0]),
        (pd.to_timedelta([3, 1, None], unit="D"), [3.0, 1.0, 2.0]),
        ([True, False, None], [1.0, 0.0, 0.0]),
        (["TRUE", "false", ""], [1.0, 0.0, 0.0]),
        (pd.array([True, False, None], dtype="boolean"), [1.0, 0.0, 0.0]),
        (["2020-01-03", "2020-01-01", None], [2.0, 0.0, 1.0]),
        ([dt.date(2020, 1, 3), dt.date(2020, 1, 1), None], [2.0, 0.0, 1.0]),
        (["2020-01-03T12:00+02:00", "2020-01-01 10:00", None], [2.0, 0.0, 1.0]),
    ],
)
def test_values_are_read_in_whatever_form_they_come(values, expected):
    assert TableEncoder().fit_transform(pd.DataFrame({"a": values}))["a"].tolist() == expected


def test_what_is_missing_too_rarely_gets_no_feature_of_its_own():
    few = pd.DataFrame({"age": [*range(999), None], "color": ["red", "blue"] * 499 + ["red", None]})
    assert TableEncoder().fit(few).get_feature_names_out().tolist() == [
        "age",
        "color = red",
        "color = blue",
        "color = (other)",
    ]
    many = pd.DataFrame({"age": [*range(980), *[None] * 20]})
    assert TableEncoder().fit(many).get_feature_names_out().tolist() == ["age", "age is missing"]


def test_a_number_that_is_always_the_same_leaves_only_whether_it_is_missing():
    table = pd.DataFrame({"dead since": [5.0, None, None, 5.0, None]})
    encoder = TableEncoder().fit(table)
    assert encoder.transform(table)["dead since is missing"].tolist() == [0.0, 1.0, 1.0, 0.0, 1.0]
    assert encoder.inverse_transform(encoder.transform(table)).astype(float).equals(table)


def test_rare_values_and_those_beyond_the_limit_share_a_feature():
    color = ["red"] * 500 + ["green"] * 300 + ["blue"] * 195 + ["teal"] * 5
    encoder = TableEncoder(max_levels=2).fit(pd.DataFrame({"color": color}))
    assert encoder.columns_[0].levels == ("red", "green", "(other)")
    assert encoder.columns_[0].pooled == ("blue", "teal")
    assert encoder.transform(pd.DataFrame({"color": ["teal", "pink", None]})).to_numpy().tolist() == [[0, 0, 1]] * 3


def test_unseen_values_work_and_are_reported_but_rare_ones_were_seen():
    color = ["red"] * 50 + ["green"] * 30 + ["blue"] * 20 + ["teal"]
    encoder = TableEncoder().fit(pd.DataFrame({"color": color, "size": range(101)}))
    new = pd.DataFrame({"color": ["pink", "pink", "teal", None], "size": [1, 2, None, 4]})
    assert encoder.unseen(new) == {"color": {"(missing)": 1, "pink": 2}}
    plain = TableEncoder().fit(pd.DataFrame({"color": color[:100]}))
    assert plain.transform(new).to_numpy().tolist() == [[0.0, 0.0, 0.0]] * 4


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [("age", "old", "number"), ("age", np.inf, "number"), ("smoker", "maybe", "true or"), ("joined", 3, "date")],
)
def test_a_cell_that_does_not_fit_is_named_with_its_row(column, value, rule):
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    table = table.astype({column: object})
    table.loc["row 6", column] = value
    with pytest.raises(CellError, match=rf"'{column}' holds .* in data row 7 .*expected .*{rule}") as caught:
        encoder.transform(table)
    assert caught.value.moved(1000).row == 1007
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_columns_that_lack_are_all_named():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    with pytest.raises(InputError, match=r"no column 'age', 'sex'; expected 'age', 'color', .* in any order"):
        encoder.transform(table.drop(columns=["age", "sex", "id"]))


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "several columns named 'a'"),
        (pd.DataFrame({"a": []}), "0 rows and 1 columns"),
        (pd.DataFrame({"a": [1, 1], "b": [None, None]}), r"a: 1 in all rows; b: no row has a value"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "'a' holds inf in data row 2"),
        (pd.DataFrame({"a": [1j, 2j]}), "Complex data"),
    ],
)
def test_a_table_of_no_use_is_refused(table, rule):
    with pytest.raises(InputError, match=rule):
        TableEncoder().fit(table)


@pytest.mark.parametrize("wrong", [{"min_share": 1.0}, {"min_share": "a"}, {"max_levels": 0}, {"max_levels": 2.5}])
def test_a_wrong_parameter_is_named(wrong):
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is"):
        TableEncoder(**wrong).fit([[1], [2]])


def test_notes_say_what_was_made_of_each_column():
    table, _ = patients()
    notes = TableEncoder().fit(table).notes
    assert notes[0] == "Numbers, taken as they are: weight."
    said = {note.partition(":")[0]: note for note in notes[1:]}
    n = table["age"].isna().sum()
    median = f"{table['age'].median():.4g}"
    assert said["age"] == f"age: numbers; {n} missing values became the median, {median}, and a feature says which."
    assert "text with 3 values, one feature for each" in said["color"]
    assert "days since the earliest one, 2020-01-0" in said["joined"]
    assert "120 different values in 120 rows" in said["id"]
    assert said["country"] == "country: left out: here in all rows."
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 61)))
    assert "61 features" in TableEncoder().fit(wide).notes[-1]


texts = st.text(min_size=1).map(str.strip).filter(lambda t: t and t.lower() not in {"na", "n/a", "nan", "null", "?"})
cells = st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6), texts)


@given(st.lists(st.tuples(cells, cells, st.sampled_from(["red", "blue", None])), min_size=4, max_size=30))
def test_the_state_survives_json_exactly(rows):
    table = pd.DataFrame(rows * 2, columns=["a", "b", "c"])
    try:
        encoder = TableEncoder().fit(table)
    except InputError as error:
        assert "tells its rows apart" in str(error) or "holds" in str(error)  # noqa: PT017
        return
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again.columns_ == encoder.columns_
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.transform(table).equals(encoder.transform(table))


@given(st.lists(st.one_of(st.none(), texts), min_size=2, max_size=12, unique=True).filter(lambda v: None in v))
def test_decoding_returns_the_categories_that_were_encoded(values):
    table = pd.DataFrame({"a": pd.Series(pd.Categorical(values * 2))})
    encoder = TableEncoder().fit(table)
    raw = encoder.inverse_transform(encoder.transform(table))["a"].astype(object)
    assert raw.where(raw.notna(), None).tolist() == values * 2


@pytest.mark.parametrize("damage", [{}, {"columns": 3}, {"columns": [{}]}, {"columns": []}, {"min_share": 7}])
def test_a_damaged_state_is_refused(damage):
    state = TableEncoder().fit(patients()[0]).to_dict()
    with pytest.raises(InputError):
        TableEncoder.from_dict({**state, **damage} if damage else {})
    for name, value in {"fill": "a", "kind": "odd", "levels": ["a", 3], "whole": 1}.items():
        columns = [{**state["columns"][0], name: value}, *state["columns"][1:]]
        with pytest.raises(InputError):
            TableEncoder.from_dict({**state, "columns": columns})


def test_decoding_every_kind_of_column_returns_the_table():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    raw = encoder.inverse_transform(encoder.transform(table))
    assert raw.index.equals(table.index)
    expected = table.drop(columns=["id", "country"]).astype({"weight": float})
    expected["joined"] = table["joined"].dt.strftime("%Y-%m-%d")
    pd.testing.assert_frame_equal(raw, expected, check_dtype=False, check_categorical=False)


def test_the_pipeline_clones_searches_and_cross_validates():
    table, y = patients()
    search = GridSearchCV(make_table_pipeline(), {"classifier__n_imp": [0, 5]}, cv=3).fit(table, y)
    assert isinstance(search.best_estimator_, TablePipeline)
    proba = cross_val_predict(clone(search.best_estimator_), table, y, cv=3, method="predict_proba")
    assert (proba.argmax(axis=1) == (y == "well")).mean() > 0.6


@pytest.mark.parametrize("classifier", [None, SEPEnsembleClassifier(n_estimators=3)])
def test_the_pipeline_says_of_raw_tables_what_its_classifier_says_of_features(classifier):
    table, y = patients()
    clf = make_table_pipeline(classifier).fit(table[::2], y[::2])
    features, inner = clf["columns"].transform(table), clf["classifier"]
    assert clf.feature_names_in_.tolist() == table.columns.tolist()
    assert clf.classes_.tolist() == ["ill", "well"]
    assert np.array_equal(clf.predict(table), inner.predict(features))
    assert np.array_equal(clf.trust_score(table), inner.trust_score(features))
    assert np.array_equal(clf.predict_or_abstain(table, 0.8), inner.predict_or_abstain(features, 0.8))
    assert clf.assess(table).to_frame().equals(inner.assess(features).to_frame())
    assert clf.assess(table).to_frame().index.equals(table.index)
    assert clf.regions().equals(inner.regions())
    sets = clf.calibrate(table[1::2], y[1::2]).predict_set(table, coverage=0.8)
    assert np.array_equal(sets.sets, inner.predict_set(features, coverage=0.8).sets)


def test_polars_in_polars_out():
    table, y = patients()
    frame = as_polars(table)
    clf = make_table_pipeline().fit(frame, pl.Series(y))
    assert isinstance(clf.assess(frame).to_frame(), pl.DataFrame)
    assert isinstance(clf.regions(), pl.DataFrame)
    assert np.array_equal(clf.predict(frame), make_table_pipeline().fit(table, y).predict(table))


@pytest.mark.parametrize(
    "labels", [["a", None] * 60, [1.0, np.nan] * 60, pd.Series(["a", pd.NA] * 60), pl.Series(["a", None] * 60)]
)
def test_missing_labels_are_counted(labels):
    with pytest.raises(InputError, match=r"y has 60 missing label\(s\) of 120, the first in data row 2"):
        make_table_pipeline().fit(patients()[0], labels)


@pytest.mark.parametrize(
    "kind",
    [pd.Categorical, pd.Series, pl.Series, pa.array, lambda y: (y == "ill").tolist()],
    ids=["category", "pandas", "polars", "arrow", "bool"],
)
def test_labels_of_any_kind_are_learnt(kind):
    table, y = patients()
    clf = make_table_pipeline().fit(table, kind(y))
    assert len(clf.classes_) == 2
    assert (clf.predict(table) == np.asarray(kind(y))).mean() > 0.8


def test_a_failed_fit_leaves_the_pipeline_as_it_was():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    before = clf.predict_proba(table)
    with pytest.raises(InputError, match="1 class"):
        clf.fit(table[["age"]], ["a"] * len(table))
    assert np.array_equal(clf.predict_proba(table), before)


def test_other_steps_are_refused():
    with pytest.raises(InputError, match="expected a TableEncoder and a classifier"):
        TablePipeline([("classifier", SEPClassifier())]).fit([[1], [2]], [0, 1])


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
        assert " = " not in why.text
        assert " is missing" not in why.text
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
    assert "color from red to " in why.text
    assert "smaller changes" not in why.text


def test_missing_and_unseen_values_are_called_what_they_are():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    why = clf.explain({**table.iloc[0].to_dict(), "age": None, "color": "pink"})
    values = {f.feature: f.value for f in why.features}
    assert (values["age"], values["color"]) == (None, "pink")
    words = {f.feature: f.in_words("centre") for f in why.features}
    assert words["age"].startswith("age (missing; ")
    assert words["color"].startswith("color (pink; mostly ")


def test_every_form_of_a_record_gets_the_same_explanation():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    row = table.iloc[3]
    told = clf.explain(row).to_dict()
    frame = as_polars(table[3:4])
    for form in (row.to_dict(), table[3:4], frame, frame.row(0, named=True), row.astype(str).to_dict()):
        assert clf.explain(form).to_dict() == told
    with pytest.raises(InputError, match="2 rows; expected one record"):
        clf.explain(table[:2])


@pytest.mark.parametrize("name", ["adult_train_clean", "german_credit"])
def test_real_tables_are_learnt_and_explained(name):
    folder = os.environ.get("SEPC_DATA")
    if not folder:
        pytest.skip("SEPC_DATA names no folder with the data")
    table = pd.read_csv(Path(folder) / f"{name}.csv", nrows=600)
    y = table.pop("label").astype(str)
    clf = make_table_pipeline().fit(table[::2], y[::2])
    assert (clf.predict(table[1::2]) == y[1::2]).mean() > 0.65
    for i in range(1, 20, 4):
        why = clf.explain(table.iloc[i])
        assert {f.feature for f in why.features} <= set(table)
        judged = clf.assess(pd.DataFrame([why.counterfactual.point]))
        assert judged.label[0] == why.counterfactual.label != why.label
        assert judged.trust[0] == why.counterfactual.trust
