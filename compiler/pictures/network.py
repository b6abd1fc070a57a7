"""A build as a function of pictures of any size: whole, in tiles, or resized.

A build of dynamic sizes takes the whole picture if its textures fit; otherwise, and for a build of
one size, the picture is cut into tiles (:mod:`.tiles`). How far they overlap follows from the
receptive field that the schedule states. Networks that judge a picture as a whole get it resized.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError, count
from ...records import dataclass
from ...runtime_glue.python.sizes import evaluate_postfix, resolve
from ..inspection import peak_bytes
from .kinds import Network, network_of
from .picture import Picture, as_floats, resize_note, resized_picture, to_host, to_pixels
from .tiles import Plan, blended, exact, single

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ..session import Session
    from .tiles import AxisPlan, Floats

    Progress = Callable[[str, int, int], None]

OVERLAP = 32  # pixels, as messages suggest it
MOST_TEXTURE_BYTES = 2 << 30  # of a whole picture; larger ones are cut into tiles
TILE = 512  # pixels of a side, for builds of dynamic sizes
NEAR = 64  # pixels: a picture of nearly a size that a dynamic build takes
SEARCHED = 128  # sizes beyond the picture's that are tried for the constraints of a build


@dataclass(frozen=True)
class Prepared:
    """How a picture of some size goes through a build.

    Attributes:
        network: the build at the size of a tile.
        plan: the tiles; None for a picture that is resized to the build's size.
        changes: what is done to the picture or the result to fit the build, a line each.
        exact: what is done that leaves the result as it is, a line each.
    """

    network: Network
    plan: Plan | None
    changes: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """All that is done, a line each."""
        return (*self.exact, *self.changes)


class PictureNetwork:
    """A build as a function of pictures.

    Args:
        session: of the build.
        labels: the names of the classes, if given.
        overlap: of tiles, in pixels of the picture; by default, what the receptive field needs.
        tile: height and width of tiles, for builds of dynamic sizes.

    Raises:
        ShadergenError: SG0605 when the build takes no picture; SG0301 for a tile of a build of one
            size.
    """

    def __init__(
        self,
        session: Session,
        labels: Sequence[str] = (),
        overlap: int | None = None,
        tile: tuple[int, int] | None = None,
    ) -> None:
        self._session, self._labels, self._overlap, self._size = session, labels, overlap, tile
        self.network = network_of(session.build, labels)
        if tile is not None and session.build.sizes is None:
            size = "x".join(map(str, self.network.size))
            raise ShadergenError(
                "SG0301",
                f"--tile: the build takes {size} only",
                help="omit --tile, or compile with --input-size dynamic",
            )
        self._known: dict[tuple[int, int], Prepared] = {}

    def prepare(self, size: tuple[int, int]) -> Prepared:
        """Plan how pictures of a height and width are run.

        Raises:
            ShadergenError: SG0605 when the build cannot take them.
        """
        if size not in self._known:
            self._known = {size: self._prepared(size)}
        return self._known[size]

    def rows(
        self, picture: Picture, progress: Progress = lambda step, done, total: None
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the result of a network on all of a picture, some rows at a time.

        Args:
            picture: to run on.
            progress: told how many tiles are done.

        Yields:
            The number of the first row, and (h, W, C) floats.
        """
        prepared = self.prepare(picture.size)
        plan, network = prepared.plan, prepared.network
        assert plan is not None

        def tile(pixels: NDArray[Any]) -> NDArray[Any]:
            return to_pixels(self._run(network, pixels), network.row, network.column)

        def read(rows: slice, columns: slice) -> NDArray[Any]:
            return picture.part(rows, columns, network.channels)

        def done(tiles: int) -> None:
            if plan.count > 1:
                progress("tiles", tiles, plan.count)

        for first, values in plan.run(read, tile, done):
            _check_finite(values, network)
            yield first, values

    def resized(self, picture: Picture) -> NDArray[Any]:
        """Return the output for a picture that is resized to the build's size.

        Raises:
            ShadergenError: SG0605 for values that are not finite.
        """
        network = self.prepare(picture.size).network
        everything = slice(None)
        pixels = picture.part(everything, everything, network.channels)
        values = self._run(network, resized_picture(pixels, network.size))
        _check_finite(values, network)
        return values

    def _run(self, network: Network, pixels: NDArray[Any]) -> NDArray[Any]:
        """Run on pixels of 0..1; pictures of uint8 have 0..255 before and after the network."""
        if network.input.dtype == "uint8":
            pixels = np.rint(pixels * 255)
        host = to_host(pixels, network.input.shape, network.axes)
        result = self._session.run({network.input.name: host})[network.output.name]
        if network.kind == "picture" and network.output.dtype == "uint8":
            return as_floats(result)
        return result

    def _prepared(self, size: tuple[int, int]) -> Prepared:
        whole, tile = self._sizes(size)
        chosen = whole or tile
        network = self._at(chosen)
        if network.kind == "category":
            return Prepared(network, None, self._resize_note(size, network))
        if chosen == size:
            plans = (single(n, n, r) for n, r in zip(size, network.result_size, strict=True))
            return Prepared(network, Plan(*plans))
        field = network.output.receptive_field
        reaches = (None, None) if field is None else (field.height, field.width)
        axes = [
            self._axis(network.kind, *numbers)
            for numbers in zip(size, chosen, network.result_size, reaches, strict=True)
        ]
        rows, columns = axes
        if rows is None or columns is None:
            if network.kind == "picture":
                raise self._refusal(size, network)
            return Prepared(network, None, self._resize_note(size, network))
        plan = Plan(rows, columns)
        exact, changes = self._plan_notes(plan, network)
        return Prepared(network, plan, changes, exact)

    def _axis(self, kind: str, size: int, tile: int, result: int, reach: Any) -> AxisPlan | None:
        if size == tile:
            return single(size, tile, result)
        if size < tile:
            return None if reach is None else single(size, tile, result, reach.scale)
        if self._overlap is not None:
            period = 1 if reach is None else reach.period
            if reach is None and result > 0 and tile % result and result % tile:
                return None
            period = max(period, -(-tile // result))
            return blended(size, tile, result, self._overlap, period, kind == "classes")
        return None if reach is None else exact(size, tile, result, reach)

    def _at(self, size: tuple[int, int]) -> Network:
        shape = list(self.network.input.shape)
        shape[self.network.axes.row], shape[self.network.axes.column] = size
        build = self._session.fitted({self.network.input.name: tuple(shape)})
        return network_of(build, self._labels)

    def _sizes(self, size: tuple[int, int]) -> tuple[tuple[int, int] | None, tuple[int, int]]:
        """Return the size for the whole picture, if there is one, and that of tiles."""
        sizes = self._session.build.sizes
        if sizes is None:
            return None, self.network.size
        document = sizes.document
        shape = document["inputs"][0]["shape"]
        entries = shape[self.network.axes.row], shape[self.network.axes.column]
        names = [e[0] if isinstance(e, list) and len(e) == 1 else None for e in entries]
        fixed = [None if n else int(own) for n, own in zip(names, self.network.size, strict=True)]
        search = _Search(document, dict(sizes.values), names, fixed)
        wanted = self._size or tuple(min(n, TILE) for n in size)
        small = search.near(wanted, [n > w for n, w in zip(size, wanted, strict=True)])
        if small is None:
            small = self.network.size
        if self._size is not None or self.network.kind == "category":
            return None, small
        whole = search.near(size, (False, False))
        if whole is not None and search.bytes(whole) > MOST_TEXTURE_BYTES:
            whole = None
        return whole, small

    def _refusal(self, size: tuple[int, int], network: Network) -> ShadergenError:
        field = network.output.receptive_field
        own, taken = ("x".join(map(str, s)) for s in (size, network.size))
        if field is None:
            why = "the build does not state its receptive field: an older version compiled it"
            help = "compile the model again"
        elif field.unbounded_by:
            why = (
                f"layer '{field.unbounded_by}' reads the whole picture, or depends on positions or "
                "on the picture's size, so tiles would not give the network's result"
            )
            help = (
                f"compile with --input-size dynamic or --input-size {own}; if the model was "
                "exported at one size, first export it with dynamic height and width"
            )
        else:
            assert field.height is not None
            assert field.width is not None
            far = max(field.height.before, field.width.before)
            why = (
                f"a pixel of the result depends on up to {far} pixels to each side, too many for "
                f"tiles of {taken}"
            )
            help = f"compile with --input-size dynamic or a larger --input-size, such as {own}"
        is_dynamic = self._session.build.sizes is not None
        if is_dynamic and all(abs(n - t) < NEAR for n, t in zip(size, network.size, strict=True)):
            help = f"crop or pad the picture to a size that the network takes, such as {taken}"
        elif any(n > t for n, t in zip(size, network.size, strict=True)):
            shared = min(OVERLAP, min(network.size) // 2)  # half a tile leaves it a step
            help += (
                "; or blend tiles, which only approximates the network: shadergen run with "
                f"--overlap {shared}"
            )
        return ShadergenError(
            "SG0605", f"the picture is {own}, the build takes {taken}", why=why, help=help
        )

    def _resize_note(self, size: tuple[int, int], network: Network) -> tuple[str, ...]:
        if size == network.size:
            return ()
        return (resize_note(size, network.size),)

    def _plan_notes(self, plan: Plan, network: Network) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what leaves the result as it is, and what changes it."""
        exact, changes = [], []
        extended = plan.rows.extended, plan.columns.extended
        if plan.count > 1:
            size = "x".join(map(str, network.size))
            field = network.output.receptive_field
            tiles = f"{count(plan.count, 'tile')} of {size}"
            if self._overlap is None:
                assert field is not None
                assert field.height is not None
                exact.append(f"{tiles}, which give the network's result on the whole picture")
            elif network.kind == "classes":
                changes.append(
                    f"{tiles}, overlapping by {self._overlap} pixels; each pixel in the overlap "
                    "takes the class of the nearer tile: an approximation, seams may show"
                )
            else:
                changes.append(
                    f"{tiles}, blended over {self._overlap} pixels: an approximation, seams may "
                    "show"
                )
        if any(extended):
            own = plan.rows.size, plan.columns.size
            to = own[0] + extended[0], own[1] + extended[1]
            changes.append(
                f"the picture of {own[0]}x{own[1]} was padded to {to[0]}x{to[1]}, the size of the "
                "build, with copies of the last row and column; the result was cropped, and pixels "
                "near the last row and column are approximate"
            )
        return tuple(exact), tuple(changes)


def _check_finite(values: NDArray[Any], network: Network) -> None:
    """Refuse NaN and infinity.

    Raises:
        ShadergenError: SG0605.
    """
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        raise ShadergenError(
            "SG0605",
            f"output '{network.output.name}' has values that are not finite",
            why="the network computed NaN or infinity; pixels are finite",
            help="check with shadergen verify; numbers beyond 65504 overflow with --precision "
            "mediump or fp16",
        )


class _Search:
    """Finds sizes that a build of dynamic sizes can have."""

    def __init__(
        self,
        document: Mapping[str, Any],
        values: dict[str, int],
        names: Sequence[str | None],
        fixed: Sequence[int | None],
    ) -> None:
        self._document, self._values, self._names, self._fixed = document, values, names, fixed
        self._constraints = document["sizes"].get("constraints", ())
        self._bounds = {
            p["name"]: (int(p["min"]), int(p["max"])) for p in document["sizes"]["parameters"]
        }

    def near(self, size: Sequence[int], down: Sequence[bool]) -> tuple[int, int] | None:
        """Return the nearest size, for each side at most as large (``down``) or at least."""
        candidates = []
        for name, own, wanted, less in zip(self._names, self._fixed, size, down, strict=True):
            if name is None:
                assert own is not None
                if not less and own < wanted:
                    return None
                candidates.append([own])
                continue
            ends = max(wanted - SEARCHED, 0), -1
            tried = range(wanted, *ends) if less else range(wanted, wanted + SEARCHED)
            low, high = self._bounds[name]
            candidates.append(
                [n for n in tried if low <= n <= high and self._holds({name: n}, alone=True)]
            )
        for height in candidates[0]:
            for width in candidates[1]:
                if self._holds(self._named((height, width)), alone=False):
                    return height, width
        return None

    def bytes(self, size: tuple[int, int]) -> int:
        """Return the bytes of textures at a size."""
        document = resolve(self._document, {**self._values, **self._named(size)})
        return peak_bytes(document)

    def _named(self, size: tuple[int, int]) -> dict[str, int]:
        return {n: s for n, s in zip(self._names, size, strict=True) if n is not None}

    def _holds(self, sizes: Mapping[str, int], alone: bool) -> bool:
        """Whether constraints hold: with ``alone``, only those of these sizes alone."""
        values = {**self._values, **sizes}
        for constraint in self._constraints:
            used = {term for term in constraint["value"] if term in self._values}
            if alone and not used <= sizes.keys():
                continue
            try:
                value = evaluate_postfix(constraint["value"], values)
            except ValueError:
                return False
            low, high = constraint.get("min"), constraint.get("max")
            if (low is not None and value < low) or (high is not None and value > high):
                return False
        return True
