"""ONNX graphs under construction: formulas over tensors become nodes.

Arithmetic between tensors, numbers and NumPy arrays reads as in NumPy. Functions with an ``xp`` argument, which work
with arrays of any library, take a `Graph` for it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

OPSET, ML_OPSET, ML = 20, 3, "ai.onnx.ml"
Operand = Any  # a tensor, a number or a NumPy array


def _operator(kind: str, is_swapped: bool = False) -> Callable[["Tensor", Operand], "Tensor"]:
    def applied(self: "Tensor", other: Operand) -> "Tensor":
        return self.graph.op(kind, *((other, self) if is_swapped else (self, other)))

    return applied


class Tensor:
    """A value in a graph."""

    __array_ufunc__ = None  # so that NumPy arrays leave arithmetic to the tensor

    def __init__(self, graph: "Graph", name: str) -> None:
        self.graph, self.name = graph, name

    __add__ = __radd__ = _operator("Add")
    __mul__ = __rmul__ = _operator("Mul")
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", is_swapped=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", is_swapped=True)
    __matmul__, __rmatmul__ = _operator("MatMul"), _operator("MatMul", is_swapped=True)
    __lt__, __le__ = _operator("Less"), _operator("LessOrEqual")
    __gt__, __ge__ = _operator("Greater"), _operator("GreaterOrEqual")
    __and__, __or__ = _operator("And"), _operator("Or")

    def __neg__(self) -> "Tensor":
        return self.graph.op("Neg", self)

    def __invert__(self) -> "Tensor":
        return self.graph.op("Not", self)

    def equals(self, other: Operand) -> "Tensor":
        """Return where this equals another tensor."""
        return self.graph.op("Equal", self, other)


class Graph:
    """A graph under construction: nodes, and constants that all of them share. Names begin with `prefix`."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.nodes: list[NodeProto] = []
        self.constants: dict[tuple[Any, ...], TensorProto] = {}
        self._n_names = 0

    def name(self) -> str:
        """Return a name that is not taken."""
        self._n_names += 1
        return f"{self.prefix}t{self._n_names}"

    def tensor(self, value: Operand) -> Tensor:
        """Return a tensor, or a constant of a number or an array."""
        if isinstance(value, Tensor):
            return value
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        key = array.dtype.str, array.shape, repr(array.tolist()) if array.dtype == object else array.tobytes()
        if key not in self.constants:
            self.constants[key] = numpy_helper.from_array(array, f"{self.prefix}c{len(self.constants)}")
        return Tensor(self, self.constants[key].name)

    def ops(self, kind: str, *operands: Operand, n: int = 1, domain: str = "", **attributes: Any) -> list[Tensor]:
        """Add a node with n outputs; return these."""
        names = [self.name() for _ in range(n)]
        inputs = [self.tensor(one).name for one in operands]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return [Tensor(self, name) for name in names]

    def op(self, kind: str, *operands: Operand, **attributes: Any) -> Tensor:
        """Add a node with one output; return it."""
        return self.ops(kind, *operands, **attributes)[0]

    # functions as NumPy and the array API standard have them

    def log(self, x: Operand) -> Tensor:
        """Return natural logarithms."""
        return self.op("Log", x)

    def exp(self, x: Operand) -> Tensor:
        """Return exponentials."""
        return self.op("Exp", x)

    def sqrt(self, x: Operand) -> Tensor:
        """Return square roots."""
        return self.op("Sqrt", x)

    def maximum(self, x: Operand, y: Operand) -> Tensor:
        """Return the larger of two."""
        return self.op("Max", x, y)

    def minimum(self, x: Operand, y: Operand) -> Tensor:
        """Return the smaller of two."""
        return self.op("Min", x, y)

    def clip(self, x: Operand, low: Operand = None, high: Operand = None) -> Tensor:
        """Return values within bounds."""
        if low is not None and high is not None and np.ndim(low) == np.ndim(high) == 0:
            return self.op("Clip", x, low, high)
        x = x if low is None else self.maximum(x, low)
        return self.tensor(x) if high is None else self.minimum(x, high)

    def where(self, condition: Operand, x: Operand, y: Operand) -> Tensor:
        """Return x where the condition holds, else y."""
        return self.op("Where", condition, x, y)

    def isnan(self, x: Operand) -> Tensor:
        """Return where values are missing."""
        return self.op("IsNaN", x)

    def zeros_like(self, x: Tensor) -> Tensor:
        """Return zeros of the same shape."""
        return self.full(self.shape(x), 0.0)

    def ones_like(self, x: Tensor) -> Tensor:
        """Return ones of the same shape."""
        return self.full(self.shape(x), 1.0)

    def take(self, x: Operand, numbers: Operand, axis: int = 0) -> Tensor:
        """Return some entries along an axis."""
        return self.op("Gather", x, numbers, axis=axis)

    def take_along(self, x: Operand, numbers: Tensor, axis: int) -> Tensor:
        """Return entries along an axis by numbers of as many dimensions, as `numpy.take_along_axis` does."""
        return self.op("GatherElements", x, numbers, axis=axis)

    def argmin(self, x: Operand, axis: int) -> Tensor:
        """Return the number of the first smallest entry."""
        return self.op("ArgMin", x, axis=axis, keepdims=0)

    def argmax(self, x: Operand, axis: int) -> Tensor:
        """Return the number of the first largest entry."""
        return self.op("ArgMax", x, axis=axis, keepdims=0)

    def max(self, x: Operand, axis: int, keepdims: bool = False) -> Tensor:
        """Return the largest entries along an axis."""
        return self.op("ReduceMax", x, np.array([axis]), keepdims=int(keepdims))

    def sum(self, x: Operand, axis: int, keepdims: bool = False) -> Tensor:
        """Return sums along an axis."""
        return self.op("ReduceSum", x, np.array([axis]), keepdims=int(keepdims))

    def square_sum(self, x: Operand, axis: int) -> Tensor:
        """Return sums of squares along an axis."""
        return self.op("ReduceSumSquare", x, np.array([axis]), keepdims=0)

    def any(self, x: Tensor, axis: int) -> Tensor:
        """Return where any entry along an axis is true."""
        return self.max(self.floats(x), axis) > 0.0

    def stack(self, tensors: Sequence[Operand], axis: int = 0) -> Tensor:
        """Return tensors of one shape side by side along a new axis."""
        return self.concat([self.expanded(one, axis) for one in tensors], axis)

    def concat(self, tensors: Sequence[Operand], axis: int) -> Tensor:
        """Return tensors side by side along an axis."""
        return self.op("Concat", *tensors, axis=axis)

    # shapes and types

    def shape(self, x: Tensor) -> Tensor:
        """Return the shape of a tensor."""
        return self.op("Shape", x)

    def size(self, x: Tensor, axis: int = 0) -> Tensor:
        """Return the length of an axis, shape (1,)."""
        return self.op("Shape", x, start=axis, end=axis + 1)

    def full(self, shape: Operand, value: float | int) -> Tensor:
        """Return a tensor with one value."""
        return self.op("Expand", value, shape)

    def rows_of(self, x: Tensor, value: float | int) -> Tensor:
        """Return one value for each row of a tensor, shape (n,)."""
        return self.full(self.size(x), value)

    def reshape(self, x: Operand, *shape: int) -> Tensor:
        """Return a tensor of another shape; 0 stands for an axis that stays, -1 for what is left."""
        return self.op("Reshape", x, np.array(shape))

    def expanded(self, x: Operand, axis: int) -> Tensor:
        """Return a tensor with a further axis of length 1."""
        return self.op("Unsqueeze", x, np.array([axis]))

    def transposed(self, x: Operand, *axes: int) -> Tensor:
        """Return a tensor with its axes in another order."""
        return self.op("Transpose", x, perm=axes)

    def floats(self, x: Operand) -> Tensor:
        """Return values as doubles."""
        return self.op("Cast", x, to=TensorProto.DOUBLE)

    def integers(self, x: Operand) -> Tensor:
        """Return values as 64-bit integers, cut off."""
        return self.op("Cast", x, to=TensorProto.INT64)

    # branches and loops

    def if_any(
        self, condition: Tensor, then: Callable[[], Tensor], otherwise: Tensor, kind: int | None = None
    ) -> Tensor:
        """Return what `then` makes where a scalar condition holds, else a tensor; doubles, or of another `kind`."""
        kind = TensorProto.DOUBLE if kind is None else kind
        with self._body() as nodes:
            made = then()
        branch = self._graph(nodes, [], [(made, kind)])
        with self._body() as nodes:
            kept = self.op("Identity", otherwise)
        return self.op("If", condition, then_branch=branch, else_branch=self._graph(nodes, [], [(kept, kind)]))

    def loop(
        self,
        n: Operand,
        state: Sequence[Tensor],
        step: Callable[..., tuple[Sequence[Tensor], Sequence[Tensor]]],
        kinds: Sequence[int] | None = None,
    ) -> list[Tensor]:
        """Call ``step(i, *state)`` n times; return the last state, and what each call yields along a new first axis.

        `step` returns the next state and what it yields. All are doubles, unless what is yielded is of other `kinds`.
        """
        i, goes_on = Tensor(self, self.name()), Tensor(self, self.name())
        inside = [Tensor(self, self.name()) for _ in state]
        with self._body() as nodes:
            after, yielded = step(i, *inside)
            ends = [self.op("Identity", one) for one in (goes_on, *after, *yielded)]
        of_state = [TensorProto.DOUBLE] * len(state)
        of_ends = [*of_state, *([TensorProto.DOUBLE] * len(yielded) if kinds is None else kinds)]
        body = self._graph(
            nodes,
            [(i, TensorProto.INT64, ()), (goes_on, TensorProto.BOOL, ()), *zip(inside, of_state, strict=True)],
            [(ends[0], TensorProto.BOOL, ()), *zip(ends[1:], of_ends, strict=True)],
        )
        return self.ops("Loop", n, np.array(True), *state, n=len(ends) - 1, body=body)

    def needed(self, names: Iterable[str]) -> tuple[list[NodeProto], list[TensorProto]]:
        """Return the nodes and the constants that some values need."""
        wanted, kept = set(names), []
        for node in reversed(self.nodes):
            if not wanted.isdisjoint(node.output):
                kept.append(node)
                wanted.update(_inputs_of(node))
        return kept[::-1], [one for one in self.constants.values() if one.name in wanted]

    @contextmanager
    def _body(self) -> Iterator[list[NodeProto]]:
        """Collect the nodes that are added meanwhile."""
        outside, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outside

    def _graph(self, nodes: Sequence[NodeProto], inputs: Sequence[Any], outputs: Sequence[Any]) -> GraphProto:
        taken, made = ([value_info(one.name, *about) for one, *about in ends] for ends in (inputs, outputs))
        return helper.make_graph(nodes, self.name(), taken, made)


def _inputs_of(node: NodeProto) -> Iterator[str]:
    """Yield the names of what a node takes, and of what the bodies in it take."""
    yield from node.input
    for attribute in node.attribute:
        for inside in attribute.g.node:
            yield from _inputs_of(inside)


def value_info(name: str, kind: int, shape: Sequence[Any] | None = None) -> Any:
    """Return the type of an input or an output, and its shape where that is known."""
    return helper.make_tensor_value_info(name, kind, shape)


def text_array(texts: Sequence[Any]) -> NDArray[np.object_]:
    """Return texts as a constant holds them."""
    return np.array([str(text) for text in texts], dtype=object)
