"""Loads of four consecutive elements that begin at the same lane of a texel everywhere.

The four lie in two texels. After a first part of 11 channels, for example, plane p of a
concatenation reads the second part from its channel 4*p - 11 on, which is lane 1 of texel p - 3:

    vec4(a.yzw, b.x)    where a is texel p - 3, b is texel p - 2

A texel of the result may join several sources. The first source whose conditions hold counts, so
the sources are written from the last to the first.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from ...ir.algebra import affine
from ...ir.dimensions import is_dynamic, is_one
from ...ir.expr import Var
from ...ir.indexing import add, clamp, idiv, sub
from ...ir.simplify import simplify, value_range
from ...ir.types import LANES
from ...records import dataclass, replace
from ..shader.constructors import all_of, vec4
from ..shader.expressions import LANES as LANE
from ..shader.expressions import Conditional, Variable
from ..shader.types import INT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ir.graph import Value
    from ...ir.indexing import Source
    from ...passes.placement.access import Access
    from ..shader.expressions import Expression
    from ..shader.statements import Body
    from .loads import Reader

# Texels that a load reads without branches, though some are of no use in each texel of the result.
# Compilers issue them together; GPUs take longer for the branches of two sources.
MOST_UNCONDITIONAL = 4


@dataclass(frozen=True)
class _Part:
    """The positions on the lane axis at which a pass reads one source.

    Attributes:
        source: the source, without its conditions on the lane axis.
        value: the tensor that it reads.
        role: the name of the tensor's texture.
        shift: the lane of a texel in which the first of four elements lies.
        first: the first position.
        last: the last position; None if it is dynamic, and there is no position after it.
        keeps_before: whether positions before the first need the elements of later sources.
        keeps_after: whether the pass has positions after the last.
    """

    source: Source
    value: Value
    role: str
    shift: int
    first: int
    last: int | None
    keeps_before: bool
    keeps_after: bool

    @property
    def texels(self) -> tuple[int, int | None]:
        """The first and the last texel of the result that read the source."""
        return self.first // LANES, None if self.last is None else self.last // LANES

    @property
    def reads(self) -> list[int]:
        """Which of the source's two texels the positions read: 0, 1 or both."""
        if is_one(self.value.type.planes):
            return [0]
        last = self.first + LANES - 1
        last = last if self.last is None else min(last, self.last)
        positions = range(self.first, last + 1)
        return sorted({(i % LANES + self.shift) // LANES for i in positions})


def give_shifted(
    reader: Reader,
    body: Body,
    sources: Sequence[Source],
    operands: Sequence[Value],
    roles: Sequence[str],
    fill: float,
) -> None:
    """Return four elements from the function of a load.

    Args:
        reader: writes indices and texels.
        body: the statements of the function.
        sources: the load's sources, all of which :meth:`.Access.shifted` accepts.
        operands: the tensors that the sources refer to by number.
        roles: the names of the operands' textures.
        fill: the result where no source's conditions hold.
    """
    low, high = reader.ranges.get(reader.lane, (0, None))
    if is_dynamic(reader.lanes):
        high = None
    parts = list(_parts(reader.access, sources, operands, roles, low, high))
    branches = sum(len(part.reads) for part in parts) > MOST_UNCONDITIONAL
    _Writer(reader, body, low // LANES, None if high is None else high // LANES, branches).give(
        parts, fill
    )


def _parts(
    access: Access,
    sources: Sequence[Source],
    operands: Sequence[Value],
    roles: Sequence[str],
    low: int,
    high: int | None,
) -> Iterator[_Part]:
    """Yield where a pass, from ``low`` to ``high``, reads each source, unless it does nowhere."""
    done = low  # earlier sources give all elements before this position
    for source in sources:
        value, span = operands[source.operand], access.span(source)
        shift = access.shift(source, value.type)
        assert shift is not None
        assert span is not None
        valid = tuple(v for v in source.valid if not access.depends((v,)))
        own = replace(source, valid=valid), value, roles[source.operand], shift
        start, stop = span
        first, last = max(start, done), None if high is None else min(high, stop - 1)
        if last is None or first <= last:
            yield _Part(*own, first, last, start > done, last not in (None, high))
        if not valid and start <= done:
            done = max(done, stop)


@dataclass(frozen=True)
class _Writer:
    """Writes the function of a load.

    Attributes:
        reader: writes indices and texels.
        body: the statements of the function.
        least: the first texel of the result in the pass.
        most: the last one; None if it is dynamic.
        branches: whether a source is read only for the texels of the result that need it.
    """

    reader: Reader
    body: Body
    least: int
    most: int | None
    branches: bool

    @property
    def position(self) -> Expression:
        """The position of the first of the four elements on the lane axis."""
        return Variable(self.reader.lane, INT)

    def give(self, parts: Sequence[_Part], fill: float) -> None:
        """Return the elements of parts."""
        reader, body = self.reader, self.body
        for part in parts:  # the program declares textures in the order of the operands
            reader.texture(part.source, part.value, part.role)
        found: Variable | None = None
        for number, part in reversed(list(enumerate(parts))):
            suffix = str(number) if number else ""
            part = replace(part, source=reader.named(body, part.source, part.value, suffix))
            conditions = self._conditions(part)
            if found is None and (conditions or part.keeps_before or part.keeps_after):
                found = body.let("found", vec4(fill))
            if conditions:
                assert found is not None
                with body.when(all_of(conditions)):
                    body.assign(found, self._joined(part, found, suffix, everywhere=False))
                continue
            joined = self._joined(part, found, suffix, everywhere=True)
            if not number:
                body.give(joined)
                return
            if found is None:
                found = body.let("found", joined)
            else:
                body.assign(found, joined)
        body.give(vec4(fill) if found is None else found)

    def _conditions(self, part: _Part) -> list[Expression]:
        """Return the conditions under which a texel of the result reads a source."""
        (first, last), conditions = part.texels, []
        if self.branches and first > self.least:
            conditions.append(self.position >= first * LANES)
        if self.branches and last is not None and last != self.most:
            conditions.append(self.position < (last + 1) * LANES)
        return conditions + [self.reader.expression(v) for v in part.source.valid]

    def _joined(
        self, part: _Part, found: Expression | None, suffix: str, everywhere: bool
    ) -> Expression:
        """Return the elements of a source, and beside its part what was found before."""
        elements: Expression = self._elements(part, suffix, everywhere)
        if found is None or not (part.keeps_before or part.keeps_after):
            return elements
        elements = self.body.let(f"part{suffix}", elements)
        (first, last), position = part.texels, self.position
        before = range(part.first % LANES if part.keeps_before else 0)
        after = range(0)
        if part.keeps_after:
            assert part.last is not None
            after = range(part.last % LANES + 1, LANES)
        joined: Expression = elements
        if first == last:
            joined = _mixed(elements, found, {*before, *after})
        else:
            if after:
                assert last is not None
                mixed = _mixed(elements, found, set(after))
                joined = Conditional(position < last * LANES, joined, mixed)
            if before:
                mixed = _mixed(elements, found, set(before))
                joined = Conditional(position < (first + 1) * LANES, mixed, joined)
        if self.branches:
            return joined
        if part.keeps_after and last != self.most:
            assert last is not None
            joined = Conditional(position < (last + 1) * LANES, joined, found)
        if part.keeps_before and first > self.least:
            joined = Conditional(position < first * LANES, found, joined)
        return joined

    def _elements(self, part: _Part, suffix: str, everywhere: bool) -> Expression:
        """Return four consecutive elements of a source; those beside its part are of no use."""
        reader, source, shift, t = self.reader, part.source, part.shift, part.value.type
        line = affine(source.index[t.lane_axis], reader.lane)
        assert line is not None
        base = add(idiv(Var(reader.lane), LANES), idiv(sub(line[1], shift), LANES))
        first, last = part.texels if self.branches else (self.least, self.most)
        ranges = self._ranges(first * LANES, None if last is None else last * LANES)
        own = value_range(source.index[t.lane_axis], self._ranges(part.first, part.last))
        if own is None or is_dynamic(t.planes):
            own = 0, t.channels - 1

        def texel(after: int) -> Expression:
            """Return one of the two texels; beside those of the part, the nearest of them."""
            nearest = clamp(add(base, after), own[0] // LANES, own[1] // LANES)
            plane = simplify(nearest, ranges)
            among = reader.layers(t, source, plane, ranges)
            end = suffix + "_next" * after
            return reader.texel(
                self.body, part.value, part.role, source, plane, everywhere, among, end
            )

        if not shift:
            return texel(0)
        if is_one(t.planes):
            return texel(0).lanes(LANE[shift:] + LANE[:shift])
        if part.reads == [0]:
            return texel(0).lanes(LANE[shift:] + LANE[-1] * shift)
        if part.reads == [1]:
            return texel(1).lanes(LANE[0] * (LANES - shift) + LANE[:shift])
        return vec4(texel(0).lanes(LANE[shift:]), texel(1).lanes(LANE[:shift]))

    def _ranges(self, first: int, last: int | None) -> dict[str, tuple[int, int]]:
        """Return the ranges of the pass's variables, for a part of the lane axis."""
        ranges = {k: known for k, known in self.reader.ranges.items() if k != self.reader.lane}
        return ranges if last is None else ranges | {self.reader.lane: (first, last)}


def _mixed(elements: Expression, found: Expression, kept: set[int]) -> Expression:
    """Return a vec4 of elements, in some lanes of what was found before."""
    if not kept:
        return elements
    lanes = groupby(range(LANES), key=kept.__contains__)
    runs = [(found if keep else elements, list(run)) for keep, run in lanes]
    return vec4(*(v.lanes("".join(LANE[i] for i in run)) for v, run in runs))
