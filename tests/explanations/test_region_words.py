"""Descriptions of regions name the columns that set them apart."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier, make_table_pipeline
from sepc.explanations.region_words import region_words


def clusters():
    """Return ill records in two groups, one of them heavy, and well ones that are young."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(180, 3)), columns=["age", "weight", "height"])
    X.loc[:59, "age"] += 8.0
    X.loc[60:119, "weight"] += 9.0
    return X, np.where(np.arange(180) < 120, "ill", "well")


@pytest.mark.parametrize("trust", ["local", "paper"])
def test_what_is_called_high_is_above_the_records_of_other_labels(trust):
    X, y = clusters()
    n_told = 0
    for row in SEPClassifier(trust=trust, n_imp=0).fit(X, y).regions().to_dict("records"):
        assert "height" not in row["description"] or trust == "paper"
        everywhere = row["description"].partition(", and ")[0]
        for name in X if " among " not in everywhere else ():
            above = 0.5 * (row[f"{name} low"] + row[f"{name} high"]) - X.loc[y != row["label"], name].mean()
            assert above > 0.0 or f"high {name}" not in everywhere
            assert above < 0.0 or f"low {name}" not in everywhere
            n_told += name in everywhere
    assert n_told >= 3


def test_they_are_the_same_without_training_records_and_kept_with_the_model():
    X, y = clusters()
    model = SEPClassifier().fit(X, y).model_
    found = region_words(model)
    assert region_words(model) is found
    without = region_words(replace(model, records=None))
    assert without == found
    assert set(model.region_names()) <= set(found)


def test_categories_are_named_by_their_value():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 80)
    color = np.where(y == "a", rng.choice(["red", "blue"], 160, p=[0.9, 0.1]), rng.choice(["green", "blue"], 160))
    table = pd.DataFrame({"color": color, "size": rng.normal(size=160)})
    clf = make_table_pipeline().fit(table, y)
    descriptions = clf.regions().set_index("label")["description"]
    assert descriptions[["a"]].str.contains("color mostly red").all()
    assert "color mostly red" in clf.explain(table.iloc[0]).details
