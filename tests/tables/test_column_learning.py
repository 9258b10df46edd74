"""Sentences on what became of the columns."""

import numpy as np
import pandas as pd
from raw_tables import patients

from sepc.tables import TableEncoder


def test_notes_say_what_was_made_of_each_column():
    table, _ = patients()
    notes = TableEncoder().fit(table).notes
    assert notes[0].endswith(": weight.")
    said = {note.partition(":")[0]: note for note in notes[1:]}
    n = table["age"].isna().sum()
    median = f"{table['age'].median():.4g}"
    assert f" {n} " in said["age"]
    assert f", {median}, " in said["age"]
    for name, value in (("color", " 3 "), ("joined", " 2020-01-0"), ("id", " 120 "), ("country", " here ")):
        assert value in said[name]
    kinds = {column.name: column.kind for column in TableEncoder().fit(table).columns_}
    assert (kinds["color"], kinds["joined"]) == ("category", "date")
    assert kinds["id"] == kinds["country"] == "left out"
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 301)))
    assert " 301 " in TableEncoder().fit(wide).notes[-1]


def test_one_missing_value_counts_and_several_count():
    table = pd.DataFrame({"colour": ["red", "blue"] * 20, "shape": ["flat", "round"] * 20})
    for n, verb in ((1, "1 missing value counts as"), (2, "2 missing values count as")):
        table.loc[: n - 1, "colour"] = None
        (note, _) = TableEncoder().fit(table).notes
        assert verb in note
