"""A whole shader: declarations, functions, entry point, outputs."""

from __future__ import annotations

from functools import cached_property
from itertools import compress, repeat
from typing import TYPE_CHECKING, Literal

from ...records import dataclass
from .constructors import integer
from .expressions import Element, Invoke, Texel, Uniform, Variable
from .expressions import walk as parts
from .statements import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ir.graph import Precision, Stage
    from .expressions import Expression, Int
    from .statements import Statement
    from .types import Type

TextureKind = Literal["2d", "array", "external"]


@dataclass(frozen=True, eq=False)
class TextureBinding:
    """A texture that a program reads.

    Attributes:
        name: of the sampler or image.
        kind: how its texels are counted; an external one is the application's own, sampled through
            the mat4 ``matrix``.
        unit: the number of an image, None for a sampler.
        format: of an image's texels.
        matrix: the name of the uniform.
    """

    name: str
    kind: TextureKind
    unit: int | None = None
    format: str = ""
    matrix: str = ""


@dataclass(eq=False)
class Array:
    """Values by number: constants in the text, or vectors in a buffer.

    Attributes:
        name: what it is called.
        element: the type of each.
        count: how many; 0 in a storage buffer, which has as many as its data.
        values: the constants.
        buffer: the kind of the buffer that they are in, and the name of its block.
    """

    name: str
    element: Type
    count: int = 0
    values: tuple[Expression, ...] = ()
    buffer: tuple[Literal["uniform", "storage"], str] | None = None

    def __getitem__(self, index: Int) -> Expression:
        return Element(self, integer(index))


@dataclass(eq=False)
class Function:
    """A function; ``results`` are parameters that it writes to.

    A function with ``chooses`` reads one of several textures: its texels are alternatives.
    The body may be set after calls exist: the texture of weights is declared last, and only then is
    the body of the function that reads weights known.
    """

    name: str
    parameters: tuple[Variable, ...]
    returns: Type | None
    body: Sequence[Statement] = ()
    results: tuple[Variable, ...] = ()
    chooses: bool = False

    def __call__(self, *arguments: Expression) -> Invoke:
        return Invoke(self, arguments)

    @cached_property
    def needed(self) -> tuple[bool, ...]:
        """Whether a call needs each argument: the body, complete by now, reads it."""
        read: set[str] = set()

        def visit(e: Expression) -> None:
            if isinstance(e, Variable):
                read.add(e.name)
            needed = e.function.needed if isinstance(e, Invoke) else repeat(True)
            for operand in compress(e.operands, needed):
                visit(operand)

        for statement in walk(self.body):
            for expression in statement.expressions:
                visit(expression)
        return *(v.name in read for v in self.parameters), *(True for _ in self.results)


@dataclass(eq=False)
class Program:
    """A shader.

    Attributes:
        stage: fragment or compute.
        precision: of floats, where nothing else is said.
        header: comment lines at the top.
        textures: what it reads, in order.
        uniforms: names of ints that the runtime sets.
        arrays: buffers and constants.
        main: what an invocation does.
        targets: render targets of a draw.
        result: the image that a dispatch writes.
        workgroup: invocations of a workgroup.
        chained: a product is added to its variable by itself, which takes one instruction where
            multiply-adds are fused. Otherwise the products of a statement are summed up first.
    """

    stage: Stage
    precision: Precision
    header: Sequence[str]
    textures: Sequence[TextureBinding]
    uniforms: Sequence[str]
    arrays: Sequence[Array]
    main: Sequence[Statement]
    targets: int = 0
    result: TextureBinding | None = None
    workgroup: int = 0
    chained: bool = False

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions called, callees first."""
        found: dict[Function, None] = {}

        def visit(statements: Sequence[Statement]) -> None:
            for statement in walk(statements):
                for e in parts(*statement.expressions):
                    if isinstance(e, Invoke) and e.function not in found:
                        visit(e.function.body)
                        found[e.function] = None

        visit(self.main)
        return tuple(found)

    @property
    def textures_read(self) -> set[TextureBinding]:
        """The textures that an invocation reads."""
        return {e.texture for e in self._read() if isinstance(e, Texel)}

    @property
    def uniforms_read(self) -> set[str]:
        """The names of the uniforms that an invocation reads."""
        return {e.name for e in self._read() if isinstance(e, Uniform)}

    def _read(self) -> Iterator[Expression]:
        bodies = (self.main, *(f.body for f in self.functions))
        return (e for body in bodies for s in walk(body) for e in parts(*s.expressions))
