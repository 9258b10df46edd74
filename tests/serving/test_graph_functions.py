"""Functions that ONNX does not have, as graphs: against NumPy, SciPy and what the models themselves do."""

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from scipy.special import expit, ndtri

from sepc.model.column_scales import ColumnScales, Curves
from sepc.model.incomplete import as_far_in
from sepc.serving.graphs import functions
from sepc.serving.graphs.graph import OPSET, Graph, Tensor, value_info


def evaluated(build, **inputs):
    """Return the outputs of a graph that `build` makes of its inputs, arrays of doubles."""
    g = Graph()
    made = build(g, **{name: Tensor(g, name) for name in inputs})
    taken = [value_info(name, TensorProto.DOUBLE, [None] * values.ndim) for name, values in inputs.items()]
    found = [onnx.ValueInfoProto(name=made.name)]
    graph = helper.make_graph(*[g.nodes, "g", taken, found, list(g.constants.values())])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


@given(
    st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=70).map(sorted),
    st.lists(st.floats(-30.0, 30.0), min_size=1, max_size=20),
)
def test_rank_is_the_number_of_entries_that_are_not_larger(table, x):
    table, x = np.array(table), np.array([*x, *table])
    found = evaluated(lambda g, x: functions.rank(g, table[None], x), x=x)
    assert np.array_equal(found, np.searchsorted(table, x, side="right"))


def test_pieces_are_exact_to_the_last_digits():
    x = np.linspace(-3.0, 2.0, 4001)
    pieces = functions.Pieces.of([np.exp, np.sin], -3.0, 2.0, 6)
    which = np.arange(len(x)) % 2
    found = evaluated(lambda g, x: pieces.at(g, x, g.tensor(which)), x=x)
    assert found == pytest.approx(np.where(which == 0, np.exp(x), np.sin(x)), rel=1e-14, abs=1e-14)


def test_normal_quantiles():
    logit = np.linspace(-6.9, 6.9, 5001)
    found = evaluated(lambda g, x: functions._normal_quantiles().at(g, x), x=logit)
    assert np.abs(found - ndtri(expit(logit))).max() < 2e-13  # a share near 1 has no more digits


@pytest.mark.parametrize(("d", "dof"), [(1, 8.0), (2, 2.0), (7, 32.0), (30, 8.0), (60, 2.0)])
def test_comparable_distances_are_those_of_the_model(d, dof):
    rng = np.random.default_rng(0)
    squares = np.exp(rng.uniform(-20.0, 60.0, (3000, 2))) * dof
    squares[:2] = [[0.0, 1e300], [1e-20, 1e18]]
    known = rng.integers(0, d + 1, (3000, 1))
    found = evaluated(
        lambda g, squares, known: functions.as_far_in(g, squares, known, d, dof),
        squares=squares,
        known=known.astype(float),
    )
    expected = as_far_in(squares / dof, known, d, dof)
    assert np.abs(found - expected).max() < 1e-12


@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [2, 0], [3], []], ids=str)
def test_scales_of_columns(columns):
    """Signed logarithms and normal scores, also beyond the last quantile, and at values that many records have."""
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [np.exp(2.0 * rng.normal(size=500)), rng.poisson(2.0, 500), rng.normal(size=500) ** 7, np.ones(500)]
    )
    columns = np.array(columns, dtype=np.int64)
    scales = ColumnScales.of(X.copy(), Curves.of(X, columns, np.arange(len(columns)) % 2 == 0))
    far = np.concatenate([X, 3.0 * X, -X, X + 1e-9, [[1e150] * 4, [-1e150] * 4, [0.0] * 4]])
    far[rng.random(far.shape) < 0.05] = np.nan
    found, expected = evaluated(lambda g, X: functions.scaled(g, X, scales), X=far), scales(far)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.nanmax(np.abs(found - expected) / (1.0 + np.abs(expected))) < 1e-13
