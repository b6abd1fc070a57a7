"""A kernel with element-wise work attached to its loads and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.evaluation import check, evaluate_formula
from ...ir.expr import Expr, Var, named, substitute, variables
from ...ir.graph import Node
from ...ir.ops.base import Op, require
from ...ir.ops.movement import Concat, Movement
from ...ir.ops.pointwise import Pointwise, as_floats, as_type
from ...ir.types import LANES, MAP_RANK, DType, TensorType, broadcast
from ...records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ir.expr import Compute
    from ...ir.graph import Choice, Value
    from ...ir.ops.base import Mask


@dataclass(frozen=True)
class Fused(Op):
    """z = store(epilogue(kernel(prologue(x), ...))).

    The first ``arity`` operands are the kernel's; the rest, e0, e1, ..., are operands of the
    expressions. The prologue maps ``x``, every element of the kernel's first operand, before any
    padding; the epilogue maps ``y``, every element of the kernel's result. () and None are the
    identity.

    A prologue of several formulas concatenates their results along the channels: with f and g, the
    kernel reads concat(f(x), g(x)). The channels of ``x`` must then be a multiple of four, and each
    formula must read only ``x`` and leave the value of the padding unchanged.

    The epilogue may broadcast a one-channel map over more channels, nothing else. The result is
    of ``dtype``, as for a Pointwise.

    ``store`` is a scatter epilogue, movements that the kernel executes by its store positions, the
    first applied first: a pixel shuffle and optionally a crop of its borders.
    """

    for_kernels = True

    kernel: Op
    arity: int
    prologue: tuple[Expr, ...] = ()
    epilogue: Expr | None = None
    dtype: DType = "float32"
    store: tuple[Movement, ...] = ()

    def infer(self, *inputs: TensorType) -> TensorType:
        least = 1 if self.prologue else 0
        require(
            len(inputs) >= self.arity >= least, f"{len(inputs)} operands for arity {self.arity}"
        )
        extras = inputs[self.arity :]
        known = {f"e{i}" for i in range(len(extras))}
        used: set[str] = set()
        formulas = [(expr, "x") for expr in self.prologue]
        if self.epilogue is not None:
            formulas.append((self.epilogue, "y"))
        for expr, own in formulas:
            check(expr)
            used |= set(variables(expr)) - {own}
        require(
            used <= known, f"the formulas name unknown operands: {', '.join(sorted(used - known))}"
        )
        read = inputs[: self.arity]
        if len(self.prologue) > 1:
            whole = read[0].in_planes and read[0].channels % LANES == 0
            require(
                whole,
                "several prologue formulas need a channel-packed input whose channels are a "
                f"multiple of {LANES}",
            )
            kept = keeps_padding(self.kernel, self.prologue)
            require(
                kept, "each prologue formula must read only x and map the padding value to itself"
            )
            read = (_joined(read[0], len(self.prologue)), *read[1:])
        y = self.kernel.infer(*read)
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

    def determined(self, *known: Mask) -> Mask | None:
        x, *others = known[: self.arity]
        if len(self.prologue) > 1:
            x = np.concatenate([x] * len(self.prologue), axis=1)
        found = self.kernel.determined(x, *others)
        if found is None:
            return None
        used = () if self.epilogue is None else variables(self.epilogue)
        extras = [e.shape for i, e in enumerate(known[self.arity :]) if f"e{i}" in used]
        found = np.broadcast_to(found, np.broadcast_shapes(found.shape, *extras))
        for movement in self.store:
            found = movement.reference(found)
        return found

    def carry_out(self, inputs: Sequence[Any], compute: Compute, kernel: Callable[..., Any]) -> Any:
        """Return the result, given who evaluates formulas and carries the kernel out."""
        extras = {f"e{i}": as_floats(e) for i, e in enumerate(inputs[self.arity :])}
        operands = list(inputs[: self.arity])
        if self.prologue:
            x = as_floats(operands[0])
            mapped = [compute(expr, {**extras, "x": x}) for expr in self.prologue]
            mapped = [np.broadcast_to(m, x.shape) for m in mapped]
            operands[0] = mapped[0] if len(mapped) == 1 else np.concatenate(mapped, axis=1)
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


def keeps_padding(kernel: Op, prologue: Sequence[Expr]) -> bool:
    """Whether formulas, of x alone, map the value of a kernel's padding to itself."""
    pad = getattr(kernel, "pad_value", 0.0)
    return all(variables(f) == ("x",) and evaluate_formula(f, {"x": pad}) == pad for f in prologue)


def _joined(x: TensorType, copies: int) -> TensorType:
    """Return the type of copies of a map that are joined along the channels."""
    n, channels, *size = x.shape
    return TensorType((n, copies * channels, *size), x.dtype)


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
    prologue: tuple[Expr, ...]
    epilogue: Expr | None
    extras: tuple[Value, ...]
    dtype: DType = "float32"
    store: tuple[Movement, ...] = ()

    @property
    def read(self) -> tuple[Value, ...]:
        """The operands as the kernel reads them: several formulas of a prologue are joined."""
        if len(self.prologue) < 2:
            return self.operands
        x, *rest = self.operands
        return (replace(x, type=_joined(x.type, len(self.prologue))), *rest)


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
    return Parts(op, node.inputs, (), None, ())


def apart(node: Node, place: Callable[[Node], Node]) -> Parts:
    """Return the parts of a fused node without its prologue, which becomes nodes of its own.

    Args:
        node: the fused node.
        place: gives a new node's result its layout.
    """
    p = parts(node)
    extras = named(p.extras, "e")
    mapped: list[Value] = []
    for formula in p.prologue:
        names = [name for name in variables(formula) if name != "x"]
        renamed: dict[str, Expr] = {name: Var(f"x{k}") for k, name in enumerate(names, 1)}
        op = Pointwise(substitute(formula, renamed | {"x": Var("x0")}))
        inputs = (p.operands[0], *(extras[name] for name in names))
        mapped.append(place(Node(op, inputs, node.layers, node.choice)).result)
    x = mapped[0]
    if len(mapped) > 1:
        x = place(Node(Concat(1), tuple(mapped), node.layers, node.choice)).result
    return replace(p, operands=(x, *p.operands[1:]), prologue=())


def assemble(p: Parts, layers: tuple[str, ...], choice: Choice) -> Node:
    """Build the node back, dropping operands of the expressions that nothing uses."""
    used: list[Value] = []
    renamed: dict[str, Expr] = {}
    extras = named(p.extras, "e")
    for expr in (*p.prologue, p.epilogue):
        for name in variables(expr) if expr is not None else ():
            if name in extras and name not in renamed:
                value = extras[name]
                if not any(v is value for v in used):
                    used.append(value)
                position = next(i for i, v in enumerate(used) if v is value)
                renamed[name] = Var(f"e{position}")
    prologue = tuple(substitute(expr, renamed) for expr in p.prologue)
    epilogue = None if p.epilogue is None else substitute(p.epilogue, renamed)
    if not prologue and epilogue is None and not p.store:
        return Node(p.kernel, p.operands, layers, choice)
    op = Fused(p.kernel, len(p.operands), prologue, epilogue, p.dtype, p.store)
    return Node(op, (*p.operands, *used), layers, choice)
