"""Table pipelines as graphs: texts in, with the encoder's rules inside."""

import string

import numpy as np
import pandas as pd
import pytest
from graph_checks import (
    NO_MORE_THAN,
    answers,
    assert_same_answers,
    cells_of,
    differences,
    exported,
    hard_records,
    hard_rows,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from real_sets import every_set, some_of

from sepc import InputError, SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.serving import to_onnx
from sepc.serving.graphs.export import OUTPUTS
from sepc.tables.cells import MISSING_TEXTS


def clinic(n=400, seed=0):
    """Return a table with all kinds of columns, with missing values, and labels."""
    rng = np.random.default_rng(seed)
    age, ward = (
        rng.normal(50.0, 15.0, n).round(),
        rng.choice(["a b", "B", "c.*", "\u00e9t\u00e9", "rare 1", "rare 2"], n, p=[0.4, 0.3, 0.15, 0.12, 0.02, 0.01]),
    )
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.15, np.nan, age),
            "ward": np.where(rng.random(n) < 0.1, None, ward),
            "smokes": rng.random(n) < 0.4,
            "sex": np.where(rng.random(n) < 0.01, None, rng.choice(["m", "f"], n)),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "kind": rng.choice([1, 2, 3], n),
            "note": [f"note {row}" for row in range(n)],
        }
    )
    risk = (age - 50.0) / 15.0 + (ward == "B") + table["smokes"].to_numpy(dtype=float) + rng.normal(size=n)
    return table, np.where(risk > 0.8, "ill", "well")


@pytest.mark.parametrize(
    "classifier", [SEPClassifier(), SEPClassifier(trust="raw"), SEPEnsembleClassifier(n_estimators=4)], ids=str
)
def test_a_table_with_columns_of_all_kinds(classifier, tmp_path):
    table, labels = clinic()
    clf = make_table_pipeline(classifier, categorical_features=["kind"]).fit(table, labels)
    model = clf.core.model_
    members = getattr(model, "members", [])
    densities = [part.densities for one in members for part in one.parts] or [model.densities]
    assert any(one.shares is not None for one in densities)  # categories are modelled apart
    new = clinic(200, seed=1)[0]
    new.loc[:20, "ward"] = [
        "",
        "  ",
        " B",
        "B\t",
        "\u00a0a b ",
        "a  b",
        "b",
        "nA",
        " NaN ",
        "?",
        "(missing)",
        "(MISSING)",
        "(other)",
        "c.*",
        "cxx",
        "rare 1",
        " rare 2 ",
        "quite new",
        "n/a",
        "#N/A",
        "N\u017fULL",
    ]
    new.loc[30:33, "age"] = [1e9, -4.0, np.nan, 50.5]
    new.loc[40, ["age", "ward", "sex"]] = np.nan
    found = assert_same_answers(clf, new, tmp_path)
    assert len(set(found["refusal"].tolist())) >= 3


def test_gaps_that_do_not_stay(tmp_path):
    table, labels = clinic()
    clf = make_table_pipeline().fit(table, labels)
    clf.steps[0][1].set_params(keep_gaps=False)
    clf.fit(table, labels)
    assert not any(column.keeps_gaps for column in clf["columns"].columns_)
    assert_same_answers(clf, table, tmp_path)


def test_a_row_without_any_value(tmp_path):
    table, labels = clinic()
    clf = make_table_pipeline().fit(table, labels)
    nothing = pd.DataFrame({name: [None] for name in table.columns})
    assert assert_same_answers(clf, nothing, tmp_path)["refusal"].tolist() == ["no values"]


@pytest.mark.parametrize("names", [("c0", "t1"), ("c30", "sepc/c1"), ("sepc/", "sepc//t3"), ("a b", '\u00e9,"x"')])
def test_columns_may_have_the_names_that_a_graph_would_take(names, tmp_path):
    table, labels = clinic()
    table = table[["age", "ward"]].set_axis(list(names), axis=1)
    assert_same_answers(make_table_pipeline().fit(table, labels), table, tmp_path)


@pytest.mark.parametrize("name", ["label", "region", ""])
def test_a_column_with_the_name_of_an_output_is_refused(name, tmp_path):
    table, labels = clinic()
    table = table[["age", "ward"]].set_axis([name, "ward"], axis=1)
    clf = make_table_pipeline().fit(table, labels)
    with pytest.raises(InputError, match="Rename the column") as error:
        to_onnx(clf, tmp_path / "model.onnx")
    assert error.value.fields["name"] == name
    if name:
        others = [one for one in OUTPUTS if one != name]
        found = answers(exported(clf, tmp_path, outputs=others), cells_of(clf, table))
        assert np.abs(found["probabilities"] - clf.predict_proba(table)).max() < NO_MORE_THAN


def test_many_long_rare_texts(tmp_path):
    rng = np.random.default_rng(0)
    rare = [f"{k} " + "\u00e9" * 400 for k in range(250)]
    texts = np.array([*rare, *rare, *["often"] * 400, *["also"] * 300], dtype=object)
    labels = np.where(rng.random(len(texts)) < np.where(texts == "often", 0.8, 0.3), "yes", "no")
    table = pd.DataFrame({"text": texts, "size": rng.normal(size=len(texts))})
    clf = make_table_pipeline().fit(table, labels)
    assert len(clf["columns"].columns_[0].pooled) == 250
    new = pd.DataFrame({"text": [f" {rare[7]}\t", rare[8], "new"], "size": 0.0})
    assert_same_answers(clf, pd.concat([table[::9], new], ignore_index=True), tmp_path)


def test_a_text_that_is_too_long_is_refused(tmp_path):
    table = pd.DataFrame({"text": ["x" * 20_000, "y"] * 30})
    clf = make_table_pipeline().fit(table, ["a", "b"] * 30)
    with pytest.raises(InputError) as error:
        to_onnx(clf, tmp_path / "model.onnx")
    assert error.value.code == "graph-text-too-long"


LEVELS = ["red", "deep blue", "a+b", "(x)", "\u00c5", "Z\\d"]


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    rng = np.random.default_rng(0)
    colour = rng.choice(LEVELS, 240)
    labels = np.where(rng.random(240) < np.array([LEVELS.index(one) for one in colour]) / 5.0, "yes", "no")
    clf = make_table_pipeline().fit(pd.DataFrame({"colour": colour}), labels)
    return clf, exported(clf, tmp_path_factory.mktemp("colours"))


blanks = st.text(alphabet=" \t\n\u00a0\u2003", max_size=2)
texts = st.one_of(
    st.sampled_from([*LEVELS, *sorted(MISSING_TEXTS)]),
    st.sampled_from([*LEVELS, *sorted(MISSING_TEXTS)]).map(str.swapcase),
    st.text(alphabet=string.printable + "\u00e5\u017f\u212a\u0130", max_size=5),
)


@settings(max_examples=60)
@given(cells=st.lists(st.builds(lambda a, text, b: a + text + b, blanks, texts, blanks), min_size=1, max_size=8))
def test_any_text_is_what_the_encoder_takes_it_for(colours, cells):
    clf, graph = colours
    apart = differences(
        clf, pd.DataFrame({"colour": cells}), answers(graph, {"colour": np.array(cells, dtype=object)[:, None]})
    )
    assert apart["label"] == apart["refusal"] == apart["region"] == 0
    assert apart["probabilities"] <= NO_MORE_THAN


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
@every_set
def test_every_set_of_the_folder(path, tmp_path):
    """A pipeline of the table, and where all is numbers the classifier alone; `bench/serving.py` takes all records."""
    table, labels = some_of(path)
    clf = make_table_pipeline().fit(table, labels)
    assert_same_answers(clf, pd.concat([table, hard_rows(table)], ignore_index=True), tmp_path)
    if not all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        return
    X = table.to_numpy(dtype=float)
    assert_same_answers(SEPClassifier().fit(X, labels), np.concatenate([X, hard_records(X)]), tmp_path)
