"""Networks from pictures to pictures with random layers, of kinds that user shaders express."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .picture_networks import Network

if TYPE_CHECKING:
    from onnx import ModelProto

ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "LeakyRelu", "PRelu", "HardSwish", "Elu", "Softplus")
CHANNELS = (4, 6, 8, 12, 16, 24)


class RandomNetwork(Network):
    """Layers drawn from a seed. Values stay near 0 to 1, whose 16-bit floats players store."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        super().__init__(int(draw.choice((1, 3))), seed)
        self.scale = int(draw.choice((1, 1, 2, 2, 3)))
        self.count = 0

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def named(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def layer(self, x: str, into: int) -> tuple[str, int]:
        """Add a layer that keeps the size; return its result and how many channels it has."""
        kinds = {
            "conv": 5,
            "depthwise": 1,
            "dilated": 1,
            "grouped": 1,
            "residual": 2,
            "concat": 1,
            "pool": 1,
            "gate": 1,
        }
        odds = np.array([*kinds.values()]) / sum(kinds.values())
        kind = str(self.random.choice([*kinds], p=odds))
        out = int(self.random.choice(CHANNELS))
        size = int(self.random.choice((1, 3, 3, 3, 5)))
        if kind == "residual":
            y = self.conv(self.activated(x, into), into, into, size, self.named("conv"), 0.4)
            return self.add("Add", x, y, name=self.named("sum")), into
        if kind == "concat":
            y = self.conv(x, into, 4, size, self.named("conv"))
            return self.add("Concat", x, y, name=self.named("joined"), axis=1), into + 4
        if kind == "pool":
            op = str(self.random.choice(("MaxPool", "AveragePool")))
            window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
            return self.add(op, x, name=self.named("pool"), **window), into
        if kind == "gate":
            y = self.conv(x, into, into, 1, self.named("conv"))
            y = self.add("Sigmoid", y, name=self.named("gate"))
            return self.add("Mul", x, y, name=self.named("product")), into
        groups = {"depthwise": into, "grouped": 2}.get(kind, 1)
        out = into if groups > 1 else out
        dilation = 2 if kind == "dilated" else 1
        y = self.windowed(x, into, out, size, groups, dilation)
        return self.activated(y, out), out

    def windowed(self, x: str, into: int, out: int, size: int, groups: int, dilation: int) -> str:
        """Add a convolution, whose padding is zeros or copies of the border."""
        name = self.named("conv")
        scale = 1 / np.sqrt(into // groups * size * size)
        w = self.random.normal(0, scale, (out, into // groups, size, size)).astype(np.float32)
        w[self.random.random(w.shape) < 0.1] = 0
        weights = (self.constant(f"{name}.w", w),)
        if self.chance(0.8):
            b = self.random.normal(0, 0.1, out).astype(np.float32)
            weights = (*weights, self.constant(f"{name}.b", b))
        pads = [dilation * (size // 2)] * 4
        if size > 1 and self.chance(0.25):
            mode = str(self.random.choice(("edge", "reflect")))
            ends = self.constant(f"{name}.pads", np.array([0, 0, *pads[:2], 0, 0, *pads[2:]]))
            x, pads = self.add("Pad", x, ends, name=f"{name}.padded", mode=mode), [0] * 4
        window = {"pads": pads, "group": groups, "dilations": [dilation] * 2}
        return self.add("Conv", x, *weights, name=name, **window)

    def activated(self, x: str, channels: int) -> str:
        kind = str(self.random.choice(ACTIVATIONS))
        name = self.named(kind.lower())
        if kind == "PRelu":
            slopes = self.random.uniform(-0.2, 0.4, (channels, 1, 1)).astype(np.float32)
            return self.add(kind, x, self.constant(f"{name}.slopes", slopes), name=name)
        return self.add(kind, x, name=name)

    def enlarged(self, x: str, into: int) -> str:
        """Add what gives the picture's channels at the result's size."""
        scale, channels = self.scale, self.channels
        if scale == 1:
            return self.conv(x, into, channels, 3, "last", 0.3)
        if self.chance(0.6):
            y = self.conv(x, into, channels * scale * scale, 3, "last", 0.3)
            mode = str(self.random.choice(("CRD", "DCR")))
            y = self.add("DepthToSpace", y, name="shuffle", blocksize=scale, mode=mode)
            if self.chance(0.5):
                return y
            return self.add("Add", y, self.resized("x"), name="with_picture")
        if self.chance(0.5):
            w = self.random.normal(0, 0.3 / np.sqrt(into), (into, channels, 2 * scale, 2 * scale))
            pads = [scale // 2, scale // 2, scale - scale // 2, scale - scale // 2]
            weights = self.constant("last.w", w.astype(np.float32))
            window = {"strides": [scale, scale], "pads": pads}
            return self.add("ConvTranspose", x, weights, name="last", **window)
        return self.conv(self.resized(x), into, channels, 3, "last", 0.3)

    def resized(self, x: str) -> str:
        """Add a map resized to the result's size."""
        scales = self.constant("scales", np.array([1, 1, self.scale, self.scale], np.float32))
        mode = str(self.random.choice(("nearest", "linear", "cubic")))
        place = "asymmetric" if mode == "nearest" else "half_pixel"
        how = {"mode": mode, "coordinate_transformation_mode": place, "nearest_mode": "floor"}
        return self.add("Resize", x, "", scales, name="resized", **how)


def random_network(seed: int) -> tuple[ModelProto, int, int]:
    """Return a network, the channels of its pictures, and how many times it enlarges them."""
    net = RandomNetwork(seed)
    x, channels = "x", net.channels
    x = net.activated(net.conv(x, channels, 8, 3, "first"), 8)
    channels = 8
    for _ in range(int(net.random.integers(1, 6))):
        x, channels = net.layer(x, channels)
    x = net.enlarged(x, channels)
    net.add("Add", x, net.constant("middle", np.float32(0.5)), name="shifted")
    return net.model(net.scale), net.channels, net.scale
