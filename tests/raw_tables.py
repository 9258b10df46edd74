"""Raw tables with every kind of column, and the same as other libraries hold them."""

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st


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


def as_polars(table: pd.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({name: table[name].astype(object).where(table[name].notna(), None).tolist() for name in table})


texts = st.text(min_size=1).map(str.strip).filter(lambda t: t and t.lower() not in {"na", "n/a", "nan", "null", "?"})
