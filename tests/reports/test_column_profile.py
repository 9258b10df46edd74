"""Profile of each column of the test records."""

import numpy as np
import pandas as pd

from sepc import make_table_pipeline, report


def test_the_profile_tells_what_the_columns_hold():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 50)
    X = pd.DataFrame(
        {
            "age": np.where(y == "ill", 60.0, 40.0) + rng.integers(-9, 9, 100),
            "smoker": np.where(rng.random(100) < 0.3, "yes", "no"),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 100), "D"),
        }
    )
    X.loc[[1, 3, 5], "age"] = None
    X.loc[99, "age"] = 120.0
    test, y_test = X[1::2], y[1::2]
    rows = report(make_table_pipeline().fit(X[::2], y[::2]), test, y_test, max_records=0).to_dict()["profile"]["rows"]
    age, smoker, seen = rows
    medians = [f"{test['age'][y_test == label].median():g} of {label}" for label in ("ill", "well")]
    assert age == ["age", 3, test["age"].nunique(), f"{test['age'].min():g} to 120", 1, f"median {', '.join(medians)}"]
    assert smoker[:3] == ["smoker", 0, 2]
    assert smoker[3].startswith("no (")
    shares = [f"{100 * np.mean(test['smoker'][y_test == label] == 'no'):g} % of {label}" for label in ("ill", "well")]
    assert smoker[4:] == [None, f"no: {', '.join(shares)}"]
    assert seen[3] == f"{test['seen'].min().date()} to {test['seen'].max().date()}"
