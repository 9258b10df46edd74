"""Recipes of the page on serving: their very code, on a table with every kind of column, gives what `assess` gives."""

import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from pages import blocks_of
from raw_tables import patients

from sepc import make_table_pipeline, save
from sepc.serving import to_onnx

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "serve.md"
ROWS, ROWS_OF_A_GROUP = 700, 100

pytestmark = pytest.mark.pages


def recipe(mark):
    """Return the code of the one block that holds a text."""
    (block,) = [one for one in blocks_of(PAGE) if one.language in ("python", "text") and mark in one.code]
    return block.code


@pytest.fixture(scope="module")
def model():
    table, ill = patients(300)
    return make_table_pipeline().fit(table, ill)


@pytest.fixture
def page(model, tmp_path, monkeypatch):
    """What the page has made before its recipes: a model, its ONNX file, and a Parquet file of many parts."""
    monkeypatch.chdir(tmp_path)
    table = patients(ROWS, seed=1)[0].reset_index(drop=True)
    table.loc[3, "color"] = "violet"  # never seen
    table.loc[5, "age"] = 1e9
    table.to_parquet("new.parquet", row_group_size=ROWS_OF_A_GROUP, coerce_timestamps="us")
    save(model, "model.sepc")
    to_onnx(model, "model.onnx")
    session = onnxruntime.InferenceSession("model.onnx")
    return {"__name__": "__main__", "np": np, "pd": pd, "clf": model, "table": table, "session": session}


def run(mark, names):
    exec(compile(recipe(mark), str(PAGE), "exec"), names)


def compared(found, page, tol=0.0):
    """Assert that verdicts, by the column `id`, are those of `assess`."""
    a = page["clf"].assess(page["table"])
    expected = pd.DataFrame({"label": a.label, "trust": a.trust, "accepted": a.accepted()}, index=page["table"]["id"])
    expected = expected.loc[found["id"]]
    assert found["label"].tolist() == expected["label"].tolist()
    assert found["accepted"].tolist() == expected["accepted"].tolist()
    np.testing.assert_allclose(found["trust"], expected["trust"], rtol=0.0, atol=tol)
    return a


def scored_in_parts(page):
    """Run the block that scores a batch; return the list of sizes of the batches that will be scored."""
    sizes = []
    run("def score(", page)
    score = page["score"]
    page["score"] = lambda batch: sizes.append(batch.num_rows) or score(batch)
    return sizes


def test_a_batch_is_scored_as_by_assess(page):
    pq = pytest.importorskip("pyarrow.parquet")
    sizes = scored_in_parts(page)
    pa = page["pa"]
    batches = pq.ParquetFile("new.parquet").iter_batches(64)
    found = pa.Table.from_batches(map(page["score"], batches)).to_pandas()
    a = compared(found, page, tol=1e-12)
    assert found["refusal"].tolist() == [why or "" for why in a.refusals()]
    assert {"beyond", "trust"} <= set(found["refusal"])
    assert max(sizes) == 64


def test_dask(page):
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        run("import dask", page)
    found = pd.read_parquet("by_dask")
    assert page["parts"].npartitions == ROWS // ROWS_OF_A_GROUP
    assert len(found) == ROWS
    compared(found, page)


@pytest.mark.parametrize(("mark", "file"), [("import polars", "by_polars"), ("import duckdb", "by_duckdb")])
def test_polars_and_duckdb_write_what_is_accepted_part_by_part(mark, file, page):
    sizes = scored_in_parts(page)
    run(mark, page)
    found = pd.read_parquet(f"{file}.parquet")
    a = compared(found, page, tol=1e-12)
    assert len(found) == a.accepted().sum() > 0
    assert sum(sizes) == ROWS
    assert set(page["table"]) <= set(found)


def test_polars_hands_out_parts(page):
    sizes = scored_in_parts(page)
    run("import polars", page)
    assert max(sizes) <= ROWS_OF_A_GROUP


@pytest.mark.first_use
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark(page, monkeypatch):
    pytest.importorskip("pyspark")
    options = "--master local[2] --conf spark.ui.enabled=false pyspark-shell"
    for name, value in {
        "PYSPARK_SUBMIT_ARGS": options,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }.items():
        monkeypatch.setenv(name, value)
    try:
        run("pandas_udf", page)
    finally:
        page["spark"].stop()
    assert os.path.isdir("by_spark")
    found = pd.read_parquet("by_spark")
    verdicts = pd.DataFrame(found["verdict"].tolist())
    assert len(found) == ROWS
    compared(verdicts.assign(id=found["id"]), page)
