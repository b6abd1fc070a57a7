"""Make random ONNX models that compute with their sizes: arithmetic, windows, joins, resizes.

Each is made of short patterns, repeated: what doubles an expression at each turn shows there. Sizes
at the default are followed along, so that most models are valid; what a compiler may refuse is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.dynamic_net import Net, as_float, floats, network

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from onnx import ModelProto

LEAST, MOST = 6, 400  # of height and width at the default
FAR = 2**31  # beyond that numbers are not computed with


@dataclass(frozen=True)
class Map:
    """A tensor of ``channels``, and what it is high and wide at the default."""

    name: str
    channels: int
    height: int
    width: int

    def along(self, axis: int) -> int:
        return self.height if axis == 2 else self.width


@dataclass(frozen=True)
class Number:
    """A tensor of one integer, and its value at the default."""

    name: str
    value: int


class Drawing:
    """A model while it is drawn at random."""

    def __init__(self, random: Random, net: Net, size: tuple[int, int]) -> None:
        self.random, self.net = random, net
        self.map = Map("x", 3, *size)
        self.first = self.map
        self.maps = [self.map]
        self.numbers = [self.size_of(self.map, axis) for axis in (2, 3)]

    # numbers

    def size_of(self, x: Map, axis: int) -> Number:
        return Number(self.net.sizes(x.name, axis, axis + 1), x.along(axis))

    def known(self, value: int) -> Number:
        return Number(self.net.whole(value), value)

    def compute(self, op: str, a: Number, b: Number) -> Number:
        """Return a number of two, as ONNX computes: quotients are rounded towards 0."""
        x, y = a.value, b.value
        value = {
            "Add": lambda: x + y,
            "Sub": lambda: x - y,
            "Mul": lambda: x * y,
            "Div": lambda: abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1),
            "Mod": lambda: x % y,
            "Min": lambda: min(x, y),
            "Max": lambda: max(x, y),
        }[op]()
        return Number(self.net(op, a.name, b.name), value)

    def number(self) -> Number:
        """Return the last number mostly, or any."""
        return self.numbers[-1] if self.random.random() < 0.6 else self.random.choice(self.numbers)

    def arithmetic(self, op: str, constant: int | None) -> None:
        a = self.number()
        b = self.random.choice(self.numbers) if constant is None else self.known(constant)
        if abs(a.value) > FAR or abs(b.value) > FAR or (op in ("Div", "Mod") and b.value < 1):
            a, b = self.numbers[0], self.known(3)
        self.numbers.append(self.compute(op, a, b))

    def halves_and_thirds(self, op: str, first: int, second: int) -> None:
        a = self.number()
        if abs(a.value) < FAR:
            parts = (self.compute("Div", a, self.known(n)) for n in (first, second))
            self.numbers.append(self.compute(op, *parts))

    def square(self) -> None:
        a, b = self.number(), self.random.choice(self.numbers)
        if max(abs(a.value), abs(b.value)) < FAR and a.value + b.value > 0:
            total = self.compute("Add", self.compute("Mul", a, a), self.compute("Mul", b, b))
            self.numbers.append(self.compute("Div", total, self.compute("Add", a, b)))

    def times_its_remainder(self, n: int) -> None:
        a = self.number()
        if abs(a.value) < FAR:
            product = self.compute("Mul", self.compute("Mod", a, self.known(n)), a)
            self.numbers.append(self.compute("Add", product, self.numbers[0]))

    def by_floats(self, factor: float) -> None:
        """Scale a size as PyTorch does: floor(float(size) * factor)."""
        a, net = self.number(), self.net
        if 0 < a.value < 10**5:
            scaled = net("Floor", net("Mul", as_float(net, a.name), floats(net, factor)))
            self.numbers.append(Number(net("Cast", scaled, to=7), int(a.value * factor)))

    # maps

    def put(self, name: str, height: int, width: int) -> None:
        """Go on with a map, brought back to the first one's size where it leaves the limits."""
        self.map = Map(name, self.map.channels, height, width)
        if not (LEAST <= height <= MOST and LEAST <= width <= MOST):
            self.resize_like(self.first)
        self.maps.append(self.map)

    def window(self, op: str, size: int, stride: int, pad: int, rows_only: bool) -> None:
        x, net = self.map, self.net
        kernel, strides = [size, size], [stride, stride]
        pads = [min(pad, size // 2)] * 2
        if rows_only:
            kernel[1], strides[1], pads[1] = 1, 1, 0
        spans = [x.height + 2 * pads[0] - kernel[0], x.width + 2 * pads[1] - kernel[1]]
        if min(spans) < 0:
            return
        sizes = [span // by + 1 for span, by in zip(spans, strides, strict=True)]
        how = {"kernel_shape": kernel, "strides": strides, "pads": pads * 2}
        weights = []
        if op == "Conv":
            weights = [net.weight(x.channels, x.channels, *kernel), net.weight(x.channels)]
        self.put(net(op, x.name, *weights, **how), *sizes)

    def join(self, axis: int, first: int, second: int) -> None:
        """Join what pools of so many rows or columns leave."""
        x, size, parts = self.map, self.map.along(axis), []
        for n in (first, second):
            kernel = [n, 1] if axis == 2 else [1, n]
            parts.append(self.net("MaxPool", x.name, kernel_shape=kernel, strides=kernel))
        size = size // first + size // second
        name = self.net("Concat", *parts, axis=axis)
        self.put(name, *((size, x.width) if axis == 2 else (x.height, size)))

    def resize_like(self, other: Map) -> None:
        net, x = self.net, self.map
        sizes = net("Concat", net.whole(1, x.channels), net.sizes(other.name, 2, 4), axis=0)
        name = net("Resize", x.name, "", "", sizes, mode="linear")
        self.map = Map(name, x.channels, other.height, other.width)

    def resize_to_numbers(self) -> None:
        fit = [n for n in self.numbers if LEAST <= n.value <= MOST]
        height, width = (self.random.choice(fit[-4:]) for _ in range(2))
        net = self.net
        sizes = net("Concat", net.whole(1, self.map.channels), height.name, width.name, axis=0)
        name = net("Resize", self.map.name, "", "", sizes, mode="linear")
        self.put(name, height.value, width.value)

    def scale(self, factor: int) -> None:
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
        name = self.net.scaled(self.map.name, factor, factor, nearest_mode="floor", **how)
        self.put(name, self.map.height * factor, self.map.width * factor)

    def pad(self, n: int) -> None:
        """Pad to a multiple, as networks with skips do."""
        net, x = self.net, self.map
        rest = self.compute("Mod", self.size_of(x, 2), self.known(n))
        more = self.compute("Mod", self.compute("Sub", self.known(n), rest), self.known(n))
        pads = net("Concat", net.whole(0, 0, 0, 0, 0, 0), more.name, net.whole(1), axis=0)
        self.put(net("Pad", x.name, pads), x.height + more.value, x.width + 1)

    def crop(self) -> None:
        """Cut both the last map and another to the smaller of their sizes, and add them."""
        net, a, b = self.net, self.map, self.random.choice(self.maps[-6:])
        sizes = [self.compute("Min", self.size_of(a, k), self.size_of(b, k)) for k in (2, 3)]
        ends = net("Concat", *(size.name for size in sizes), axis=0)
        parts = [net("Slice", x.name, net.whole(0, 0), ends, net.whole(2, 3)) for x in (a, b)]
        self.put(net("Add", *parts), *(size.value for size in sizes))

    def split(self, n: int) -> None:
        """Cut a part off, and put it behind the rest."""
        net, x = self.net, self.map
        size = self.size_of(x, 2)
        part = self.compute("Div", size, self.known(n))
        above = net("Slice", x.name, net.whole(0), part.name, net.whole(2))
        below = net("Slice", x.name, part.name, size.name, net.whole(2))
        self.put(net("Concat", below, above, axis=2), x.height, x.width)

    def flatten(self) -> None:
        net, x = self.net, self.map
        flat = net("Relu", net("Reshape", x.name, net.whole(1, x.channels, -1)))
        self.put(net("Reshape", flat, net("Shape", x.name)), x.height, x.width)

    def turn(self) -> None:
        name = self.net("Transpose", self.map.name, perm=[0, 1, 3, 2])
        self.put(name, self.map.width, self.map.height)

    def expand(self) -> None:
        net, x = self.net, self.map
        row = net("ReduceMean", x.name, net.whole(3), keepdims=1)
        self.put(net("Add", net("Expand", row, net("Shape", x.name)), x.name), x.height, x.width)

    def fill(self) -> None:
        net, x = self.net, self.map
        shape = net("Concat", net.whole(1, 1), net.sizes(x.name, 2, 4), axis=0)
        self.put(net("Add", net("ConstantOfShape", shape), x.name), x.height, x.width)

    def upsample(self, stride: int) -> None:
        net, x = self.net, self.map
        weight = net.weight(x.channels, x.channels, stride, stride)
        y = net("ConvTranspose", x.name, weight, strides=[stride, stride])
        self.put(y, stride * x.height, stride * x.width)

    def step(self) -> Callable[[], None]:
        """Return a step of a pattern, with what varies in it drawn."""
        r = self.random
        two, three, axis = r.randint(2, 4), r.randint(2, 5), r.choice((2, 3))
        op = r.choice(("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"))
        constant = r.choice((None, None, 1, 2, 3, 7, 16))
        window, size = r.choice(("Conv", "MaxPool", "AveragePool")), r.randint(1, 3)
        pad, rows_only, factor = r.randint(0, 1), r.random() < 0.3, r.choice((0.5, 1.5, 0.25, 2.0))
        joining = r.choice(("Add", "Mul", "Max"))
        number_steps: list[Callable[[], None]] = [
            lambda: self.arithmetic(op, constant),
            lambda: self.halves_and_thirds(joining, two, three),
            self.square,
            lambda: self.times_its_remainder(three),
            lambda: self.by_floats(factor),
            lambda: self.numbers.append(self.size_of(self.map, axis)),
        ]
        map_steps: list[Callable[[], None]] = [
            lambda: self.window(window, size, two - 1, pad, rows_only),
            lambda: self.join(axis, two, three),
            self.resize_to_numbers,
            lambda: self.scale(2),
            lambda: self.pad(three),
            self.crop,
            lambda: self.split(two),
            self.flatten,
            self.turn,
            self.expand,
            self.fill,
            lambda: self.upsample(two),
            lambda: self.resize_like(r.choice(self.maps[-6:])),
        ]
        return r.choice(r.choice((number_steps, map_steps, map_steps)))


def random_graph(random: Random, nodes: int, size: tuple[int, int] = (45, 70)) -> ModelProto:
    """Return a model of about so many nodes; its image is of ``size`` at the default."""

    def random_net(net: Net) -> str:
        drawing = Drawing(random, net, size)
        while len(net.nodes) < nodes:
            pattern = [drawing.step() for _ in range(random.randint(1, 3))]
            for _ in range(random.choice((1, 2, 5, 20, 80))):
                for step in pattern:
                    if len(net.nodes) < nodes:
                        step()
        drawing.resize_to_numbers()
        return drawing.map.name

    return network(random_net)
