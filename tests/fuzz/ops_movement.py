"""What moves elements and computes nothing."""

from __future__ import annotations

from math import prod

import numpy as np

from .net import Net, Rejected
from .operators import operator

FAR = 2**31 - 1
ANY = "fffib"


@operator("Transpose", weight=2)
def transpose(net: Net) -> str:
    x = net.pick(ANY)
    perm = [int(k) for k in net.draw.rng.permutation(net.rank(x))]
    return str(net("Transpose", x, perm=None if net.draw.chance(0.1) else perm))


@operator("Reshape", weight=2)
def reshape(net: Net) -> str:
    x, draw = net.pick(ANY), net.draw
    shape = list(net.shape(x))
    for _ in range(draw.integer(1, 2)):
        k = draw.integer(0, len(shape) - 1)
        if len(shape) > 1 and draw.chance(0.5):
            k = min(k, len(shape) - 2)
            shape[k : k + 2] = [prod(shape[k : k + 2])]
        elif len(shape) < 5:
            part = draw.divisor(shape[k])
            shape[k : k + 1] = [part, shape[k] // part]
    if draw.chance(0.4):
        shape[draw.integer(0, len(shape) - 1)] = -1
    shape = [
        0 if k < net.rank(x) and s == net.shape(x)[k] and draw.chance(0.3) else s
        for k, s in enumerate(shape)
    ]
    return str(net("Reshape", x, net.constant(shape, np.int64)))


@operator("Flatten", "Squeeze", "Unsqueeze", weight=1.5)
def ranks(net: Net) -> str:
    draw, name = net.draw, net.draw.one("Flatten", "Squeeze", "Unsqueeze")
    x = net.pick(ANY)
    rank = net.rank(x)
    if name == "Flatten":
        return str(net("Flatten", x, axis=draw.one(None, draw.axis(rank + 1) if rank else 0)))
    if name == "Squeeze":
        ones = [k for k, s in enumerate(net.shape(x)) if s == 1]
        if not ones:
            raise Rejected("no axis of one")
        axes = [k - rank if draw.chance(0.3) else k for k in draw.some(ones)]
        return str(net("Squeeze", x, axes=None if draw.chance(0.1) else axes))
    axes = sorted(draw.some(range(rank + 1)))[: max(1, 5 - rank)]
    count = rank + len(axes)
    return str(net("Unsqueeze", x, axes=[k - count if draw.chance(0.2) else k for k in axes]))


@operator("Concat", weight=3, dynamic=True)
def concat(net: Net) -> str:
    x, draw = net.pick("fffi"), net.draw
    shape, kind = net.shape(x), net.values[x].dtype
    axis = draw.integer(0, len(shape) - 1)
    parts = [x]
    for _ in range(draw.integer(1, 3)):

        def fits(array: np.ndarray) -> bool:
            return (
                array.dtype == kind
                and array.ndim == len(shape)
                and all(
                    a == b
                    for k, (a, b) in enumerate(zip(array.shape, shape, strict=True))
                    if k != axis
                )
            )

        parts.append(net.pick(kind.kind, len(shape), fits))
    if draw.chance(0.15) and not net.dynamic and kind.kind == "f":
        sizes = [draw.integer(1, 3) if k == axis else s for k, s in enumerate(shape)]
        parts.append(net.constant(draw.normal(*sizes)))
    axis = axis - len(shape) if draw.chance(0.4) and net.opset > 10 else axis
    return str(net("Concat", *parts, axis=axis))


@operator("Split", weight=1.5)
def split(net: Net) -> tuple[str, ...]:
    x, draw = net.pick(ANY), net.draw
    axis = draw.axis(net.rank(x))
    size = net.shape(x)[axis]
    if size < 2:
        raise Rejected("nothing to split")
    cuts = sorted(draw.some(range(1, size)))[: draw.integer(1, 3)]
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    if draw.chance(0.3):
        count = draw.one(*(k for k in range(2, size + 1) if k <= 4))
        named = {"num_outputs": count} if net.opset > 17 else {}
        if not named and size % count:
            raise Rejected("no equal parts")
        return tuple(net("Split", x, outputs=count, axis=axis, **named))
    return tuple(net("Split", x, outputs=len(sizes), axis=axis, split=sizes))


def bounds(net: Net, size: int) -> tuple[int, int, int]:
    """Return start, end and step of a slice that is not empty, in any spelling."""
    draw = net.draw
    step = draw.one(1, 1, 1, 2, 3, -1, -1, -2) if net.opset > 9 else 1
    a, b = sorted(draw.integers(0, size - 1, 2))
    start, end = (a, b + 1) if step > 0 else (b, a - 1)
    if draw.chance(0.3):
        start, end = (0, FAR) if step > 0 else (FAR, -FAR)
    elif end == -1:  # one before the first: has no other spelling than a far one
        end = -FAR
    else:
        start = start - size if draw.chance(0.3) else start
        end = end - size if draw.chance(0.3) and 0 < end < size else end
    return start, end, step


@operator("Slice", weight=3)
def cut(net: Net) -> str:
    x, draw = net.pick(ANY), net.draw
    axes = draw.axes(net.rank(x))
    found = [bounds(net, net.shape(x)[a]) for a in axes]
    starts, ends, steps = (list(column) for column in zip(*found, strict=True))
    return str(net("Slice", x, starts=starts, ends=ends, axes=axes, steps=steps))


@operator("Pad", weight=2, dynamic=True)
def pad(net: Net) -> str:
    x, draw = net.pick("fffi", (4, 4, 1, 2, 3, 5)), net.draw
    rank = net.rank(x)
    mode = draw.one("constant", "reflect", "edge", "wrap" if net.opset > 18 else "edge")
    # reflecting needs more elements than it adds
    repeats = mode in ("constant", "edge")
    most = [3 if repeats else min(3, size - 1) for size in net.shape(x)]
    if rank > 2 and draw.chance(0.7):  # in space alone, as convolutions pad
        most[:2] = [0, 0]
    pads = [draw.integer(0, m) if draw.chance(0.6) else 0 for m in most * 2]
    if draw.chance(0.3):
        pads = [min(m, 1) for m in most * 2]
    if draw.chance(0.15) and mode == "constant":
        k = draw.integer(0, rank - 1)
        pads[k] = -draw.integer(0, net.shape(x)[k] // 2)
    named = {}
    if mode == "constant" and draw.chance(0.5) and net.values[x].dtype.kind == "f":
        named["constant_value" if net.opset > 10 else "value"] = draw.real(-2, 2)
    if net.opset > 17 and draw.chance(0.3):
        named["axes"] = [int(k) - draw.one(0, rank) for k in draw.rng.permutation(rank)]
        pads = [pads[a % rank + side * rank] for side in (0, 1) for a in named["axes"]]
    return str(net("Pad", x, pads=pads, mode=mode, **named))


@operator("Tile", "Expand", weight=1)
def repeat(net: Net) -> str:
    x, draw = net.pick(ANY), net.draw
    if draw.chance(0.5):
        return str(net("Tile", x, net.constant(draw.integers(1, 3, net.rank(x)), np.int64)))
    shape = [draw.integer(1, 4) if s == 1 else draw.one(1, s) for s in net.shape(x)]
    shape = [*draw.integers(1, 2, draw.integer(0, 1)), *shape]
    shape = shape[draw.integer(0, 1) if len(shape) > 1 else 0 :]
    return str(net("Expand", x, net.constant(shape, np.int64)))


@operator("DepthToSpace", "SpaceToDepth", weight=2, dynamic=True)
def depth_space(net: Net) -> str:
    draw = net.draw
    if draw.chance(0.6):
        x = net.pick(rank=4, fits=lambda a: a.shape[1] % 4 == 0 or a.shape[1] % 9 == 0)
        size = draw.one(*(b for b in (2, 3) if net.shape(x)[1] % b**2 == 0))
        return str(net("DepthToSpace", x, blocksize=size, mode=draw.one(None, "DCR", "CRD")))
    size = draw.one(2, 3)
    x = net.pick(rank=4, fits=lambda a: a.shape[2] % size == 0 and a.shape[3] % size == 0)
    return str(net("SpaceToDepth", x, blocksize=size))


@operator("ReverseSequence", "Trilu", "CenterCropPad", weight=1)
def rearrange(net: Net) -> str:
    draw, name = net.draw, net.draw.one("ReverseSequence", "Trilu", "CenterCropPad")
    x = net.pick("f", (2, 3, 4))
    shape = net.shape(x)
    if name == "Trilu":
        k = draw.one(None, draw.integer(-3, 3))
        return str(
            net(
                "Trilu", x, k=None if k is None else net.constant(k, np.int64), upper=draw.one(0, 1)
            )
        )
    if name == "CenterCropPad":
        axes = draw.axes(len(shape))
        sizes = [max(1, shape[a] + draw.integer(-3, 3)) for a in axes]
        return str(net("CenterCropPad", x, net.constant(sizes, np.int64), axes=axes))
    time = draw.integer(0, 1)
    lengths = net.constant(draw.whole(1, shape[time], shape[1 - time]))
    return str(net("ReverseSequence", x, lengths, time_axis=time, batch_axis=1 - time))
