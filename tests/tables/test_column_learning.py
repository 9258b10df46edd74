"""Sentences on what became of the columns."""

import numpy as np
import pandas as pd
from raw_tables import patients

from sepc.tables import TableEncoder


def test_notes_say_what_was_made_of_each_column():
    table, _ = patients()
    notes = TableEncoder().fit(table).notes
    assert notes[0] == "Numbers, taken as they are: weight."
    said = {note.partition(":")[0]: note for note in notes[1:]}
    n = table["age"].isna().sum()
    median = f"{table['age'].median():.4g}"
    assert said["age"] == f"age: numbers; {n} missing values became the median, {median}, and a feature says which."
    assert "category with 3 values, one feature for each" in said["color"]
    assert "days since the earliest one, 2020-01-0" in said["joined"]
    assert "120 different values in 120 rows" in said["id"]
    assert said["country"] == "country: left out: here in all rows."
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 301)))
    assert "301 features" in TableEncoder().fit(wide).notes[-1]
