"""Regions of an ensemble of a raw table are told in its columns."""

import numpy as np
import pandas as pd

from sepc import SEPEnsembleClassifier, make_table_pipeline
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
