"""The cases of ``onnx.backend.test``, and what becomes of one."""

from __future__ import annotations

import re
import unittest
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from onnx import ModelProto, TensorProto
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from support.forcing import forced_device

from shadergen.compiler.onnx_backend import ShadergenBackend, ShadergenRep
from shadergen.compiler.runtimes import runtime_of
from shadergen.errors import ShadergenError

KINDS = {  # as the issue tracker calls them: as the suite does
    "node": "OnnxBackendNodeModelTest",
    "simple": "OnnxBackendSimpleModelTest",
    "pytorch-converted": "OnnxBackendPyTorchConvertedModelTest",
    "pytorch-operator": "OnnxBackendPyTorchOperatorModelTest",
    "light": "OnnxBackendRealModelTest",
}
LIGHT = "onnx/backend/test/data/light/"  # whole networks whose weights are a formula
# Cases that the exact result would fail: where it is 0, the suite has the rounding errors of one
# implementation, 1.9e-7 in place of 0 at ten elements of an inverse Fourier transform.
LOOSENED = {name: {"atol": 1e-6} for name in ("test_dft_inverse", "test_dft_inverse_opset19")}
GL_FAULTS = {"SG0603", "SG0604"}  # the shaders are wrong, not the model
FOLDED = "folded"
REASON_LENGTH = 200

Status = Literal["pass", "compile-time", "refused", "wrong", "broken"]


@dataclass(frozen=True)
class Case:
    """A case of the suite.

    Attributes:
        name: as the suite has it.
        kind: of ``KINDS``.
        op: the operator under test; "" for whole models.
        floats: whether it has only operators of ai.onnx, and declares every input and output as a
            tensor of float32.
    """

    name: str
    kind: str
    op: str = ""
    floats: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        status: "pass"; "compile-time" for a right result that needs no input's value, and so no
            shader that reads one; "refused"; "wrong"; "broken" for a crash, a hang, a bug.
        code: of the refusal.
        reason: of anything but a pass.
        fixed: the inputs that were compiled in.
    """

    status: Status
    code: str = ""
    reason: str = ""
    fixed: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status in ("pass", "compile-time")

    @property
    def failed(self) -> bool:
        return self.status in ("wrong", "broken")


class Watched(ShadergenBackend):
    """The backend, remembering what it prepared last."""

    last: ShadergenRep | None = None

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> ShadergenRep:
        if forced := forced_device():
            kwargs["runtime"] = runtime_of(forced)
        cls.last = super().prepare(model, device, **kwargs)
        return cls.last


class Suite:
    """The suite of the installed onnx package. Loading takes some seconds."""

    def __init__(self) -> None:
        with warnings.catch_warnings():  # making the data divides by zero on purpose
            warnings.simplefilter("ignore")
            self._tests = Runner(Watched, __name__, LOOSENED).test_cases

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Every case; whole networks first, since they take longest."""
        return tuple(case for kind in reversed(KINDS) for case in _cases(kind))

    def run(self, case: Case) -> Outcome:
        """Run a case in this process."""
        Watched.last = None
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                method = f"{case.name}_cpu"
                getattr(self._tests[KINDS[case.kind]](method), method)()
        except ShadergenError as error:
            reason = ": ".join(filter(None, [error.what, error.why]))
            if error.code in GL_FAULTS:
                return Outcome("broken", error.code, shortened(reason))
            return Outcome("refused", error.code, shortened(reason))
        except unittest.SkipTest as error:
            return Outcome("broken", "", f"skipped by the suite: {error}")
        except AssertionError as error:
            return Outcome("wrong", "", shortened(str(error)))
        except Exception as error:
            return Outcome("broken", "", shortened(f"{type(error).__name__}: {error}"))
        rep = Watched.last
        if rep is None:
            return Outcome("broken", "", "the suite did not run it")
        try:
            return judge(rep)
        finally:
            rep.close()


def judge(rep: ShadergenRep) -> Outcome:
    """Say whether a right result was computed by shaders, out of what was uploaded."""
    if rep.read:
        return Outcome("pass", fixed=rep.fixed)
    if rep.unread:
        names = ", ".join(rep.unread)
        return Outcome("refused", FOLDED, f"no shader reads an input, not even {names}", rep.fixed)
    return Outcome("compile-time", fixed=rep.fixed)


def shortened(text: str) -> str:
    """Return a message as one short line."""
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= REASON_LENGTH else line[:REASON_LENGTH] + "..."


def _cases(kind: str) -> Iterator[Case]:
    tests = load_model_tests(kind="real" if kind == "light" else kind)
    if kind != "node":
        if kind == "light" and not all(t.url.startswith(LIGHT) for t in tests):
            raise ValueError("the suite has networks to download; it had none")
        yield from (Case(t.name, kind) for t in sorted(tests, key=lambda t: t.name))
        return
    operators = {t.name: t.model.graph.node[0].op_type for t in tests}
    for t in sorted(tests, key=lambda t: t.name):
        plain = t.name.partition("_expanded")[0]  # the operator's function body, node by node
        yield Case(t.name, kind, operators.get(plain, operators[t.name]), _floats(t.model))


def _floats(model: ModelProto) -> bool:
    graph = model.graph
    return all(node.domain in ("", "ai.onnx") for node in graph.node) and all(
        info.type.tensor_type.elem_type == TensorProto.FLOAT
        for info in (*graph.input, *graph.output)
    )
