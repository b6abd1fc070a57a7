"""Contenders that misbehave, found by name from the processes that they run in; a tiny model;
made-up results."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from comparison.contenders import EXACT, Running, Setting, Unavailable
from comparison.networks import Model, describe
from comparison.report import Machine, Run
from comparison.results import ContenderResult, Cost, NetworkResult
from comparison.turns import Limits
from networks.reference import run_onnx
from onnx import TensorProto, helper, numpy_helper, save

QUICK = Limits(frames=3, warm_up=1)


def tiny(folder: Path, height: int | str = 6, width: int | str = 7) -> Path:
    """Write a convolution of 3 to 5 channels, a ReLU and a global pool."""
    rng = np.random.default_rng(0)
    weights = numpy_helper.from_array(rng.normal(size=(5, 3, 3, 3)).astype(np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("GlobalAveragePool", ["b"], ["y"]),
    ]
    shapes = ([1, 3, height, width], [1, 5, 1, 1])
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip("xy", shapes, strict=True)
    )
    opsets = [helper.make_opsetid("", 13)]
    graph = helper.make_graph(nodes, "tiny", [x], [y], [weights])
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "tiny.onnx")
    return folder / "tiny.onnx"


def tiny_model(folder: Path) -> Model:
    """Return that model with an input, and what onnxruntime makes of it."""
    path = tiny(folder)
    x = np.random.default_rng(1).normal(size=(1, 3, 6, 7)).astype(np.float32)
    ((y,),) = run_onnx(path, x)
    return describe("tiny", path, x, y)


@dataclass(frozen=True)
class Fake:
    """One that knows the right output, with a fault.

    ``fault`` is one of: "" for none, "wrong", "coarse" (as 16 bits are), "missing", "refuses",
    "crashes", "tires" (its third frame fails).
    """

    name: str
    fault: str = ""
    tolerance: float = EXACT

    def version(self, setting: Setting) -> str:
        if self.fault == "missing":
            raise Unavailable("it is not installed")
        return f"fake 1 on {setting.renderer}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        if self.fault == "refuses":
            raise ValueError("no such operator")
        (folder / "converted").touch()
        return {"passes": 3, "macs": 1000, "options": "all on"}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        assert (folder / "converted").exists()
        frames = 0

        def frame(x: Any) -> Any:
            nonlocal frames
            frames += 1
            if self.fault == "crashes":
                os.write(2, b"out of ideas\n")
                os._exit(3)
            if self.fault == "tires" and frames == 3:
                raise RuntimeError("tired")
            off = {"wrong": 1.0, "coarse": 5e-3}.get(self.fault, 0.0)
            return model.y + off * max(1.0, float(abs(model.y).max()))

        resident = (lambda: None) if self.name == "auto" else None
        return Running(frame, resident)


def costs(*milliseconds: float) -> list[Cost]:
    """Return costs whose processor time is twice the wall's."""
    return [Cost(m, 2 * m) for m in milliseconds]


def network(name: str, others: float | None = 0.1, **frames: list[Cost]) -> NetworkResult:
    """Return the result of contenders with these frames; our own are as long when resident."""
    own = ("fragment", "compute", "auto", "tuned")
    found = {
        n: ContenderResult(
            version=f"{n} 1",
            convert=Cost(900.0, 1100.0),
            start=Cost(700.0, 3500.0),
            memory=5_000_000,
            error=0.1,
            passes=4 if n in own else None,
            macs=10**9 if n in own else None,
            frames=f,
            resident=f if n in own else [],
        )
        for n, f in frames.items()
    }
    return NetworkResult(name, (1, 3, 8, 8), True, found, {"Conv": 2, "MaxPool": 1}, others)


def as_run(*networks: NetworkResult) -> Run:
    machine = Machine("a processor", 2, "a system", "a renderer", "OpenGL ES 3.2")
    return Run(machine, QUICK, networks)
