"""Short chains that passes rewrite, up to the edges of what each pass takes.

A chain is a list of steps, each drawn from some: an entry of the table, or a function below. Where
random graphs join two operators by accident, and with attributes of any kind, these have padding
before padding, products behind convolutions, and movements behind movements in every model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .net import Net, Rejected
from .operators import OPERATORS, operator
from .ops_patterns import activated, same, sizes_of

Step = Callable[[Net, str], str]
ATTEMPTS = 5  # at each step
SHARED = 0.1  # of the tensors within a chain, those that nodes to come may read too


def entry(*names: str) -> Step:
    """Return the step of entries of the table, each of which reads what is before it alone."""

    def step(net: Net, x: str) -> str:
        made = OPERATORS[net.draw.one(*names)]
        if net.dynamic and not made.dynamic:
            raise Rejected("no such size")
        pool, net.pool = net.pool, [x]
        try:
            found = made.make(net)
        finally:
            net.pool = pool
        return found if isinstance(found, str) else net.draw.one(*found)

    return step


def chained(net: Net, x: str, *steps: Sequence[Step]) -> tuple[str, ...]:
    """Add one of each list of steps; return the last tensor, and some on the way."""
    found: list[str] = []
    for choices in steps:
        for attempt in range(ATTEMPTS):
            try:
                with net.attempt():
                    x = net.draw.one(*choices)(net, x)
                break
            except Rejected:
                if attempt == ATTEMPTS - 1:
                    raise
        found.append(x)
    return (*(name for name in found[:-1] if net.draw.chance(SHARED) and name != x), x)


def nothing(net: Net, x: str) -> str:
    return x


def bent(net: Net, x: str) -> str:
    return activated(net, x)


def affine(net: Net, x: str) -> str:
    """Scale or shift: all alike, by channel, or by what a convolution cannot take."""
    draw, shape = net.draw, net.shape(x)
    channels = shape[1]
    if draw.chance(0.25):
        named = {"epsilon": draw.one(1e-5, 0.1)}
        terms = [net.weight(channels) for _ in range(3)]
        spread = net.constant(draw.uniform(0.3, 2, channels))
        return str(net("BatchNormalization", x, *terms, spread, **named))
    space = (1,) * (len(shape) - 2)
    each = (channels, *space)
    shapes: list[tuple[int, ...]] = [(), (1,), each, each, (1, *each), (1, *each)]
    if not net.dynamic:
        shapes += [shape[-1:], (shape[2], *space[1:])]
    away = draw.uniform(0.4, 2, *draw.one(*shapes))
    number = net.constant(away * draw.one(-1, 1, 1), np.float32)
    op = draw.one("Mul", "Add", "Sub", "Div")
    pair = (number, x) if op != "Div" and draw.chance(0.3) else (x, number)
    return str(net(op, *pair))


def channels_reversed(net: Net, x: str) -> str:
    channels = net.shape(x)[1]
    if net.opset > 9 and net.draw.chance(0.5):
        return str(net("Slice", x, starts=[-1], ends=[-(2**31)], axes=[1], steps=[-1]))
    return str(net("Gather", x, net.constant(np.arange(channels)[::-1].copy()), axis=1))


def three(net: Net, x: str) -> str:
    """Add a 3x3 convolution of stride 1, as Winograd's tiles take them."""
    draw, channels = net.draw, net.shape(x)[1]
    groups = draw.one(1, 1, 1, draw.divisor(channels))
    filters = groups * draw.one(1, 3, 4, 8, 9)
    weights = net.weight(filters, channels // groups, 3, 3, fan=9 * channels // groups)
    pads = draw.one([1] * 4, [1] * 4, [0] * 4, draw.integers(0, 2, 4))
    bias = [net.weight(filters)] if draw.chance(0.7) else []
    return str(net("Conv", x, weights, *bias, group=groups, pads=pads))


def depthwise(net: Net, x: str) -> str:
    draw, channels = net.draw, net.shape(x)[1]
    filters = channels * draw.one(1, 1, 1, 2)
    size = draw.one(3, 3, 1, 2, 5)
    w = net.weight(filters, 1, size, size, fan=size * size)
    pads = draw.one([size // 2] * 4, [0] * 4, draw.integers(0, size - 1, 4))
    bias = [net.weight(filters)] if draw.chance(0.7) else []
    strides = [draw.one(1, 1, 2)] * 2
    return str(net("Conv", x, w, *bias, group=channels, pads=pads, strides=strides))


def one_by_one(net: Net, x: str) -> str:
    draw, channels = net.draw, net.shape(x)[1]
    groups = draw.one(1, 1, 1, draw.divisor(channels))
    filters = groups * draw.integer(1, 9)
    named: dict[str, list[int]] = {}
    if draw.chance(0.2):
        named = draw.one({"strides": [2, 2]}, {"pads": [1] * 4}, {"pads": [0, 1, 0, 0]})
    w = net.weight(filters, channels // groups, 1, 1, fan=channels // groups)
    bias = [net.weight(filters)] if draw.chance(0.7) else []
    return str(net("Conv", x, w, *bias, group=groups, **named))


def with_another(net: Net, x: str) -> str:
    """Add a map of the pool, or the same one bent."""
    shape = net.shape(x)
    try:
        other = net.pick(rank=4, fits=lambda a: a.shape == shape)
    except Rejected:
        other = bent(net, x)
    pair = (x, other) if net.draw.chance(0.5) else (other, x)
    return str(net(net.draw.one("Add", "Mul", "Sub", "Max"), *pair))


def for_blocks(net: Net, x: str) -> str:
    """Add a convolution with the channels of whole blocks."""
    return same(net, x, net.draw.one(4, 8, 9, 12, 16), net.draw.one(1, 3, 3))


def blocks(net: Net, x: str) -> str:
    """Move blocks of channels into space, by the operator or spelled out."""
    draw, channels = net.draw, net.shape(x)[1]
    sizes = [b for b in (2, 3) if channels % b**2 == 0]
    if not sizes:
        raise Rejected("no whole blocks")
    b = draw.one(*sizes)
    if draw.chance(0.6) and (net.opset > 10 or draw.chance(0.5)):
        return str(net("DepthToSpace", x, blocksize=b, mode=draw.one(None, "DCR", "CRD")))
    if net.dynamic:
        raise Rejected("sizes are built in")
    batch, channels, height, width = net.shape(x)
    c = channels // b**2
    crd = draw.chance(0.5)
    inside = [batch, c, b, b, height, width] if crd else [batch, b, b, c, height, width]
    perm = [0, 1, 4, 2, 5, 3] if crd else [0, 3, 4, 1, 5, 2]
    moved = net("Transpose", net("Reshape", x, net.constant(inside)), perm=perm)
    return str(net("Reshape", moved, net.constant([batch, c, height * b, width * b])))


def enlarged(net: Net, x: str) -> str:
    """Enlarge by whole numbers, most often to nearest neighbours."""
    draw = net.draw
    scales = np.float32([1, 1, *draw.one((2, 2), (2, 2), (3, 3), (1, 2), (3, 2))])
    mode = draw.one("nearest", "nearest", "nearest", "linear")
    if net.opset < 11:
        name = "Resize" if net.opset > 9 else "Upsample"
        return str(net(name, x, scales=scales, mode=mode))
    named = {"coordinate_transformation_mode": draw.one("asymmetric", "asymmetric", "half_pixel")}
    if mode == "nearest":
        roundings = ("floor", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
        named["nearest_mode"] = draw.one(*roundings)
    none = net.constant(np.float32([])) if net.opset < 13 else ""
    return str(net("Resize", x, none, net.constant(scales), mode=mode, **named))


def twice(net: Net, x: str) -> str:
    """Read a tensor twice, and join what comes of it."""
    draw, channels = net.draw, net.shape(x)[1]
    kinds: tuple[Step, ...] = (bent, affine, nothing, lambda n, a: same(n, a, channels))
    first, second = (draw.one(*kinds)(net, x) for _ in range(2))
    if draw.chance(0.4):
        return str(net("Concat", first, second, axis=1))
    return str(net(draw.one("Add", "Mul", "Sub"), first, second))


PADS = (entry("Pad"),)
CONV = (entry("Conv"),)
OPTIONAL = (nothing, nothing, bent, affine)
VIEWS = (
    entry("Transpose", "Reshape", "Slice", "Slice"),
    entry("Concat", "Pad", "Flatten", "Squeeze", "Unsqueeze", "Expand"),
    entry("crop or flip of a map", "turned map", "DepthToSpace", "channels of a map"),
)
KERNELS = (
    entry("Conv", "MatMul", "Gemm", "ReduceMean", "Softmax"),
    entry("Relu", "Add", "AveragePool", "MaxPool"),
)


@operator("pads before a window", weight=7, dynamic=True)
def pads_before(net: Net) -> tuple[str, ...]:
    more = (nothing, *PADS)
    between = (*[nothing] * 6, bent, affine)
    windows = (*CONV * 4, entry("ConvTranspose"), entry("MaxPool", "AveragePool"))
    return chained(net, net.pick(rank=(4, 4, 4, 3, 5)), PADS, more, between, windows)


@operator("affine around a convolution", weight=4, dynamic=True)
def affine_around(net: Net) -> tuple[str, ...]:
    before = (nothing, affine, channels_reversed)
    kernel = (*CONV * 3, entry("ConvTranspose"), three)
    after = (affine, affine, bent)
    return chained(net, net.pick(rank=4), before, OPTIONAL, kernel, after, (affine, nothing))


@operator("pointwise chain", weight=4, dynamic=True)
def pointwise(net: Net) -> str:
    """Add functions of each element that read one another, and what they read."""
    draw = net.draw
    x = net.pick()
    seen = [x]
    for _ in range(draw.integer(2, 6)):
        a, b = draw.one(*seen[-2:]), draw.one(*seen)
        kind = draw.one("one", "one", "two", "number", "choice")
        if kind == "one":
            made = net(draw.one("Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Sin", "Floor"), a)
        elif kind == "two":
            made = net(draw.one("Add", "Sub", "Mul", "Max", "Min"), a, b)
        elif kind == "number":
            made = net(draw.one("Add", "Mul", "Div"), a, net.constant(draw.real(0.5, 2), "f4"))
        else:
            made = net("Where", net("Less", a, b), b, net("Neg", a))
        seen.append(str(made))
    if draw.chance(0.3) and net.rank(x) == 4:
        return same(net, seen[-1], draw.integer(1, 6), draw.one(1, 3))
    return seen[-1]


@operator("movements before a kernel", weight=4, dynamic=True)
def views(net: Net) -> tuple[str, ...]:
    steps = [VIEWS] * net.draw.integer(2, 4)
    if net.draw.chance(0.2):
        steps.append((bent,))
    return chained(net, net.pick(), *steps, KERNELS)


@operator("depthwise and 1x1", weight=4, dynamic=True)
def pairs(net: Net) -> tuple[str, ...]:
    after = (*OPTIONAL, with_another)
    return chained(net, net.pick(rank=4), (depthwise,), OPTIONAL, (one_by_one,), after)


@operator("1x1 of many channels", weight=4, dynamic=True)
def many_channels(net: Net) -> tuple[str, ...]:
    """Add 1x1 convolutions of so many input planes that their loops have inner loops."""
    wide = net.draw.one(24, 28, 32, 48, 64, 80, 96)
    widened = (lambda net, x: same(net, x, wide, 1),)
    return chained(net, net.pick(rank=4), widened, OPTIONAL, (one_by_one,), OPTIONAL)


@operator("3x3 convolutions", weight=4, dynamic=True)
def threes(net: Net) -> tuple[str, ...]:
    before = (*OPTIONAL, *PADS, twice)
    after = (*OPTIONAL, with_another)
    steps = [(three,), after] * net.draw.integer(1, 2)
    return chained(net, net.pick(rank=4), before, *steps)


@operator("blocks behind a convolution", weight=4, dynamic=True)
def stores(net: Net) -> tuple[str, ...]:
    crop = (nothing, entry("crop or flip of a map"))
    after = (*OPTIONAL, with_another)
    if net.draw.chance(0.3):
        return chained(net, net.pick(rank=4), (entry("ConvTranspose"),), OPTIONAL, crop, after)
    steps = ((for_blocks,), OPTIONAL, (blocks,), OPTIONAL, crop, after)
    return chained(net, net.pick(rank=4), *steps)


@operator("enlarged before a convolution", weight=4, dynamic=True)
def upsampled(net: Net) -> tuple[str, ...]:
    between = (*[nothing] * 6, bent, affine, *PADS)
    return chained(net, net.pick(rank=4), (enlarged,), between, (*CONV, three), OPTIONAL)


@operator("planes joined and cut", weight=3, dynamic=True)
def planes(net: Net) -> tuple[str, ...]:
    """Join maps, some of whole planes of four channels, and read parts of what they make."""
    draw, x = net.draw, net.pick(rank=4)
    parts = [x] if draw.chance(0.4) else []
    parts += [OPTIONAL[draw.integer(0, 3)](net, same(net, x, draw.one(4, 4, 8, 3), 1))]
    parts += [same(net, x, draw.one(4, 8, 5), draw.one(1, 3)) for _ in range(draw.integer(1, 2))]
    joined = net("Concat", *parts, axis=1)
    channels = net.shape(joined)[1]
    start = draw.one(0, 4, draw.integer(0, channels - 1))
    end = draw.one(channels, start + 4, start + 8)
    part = net("Slice", joined, starts=[start], ends=[end], axes=[1])
    part, *_ = chained(net, part, (nothing, bent, three, depthwise))[::-1]
    if draw.chance(0.4) and net.shape(part)[2:] == net.shape(joined)[2:]:
        part = net("Concat", draw.one(parts[-1], joined), part, axis=1)
    return (joined, part) if draw.chance(0.4) else (part,)


@operator("read twice", weight=3, dynamic=True)
def shared(net: Net) -> tuple[str, ...]:
    first = (three, depthwise, one_by_one, affine, bent)
    return chained(net, net.pick(rank=4), first, (twice,), (nothing, *first))


@operator("transposes around functions", weight=2, dynamic=True)
def around(net: Net) -> tuple[str, ...]:
    """Compute with channels last, as models of other frameworks do, and come back or not."""
    draw, x = net.draw, net.pick(rank=4)

    def turn(net: Net, x: str) -> str:
        return str(net("Transpose", x, perm=[0, 2, 3, 1]))

    def back(net: Net, x: str) -> str:
        return str(net("Transpose", x, perm=[0, 3, 1, 2]))

    def scaled(net: Net, x: str) -> str:
        return str(net(draw.one("Mul", "Add"), x, net.weight(net.shape(x)[-1])))

    def means(net: Net, x: str) -> str:
        return str(net("ReduceMean", x, axes=[draw.one(1, 2, 3, -1)], keepdims=1))

    def halved(net: Net, x: str) -> str:
        shape = net("Concat", sizes_of(net, x, 0, 3), net.constant([-1], np.int64), axis=0)
        return str(net("Reshape", x, shape))

    functions = (bent, scaled, scaled, with_another, means, halved)
    steps: list[Sequence[Step]] = [(turn,), functions, (nothing, *functions)]
    if draw.chance(0.7):
        steps += [(back,), (nothing, three)]
    return chained(net, x, *steps)
