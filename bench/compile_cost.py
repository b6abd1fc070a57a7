"""Measure what compiling costs: seconds and peak memory, as networks grow.

ResNet-50 and VGG16 (528 MB of weights), and two families that grow in one thing at a time: chains
of more and more small convolutions, chains of a few wider and wider ones. Cost should grow as they
do: "ms / node" and "MB / MB" should not rise down a family. Memory is the peak of the process that
compiles, Python and libraries included, against 2.5 times the weights plus 300 MB. Weights are
random: what they are changes nothing here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

MEGABYTE = 1e6
TIMES, FIXED = 2.5, 300.0  # peak memory allowed: times the weights, plus megabytes
# The kernel's count for this process alone: getrusage's begins with what the parent once had.
COMPILE = """
import json, re, sys, time
from pathlib import Path
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1e3
steps, start = [], time.perf_counter()
def progress(step):
    steps.append((step, time.perf_counter() - start, peak()))
compile_model(Path(sys.argv[1]), Path(sys.argv[2]), Options(), progress)
progress("done")
print(json.dumps(steps))
"""


class Net:
    """An ONNX graph under construction: every method appends to the last value."""

    def __init__(self, channels: int, size: int) -> None:
        self.rng = np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.x, self.channels = "x", channels
        self.input = helper.make_tensor_value_info(
            "x", TensorProto.FLOAT, [1, channels, size, size]
        )

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        self.x = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [self.x], self.x, **attributes))
        return self.x

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        values = self.rng.standard_normal(shape, np.float32) / np.sqrt(np.prod(shape[1:]))
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def conv(self, channels: int, kernel: int, stride: int = 1, relu: bool = True) -> str:
        weight = self.weight(channels, self.channels, kernel, kernel)
        pads, strides = [kernel // 2] * 4, [stride] * 2
        self.add("Conv", self.x, weight, self.weight(channels), pads=pads, strides=strides)
        self.channels = channels
        return self.add("Relu", self.x) if relu else self.x

    def pool(self, kernel: int, stride: int) -> str:
        pads = [(kernel - 1) // 2] * 4
        arguments = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": pads}
        return self.add("MaxPool", self.x, **arguments)

    def dense(self, inputs: int, outputs: int, relu: bool = True) -> str:
        self.add("Gemm", self.x, self.weight(outputs, inputs), self.weight(outputs), transB=1)
        return self.add("Relu", self.x) if relu else self.x

    def save(self, path: Path) -> None:
        output = helper.make_tensor_value_info(self.x, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, path.stem, [self.input], [output], self.weights)
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def vgg16() -> Net:
    net = Net(3, 224)
    for count, width in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            net.conv(width, 3)
        net.pool(2, 2)
    net.add("Flatten", net.x)
    net.dense(512 * 7 * 7, 4096)
    net.dense(4096, 4096)
    net.dense(4096, 1000, relu=False)
    return net


def resnet50() -> Net:
    net = Net(3, 224)
    net.conv(64, 7, 2)
    net.pool(3, 2)
    for stage, count in enumerate((3, 4, 6, 3)):
        for block in range(count):
            stride = 2 if stage and not block else 1
            shortcut, before = net.x, net.channels
            net.conv(64 << stage, 1)
            net.conv(64 << stage, 3, stride)
            body = net.conv(256 << stage, 1, relu=False)
            if not block:
                net.x, net.channels = shortcut, before
                shortcut = net.conv(256 << stage, 1, stride, relu=False)
            net.add("Relu", net.add("Add", body, shortcut))
    net.add("Flatten", net.add("GlobalAveragePool", net.x))
    net.dense(2048, 1000, relu=False)
    return net


def chain(count: int, width: int) -> Net:
    net = Net(width, 16)
    for _ in range(count):
        net.conv(width, 3)
    return net


FAMILIES = {
    "nodes": {f"{n} of 16 channels": (lambda n=n: chain(n, 16)) for n in (25, 50, 100, 200)},
    "weights": {f"4 of {c} channels": (lambda c=c: chain(4, c)) for c in (256, 512, 1024)},
    "networks": {"ResNet-50": resnet50, "VGG16": vgg16},
}


def measure(net: Net, scratch: Path) -> dict[str, Any]:
    """Compile in a process of its own."""
    path = scratch / "model.onnx"
    net.save(path)
    start = time.perf_counter()
    command = [sys.executable, "-c", COMPILE, path, scratch / "build"]
    steps = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    weights = sum(len(w.raw_data) for w in net.weights) / MEGABYTE
    return {
        "nodes": len(net.nodes),
        "weights_megabytes": weights,
        "seconds": time.perf_counter() - start,
        "peak_megabytes": steps[-1][2],
        "allowed_megabytes": TIMES * weights + FIXED,
        "steps": [
            {"step": name, "from_second": at, "peak_megabytes_before": before}
            for name, at, before in steps
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("words", nargs="*", help="parts of the names of those to measure")
    chosen = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    for nets in FAMILIES.values():
        for name, make in nets.items():
            if chosen.words and not any(w.lower() in name.lower() for w in chosen.words):
                continue
            with tempfile.TemporaryDirectory() as scratch:
                results[name] = measure(make(), Path(scratch))
    if chosen.json:
        print(json.dumps(results, indent=1))
        return
    columns = ("network", "nodes", "weights MB", "s", "ms / node", "peak MB", "MB / MB", "allowed")
    table = Table(*columns, title="compiling, with whatever of glslang there is")
    for name, r in results.items():
        weights, peak, allowed = (r[f"{k}_megabytes"] for k in ("weights", "peak", "allowed"))
        table.add_row(
            name,
            str(r["nodes"]),
            f"{weights:.1f}",
            f"{r['seconds']:.1f}",
            f"{1e3 * r['seconds'] / r['nodes']:.1f}",
            f"{peak:.0f}",
            f"{peak / weights:.1f}",
            f"{allowed:.0f}{'' if peak <= allowed else ' exceeded'}",
        )
    Console(width=100).print(table)
    for name, r in results.items():
        steps = "; ".join(
            f"{s['step']} at {s['from_second']:.1f} s, {s['peak_megabytes_before']:.0f} MB"
            for s in r["steps"]
        )
        print(f"{name}: {steps}")


if __name__ == "__main__":
    main()
