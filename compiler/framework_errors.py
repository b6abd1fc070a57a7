"""Errors of the frameworks that write models: what failed, at which line, and what helps."""

from __future__ import annotations

import re
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = Path(__file__).parent
FRAMEWORKS = ("torch", "keras", "tf_keras", "tensorflow", "onnxscript", "onnx_ir")
# By the errors of torch.export that say so: why, and what helps.
DEPENDS_ON_VALUES = (
    "torch.export cannot follow an `if`, a loop or a number that depends on the values of tensors",
    "choose between results with torch.where, and keep numbers in tensors, without int() and "
    ".item()",
)
# Of torch.onnx: an operator for which it has no function; and a line of Python's stack traces.
UNSUPPORTED = re.compile(r"No ONNX function found for .*op='([\w.:]+)'")
LINE = re.compile(r'File "([^"]+)", line (\d+), in (\w+)\n\s*(.+)')
CAUSES = {"GuardOnDataDependentSymNode": DEPENDS_ON_VALUES}


@contextmanager
def framework(name: str, verb: str, help: str = "") -> Iterator[None]:
    """Say of an error that it is the framework's, where it arose, and what was its first cause.

    Args:
        name: of the framework.
        verb: what it cannot do, such as "save this model".
        help: what helps, unless the error says more.
    """
    try:
        yield
    except ShadergenError:
        raise
    except Exception as error:
        first: BaseException = error
        while first.__cause__ is not None:
            first = first.__cause__
        if unsupported := UNSUPPORTED.search(str(first)):
            raise _unsupported(unsupported[1], first) from error
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(first)).strip()
        why = f"{type(first).__name__}: {text.partition(chr(10))[0]}"
        help = help or f"first make this work in {name} without shadergen"
        why, help = CAUSES.get(type(first).__name__, (why, help))
        raise ShadergenError(
            "SG0102", f"{name} cannot {verb}", where=_line_of(first) or (), why=why, help=help
        ) from error


def _unsupported(operator: str, error: BaseException) -> ShadergenError:
    """Return the refusal of an operator that PyTorch's exporter does not know, with its place."""
    where: list[str] = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        meta = getattr(frame.f_locals.get("node"), "meta", None)  # of torch.fx.Node
        if isinstance(meta, dict) and not where:
            modules = list(meta.get("nn_module_stack", {}).values())
            where += [f"module {path or kind}" for path, kind in map(_module, modules[-1:])]
            lines = re.findall(LINE, meta.get("stack_trace") or "")
            roots = _framework_roots()
            own = [m for m in lines if roots.isdisjoint(Path(m[0]).parents)]
            where += [f"{file}:{line} in {name}: {text}" for file, line, name, text in own[-1:]]
    return ShadergenError(
        "SG0201",
        f"PyTorch's {operator} is not supported",
        where=where,
        why=f"PyTorch's exporter has no ONNX operator for {operator}",
        help="replace it with operators that shadergen ops lists; or let the module return the "
        "tensor before it, and compute the rest in the application",
    )


def _module(entry: tuple[str, Any]) -> tuple[str, str]:
    """Return the path and the class of a module, as ``nn_module_stack`` has them."""
    path, kind = entry
    return path, getattr(kind, "__name__", str(kind).rpartition(".")[2])


def _line_of(error: BaseException) -> str:
    """Return the innermost line of the user's code that an error passed through, or nothing."""
    roots = _framework_roots()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.line and roots.isdisjoint(Path(frame.filename).parents):
            return f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    return ""


def _framework_roots() -> set[Path]:
    """Return the folders of the frameworks, and of this package."""
    modules = (sys.modules.get(name) for name in FRAMEWORKS)
    return {OWN, *(Path(m.__file__).parent for m in modules if m is not None and m.__file__)}
