"""Errors of the frameworks that write models: what failed, at which line, and what helps."""

from __future__ import annotations

import re
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(first)).strip()
        why = f"{type(first).__name__}: {text.partition(chr(10))[0]}"
        help = help or f"first make this work in {name} without shadergen"
        why, help = CAUSES.get(type(first).__name__, (why, help))
        raise ShadergenError(
            "SG0102", f"{name} cannot {verb}", where=_line_of(first) or (), why=why, help=help
        ) from error


def _line_of(error: BaseException) -> str:
    """Return the innermost line of the user's code that an error passed through, or nothing."""
    modules = (sys.modules.get(name) for name in FRAMEWORKS)
    roots = {OWN, *(Path(m.__file__).parent for m in modules if m is not None and m.__file__)}
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.line and roots.isdisjoint(Path(frame.filename).parents):
            return f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    return ""
