"""A kernel with element-wise work attached to its loads and stores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.evaluation import check, evaluate_formula
from ...ir.expr import Expr, Var, named, substitute, variables
from ...ir.graph import Node
from ...ir.ops.base import Op, require
from ...ir.ops.movement import Movement
from ...ir.ops.pointwise import Pointwise, as_floats, as_type
from ...ir.types import MAP_RANK, DType, TensorType, broadcast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ir.expr import Compute
    from ...ir.graph import Choice, Value


@dataclass(frozen=True)
class Fused(Op):
    """z = store(epilogue(kernel(prologue(x), ...))).

    The first ``arity`` operands are the kernel's; the rest, e0, e1, ..., are operands of the
    expressions. The prologue maps ``x``, every element of the kernel's first operand, before any
    padding; the epilogue maps ``y``, every element of the kernel's result. None is the identity.

    The epilogue may broadcast a one-channel map over more channels, nothing else. The result is
    of ``dtype``, as for a Pointwise.

    ``store`` is a scatter epilogue, movements that the kernel executes by its store positions, the
    first applied first: a pixel shuffle and optionally a crop of its borders.
    """

    for_kernels = True

    kernel: Op
    arity: int
    prologue: Expr | None = None
    epilogue: Expr | None = None
    dtype: DType = "float32"
    store: tuple[Movement, ...] = ()

    def infer(self, *inputs: TensorType) -> TensorType:
        least = 0 if self.prologue is None else 1
        require(
            len(inputs) >= self.arity >= least, f"{len(inputs)} operands for arity {self.arity}"
        )
        extras = inputs[self.arity :]
        known = {f"e{i}" for i in range(len(extras))}
        used: set[str] = set()
        for expr, own in ((self.prologue, "x"), (self.epilogue, "y")):
            if expr is not None:
                check(expr)
                used |= set(variables(expr)) - {own}
        require(used <= known, f"{sorted(used - known)} name no operand")
        y = self.kernel.infer(*inputs[: self.arity])
        if isinstance(y, tuple):
            (y,) = y
        names = variables(self.epilogue) if self.epilogue is not None else ()
        shape = broadcast(y.shape, *(t.shape for i, t in enumerate(extras) if f"e{i}" in names))
        same = shape is not None and (
            shape == y.shape
            or (
                len(shape) == y.rank == MAP_RANK
                and y.shape[1] == 1
                and _but_channels(shape, y.shape)
            )
        )
        require(same, "the epilogue's operands do not broadcast to the kernel's result")
        assert shape is not None
        z = TensorType(shape, self.dtype if self.epilogue is not None else y.dtype)
        for movement in self.store:
            moved = movement.infer(z)
            assert not isinstance(moved, tuple)
            z = moved
        return z

    def reference(self, *inputs: Any) -> Any:
        return self.carry_out(inputs, evaluate_formula, self.kernel.reference)

    def carry_out(self, inputs: Sequence[Any], compute: Compute, kernel: Callable[..., Any]) -> Any:
        """Return the result, given who evaluates formulas and carries the kernel out."""
        extras = {f"e{i}": as_floats(e) for i, e in enumerate(inputs[self.arity :])}
        operands = list(inputs[: self.arity])
        if self.prologue is not None:
            shape = operands[0].shape
            mapped = compute(self.prologue, {**extras, "x": as_floats(operands[0])})
            operands[0] = np.broadcast_to(mapped, shape)
        z = self._finished(kernel(*operands), extras, compute)
        for movement in self.store:
            z = movement.reference(z)
        return z

    def _finished(self, y: Any, extras: dict[str, Any], compute: Compute) -> Any:
        """Return the epilogue of the kernel's result."""
        if self.epilogue is None:
            return y
        z = as_type(compute(self.epilogue, {**extras, "y": as_floats(y)}), self.dtype)
        names = variables(self.epilogue)
        shapes = [np.shape(e) for name, e in extras.items() if name in names]
        return np.broadcast_to(z, np.broadcast_shapes(y.shape, *shapes))


def _but_channels(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two maps differ in the channels alone."""
    return a[:1] == b[:1] and a[2:] == b[2:]


@dataclass(frozen=True)
class Parts:
    """A node taken apart: a kernel, its operands, and the work around it.

    For a :class:`~.pointwise.Pointwise` node the kernel is the Pointwise itself.
    """

    kernel: Op
    operands: tuple[Value, ...]
    prologue: Expr | None
    epilogue: Expr | None
    extras: tuple[Value, ...]
    dtype: DType = "float32"
    store: tuple[Movement, ...] = ()


def parts(node: Node) -> Parts:
    """Return the parts of any node, fused or not."""
    op = node.op
    if isinstance(op, Fused):
        k = op.arity
        return Parts(
            op.kernel,
            node.inputs[:k],
            op.prologue,
            op.epilogue,
            node.inputs[k:],
            op.dtype,
            op.store,
        )
    return Parts(op, node.inputs, None, None, ())


def apart(node: Node) -> tuple[Node, Parts]:
    """Return the prologue of a fused node as a node of its own, and the rest, which reads that."""
    p = parts(node)
    assert p.prologue is not None
    names = [name for name in variables(p.prologue) if name != "x"]
    renamed: dict[str, Expr] = {name: Var(f"x{k}") for k, name in enumerate(names, 1)}
    expr = substitute(p.prologue, renamed | {"x": Var("x0")})
    extras = named(p.extras, "e")
    inputs = (p.operands[0], *(extras[name] for name in names))
    first = Node(Pointwise(expr), inputs, node.layers, node.choice)
    return first, replace(p, operands=(first.result, *p.operands[1:]), prologue=None)


def assemble(p: Parts, layers: tuple[str, ...], choice: Choice) -> Node:
    """Build the node back, dropping operands of the expressions that nothing uses."""
    used: list[Value] = []
    renamed: dict[str, Expr] = {}
    extras = named(p.extras, "e")
    for expr in (p.prologue, p.epilogue):
        for name in variables(expr) if expr is not None else ():
            if name in extras and name not in renamed:
                value = extras[name]
                if not any(v is value for v in used):
                    used.append(value)
                position = next(i for i, v in enumerate(used) if v is value)
                renamed[name] = Var(f"e{position}")
    prologue = None if p.prologue is None else substitute(p.prologue, renamed)
    epilogue = None if p.epilogue is None else substitute(p.epilogue, renamed)
    if prologue is None and epilogue is None and not p.store:
        return Node(p.kernel, p.operands, layers, choice)
    op = Fused(p.kernel, len(p.operands), prologue, epilogue, p.dtype, p.store)
    return Node(op, (*p.operands, *used), layers, choice)
