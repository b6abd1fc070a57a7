"""Statements of a shader program, and :class:`Body`, which builds them in order.

A loop that adds up three rows::

    with body.loop("ky", 3) as ky:
        v = body.let("v", load(corner + ivec2(0, ky)))
        body.add_products(total, (weight, v))
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from ...records import dataclass
from .constructors import integer
from .expressions import Expression, Int, Variable, known, literal
from .expressions import walk as parts
from .types import INT, Type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .expressions import Invoke, Operand
    from .program import Function


@dataclass(frozen=True)
class Statement:
    """A statement; ``expressions`` are those that it evaluates directly."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return ()

    @property
    def bodies(self) -> tuple[tuple[Statement, ...], ...]:
        """The statements in it."""
        return ()


@dataclass(frozen=True)
class Declare(Statement):
    """A variable, with a first value unless it is assigned before it is read.

    ``full`` asks for 32 bits where the program computes in fewer.
    """

    variable: Variable
    value: Expression | None = None
    full: bool = False

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return () if self.value is None else (self.value,)


@dataclass(frozen=True)
class Assign(Statement):
    """A variable's new value."""

    target: Variable
    value: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.value,)


@dataclass(frozen=True)
class Add(Statement):
    """Add to a variable; ``sign`` -1 subtracts."""

    target: Variable
    value: Expression
    sign: int = 1

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.value,)


@dataclass(frozen=True)
class MultiplyAdd(Statement):
    """Products that are added to a variable: scalars, vectors, or matrices times vectors.

    ``summed_first`` adds the products up before the variable takes them: 16-bit products are
    converted once on the way into a 32-bit variable.
    """

    target: Variable
    products: tuple[tuple[Expression, Expression], ...]
    summed_first: bool = False

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(e for pair in self.products for e in pair)


@dataclass(frozen=True)
class Loop(Statement):
    """A counter from ``start`` up to, not with, ``end``.

    If ``inner_trips`` is more than 1, the loop is printed as two nested loops. The inner loop has
    ``inner_trips`` trips, and compilers unroll it. The trip count must be a multiple of
    ``inner_trips``; if ``end`` is a uniform, the caller must ensure this. The IR keeps one loop, so
    costs ignore ``inner_trips``.
    """

    counter: Variable
    end: Expression
    body: tuple[Statement, ...]
    start: Expression
    step: int = 1
    inner_trips: int = 1

    @property
    def printed_names(self) -> tuple[str, str]:
        """The counters of the outer and of the inner loop, if there are two."""
        return f"first_{self.counter.name}", f"{self.counter.name}_offset"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.start, self.end

    @property
    def bodies(self) -> tuple[tuple[Statement, ...], ...]:
        return (self.body,)


@dataclass(frozen=True)
class If(Statement):
    """Statements for where a condition holds."""

    condition: Expression
    body: tuple[Statement, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.condition,)

    @property
    def bodies(self) -> tuple[tuple[Statement, ...], ...]:
        return (self.body,)


@dataclass(frozen=True)
class Scope(Statement):
    """Statements whose variables are known only there."""

    body: tuple[Statement, ...]

    @property
    def bodies(self) -> tuple[tuple[Statement, ...], ...]:
        return (self.body,)


@dataclass(frozen=True)
class Return(Statement):
    """The end of a function, with its value."""

    value: Expression | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return () if self.value is None else (self.value,)


@dataclass(frozen=True)
class Perform(Statement):
    """A function that gives no value but writes to variables or to the result."""

    call: Invoke

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.call,)


@dataclass(frozen=True)
class Comment(Statement):
    """Words to a reader."""

    text: str


@dataclass(frozen=True)
class WriteTarget(Statement):
    """The vec4 of a draw's pixel in one of its render targets."""

    target: int
    value: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.value,)


@dataclass(frozen=True)
class WriteImage(Statement):
    """A vec4 stored at an ivec2 of the result's image, in a layer of an array."""

    position: Expression
    layer: Expression | None
    value: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        layer = () if self.layer is None else (self.layer,)
        return self.position, *layer, self.value


@dataclass
class Body:
    """Statements under construction."""

    statements: list[Statement] = field(default_factory=list)

    def let(self, name: str, value: Expression, full: bool = False) -> Variable:
        """Declare a variable with its value."""
        variable = Variable(name, value.type)
        self.statements.append(Declare(variable, value, full))
        return variable

    def declare(self, name: str, type: Type) -> Variable:
        """Declare a variable that is assigned later."""
        variable = Variable(name, type)
        self.statements.append(Declare(variable))
        return variable

    def assign(self, target: Variable, value: Operand) -> None:
        self.statements.append(Assign(target, literal(value, target.type)))

    def add(self, target: Variable, value: Operand, sign: int = 1) -> None:
        self.statements.append(Add(target, literal(value, target.type), sign))

    def add_products(
        self,
        target: Variable,
        *products: tuple[Expression, Expression],
        summed_first: bool = False,
    ) -> None:
        """Add the products of pairs."""
        self.statements.append(MultiplyAdd(target, products, summed_first))

    def give(self, value: Expression | None = None) -> None:
        """Return from the function."""
        self.statements.append(Return(value))

    def perform(self, call: Invoke) -> None:
        self.statements.append(Perform(call))

    def write(self, target: int, value: Expression) -> None:
        """Write a vec4 to a render target."""
        self.statements.append(WriteTarget(target, value))

    def store_image(
        self, position: Expression, layer: Expression | None, value: Expression
    ) -> None:
        """Store a vec4 in the result's image."""
        self.statements.append(WriteImage(position, layer, value))

    def comment(self, text: str) -> None:
        self.statements.append(Comment(text))

    def extend(self, statements: Sequence[Statement]) -> None:
        self.statements.extend(statements)

    @contextmanager
    def loop(
        self, name: str, end: Int, start: Int = 0, step: int = 1, inner_trips: int = 1
    ) -> Iterator[Expression]:
        """Build a loop from ``start`` to ``end``, exclusive, around the statements built inside.

        One that is known to run once is no loop: the statements stand for themselves.
        """
        first, last = known(start), known(end)
        if first is not None and last is not None and first < last <= first + step:
            yield integer(start)
            return
        counter = Variable(name, INT)
        with self._inner() as inner:
            yield counter
        loop = Loop(counter, integer(end), tuple(inner), integer(start), step, inner_trips)
        self.statements.append(loop)

    @contextmanager
    def when(self, condition: Expression) -> Iterator[None]:
        """Build a condition around the statements built inside."""
        with self._inner() as inner:
            yield
        self.statements.append(If(condition, tuple(inner)))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Keep variables that are declared meanwhile, if any, among themselves."""
        with self._inner() as inner:
            yield
        declares = any(isinstance(statement, Declare) for statement in inner)
        self.statements.extend([Scope(tuple(inner))] if declares else inner)

    @contextmanager
    def _inner(self) -> Iterator[list[Statement]]:
        outer, self.statements = self.statements, []
        inner = self.statements
        try:
            yield inner
        finally:
            self.statements = outer


def walk(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield every statement, nested ones after their parent."""
    for statement in statements:
        yield statement
        for body in statement.bodies:
            yield from walk(body)


def target_stored(statement: Statement) -> int | None:
    """Return the render target that a statement writes; 0 for an image, None for no store."""
    for s in walk([statement]):
        if isinstance(s, WriteTarget):
            return s.target
        if isinstance(s, WriteImage) or (isinstance(s, Perform) and _stores(s.call.function)):
            return 0
    return None


def _stores(function: Function) -> bool:
    return any(target_stored(s) is not None for s in function.body)


def names_read(statements: Sequence[Statement], among: set[str] | None = None) -> set[str]:
    """Return the names of the variables that statements read, of all or of some."""
    found: set[str] = set()
    for s in walk(statements):
        for e in parts(*s.expressions):
            if isinstance(e, Variable) and (among is None or e.name in among):
                found.add(e.name)
        if found == among:
            break
    return found


def needed(first: Sequence[Statement], rest: Sequence[Statement]) -> list[Statement]:
    """Return the declarations, and the comments on them, that the statements after them need."""
    read = names_read(rest, {s.variable.name for s in first if isinstance(s, Declare)})
    kept: list[Statement] = []
    for s in reversed(first):
        if s.variable.name in read if isinstance(s, Declare) else kept:
            kept.append(s)
            read |= names_read([s])
    return kept[::-1]
