"""Regions in a report: those of an ensemble in the columns of its table, and which ones are read as one."""

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.cli.model_summary import regions_text
from sepc.reports.projections import _Scene
from sepc.reports.region_table import regions_table
from sepc.reports.subject import Subject


def test_members_are_named_by_columns_and_not_by_values():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    table = pd.DataFrame({"colour": rng.choice(["red", "blue", "green"], 120), "size": rng.normal(size=120) + y})
    clf = make_table_pipeline(SEPEnsembleClassifier(n_estimators=2)).fit(table, y)
    subject = Subject.of(clf, table, y)
    told = regions_table(subject)
    member = [column["key"] for column in told["columns"]].index("member")
    assert {row[member] for row in told["rows"]} == {"member 1 (colour, size)", "member 2 (colour, size)"}
    assert "member 1 (colour, size)" in _Scene.of(subject).note


@pytest.mark.parametrize(("trust", "is_told"), [("local", True), ("raw", False)])
def test_what_is_read_as_one_is_told_where_it_is(trust, is_told):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 300)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal([1.5, 1.0], [1.2, 0.9], size=(300, 2))])
    clf = SEPClassifier(n_imp=0.05, trust=trust).fit(X, y)
    told = regions_table(Subject.of(clf, X, y))
    keys = [column["key"] for column in told["columns"]]
    assert ("read_as" in keys) == ("read_as" in regions_text(clf)) == is_told
    if is_told:
        assert {row[keys.index("read_as")] for row in told["rows"]} == {"a#1+", "b#1+"}
