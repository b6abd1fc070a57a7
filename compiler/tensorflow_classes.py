"""The classes of Keras and QKeras that TensorFlow may load from a Keras file, by name.

Keras 2 imports any module that a file names and calls any function of TensorFlow, even functions
that write files. So the configuration is checked before TensorFlow sees the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .frontends.keras.layers.named_activations import ACTIVATIONS, OVER_AN_AXIS
from .frontends.keras.layers.qkeras import QUANTISERS
from .frontends.keras.layers.table import LAYERS
from .frontends.keras.ops.names import of_tensorflow
from .frontends.keras.read.config import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = re.compile(r"builtins|(keras|qkeras)(\.\w+)*")
FUNCTION_LAYERS = ("TFOpLambda", "SlicingOpLambda")
FUNCTION_MODULE = "tf_op_layer"  # where Keras 2 defines these
# Modules of TensorFlow whose functions compute and do nothing else.
PURE = ("bitwise.", "image.", "linalg.", "math.", "nn.", "signal.")
_INITIALIZERS = (
    *("Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity"),
    *("LecunNormal", "LecunUniform", "Ones", "Orthogonal", "QInitializer", "RandomNormal"),
    *("RandomUniform", "TruncatedNormal", "VarianceScaling", "Zeros"),
)
_REGULARIZERS = ("L1", "L1L2", "L2", "OrthogonalRegularizer")
_CONSTRAINTS = ("Clip", "MaxNorm", "MinMaxNorm", "NonNeg", "RadialConstraint", "UnitNorm")
_DATA = (
    *("DTypePolicy", "Policy", "TensorShape"),
    *("__bytes__", "__ellipsis__", "__numpy__", "__tensor__", "__tuple__"),
)
CLASSES = frozenset(
    (
        *("Functional", "InputLayer", "Model", "Sequential", *FUNCTION_LAYERS, *LAYERS),
        *("GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells"),
        *_INITIALIZERS,
        *_REGULARIZERS,
        *_CONSTRAINTS,
        *_DATA,
        *QUANTISERS,
    )
)
FUNCTIONS = frozenset((*ACTIVATIONS, *OVER_AN_AXIS, *QUANTISERS))


def check_classes(config: dict[str, Any]) -> None:
    """Demand that a model's configuration names only allowed classes and functions.

    Raises:
        ValueError: when it names another.
    """
    # TensorFlow leaves out how the whole model was trained.
    pending: list[Any] = [{k: v for k, v in config.items() if k != "compile_config"}]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            for what in _refused(value):
                raise ValueError(
                    f"it would load {what}, which is not among the classes and functions of "
                    "Keras and QKeras that shadergen loads"
                )
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _refused(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what must not be loaded of what one JSON object names."""
    for key, value in entry.items():
        called = isinstance(value, str) and key.endswith(("activation", "quantizer"))
        if called and value.partition("(")[0].strip() not in FUNCTIONS:
            yield f"the function {shown(value)}"
    if "class_name" not in entry:
        return
    name, inner = entry["class_name"], entry.get("config")
    module, registered = entry.get("module"), entry.get("registered_name")
    if name == "Lambda":
        raise ValueError("it would run the Python code of a Lambda layer in the file")
    if module is not None and not (isinstance(module, str) and MODULES.fullmatch(module)):
        yield f"the module {shown(module)}"
    elif module and FUNCTION_MODULE in module.split(".") and name not in FUNCTION_LAYERS:
        yield f"the class {shown(name)} of the module {shown(module)}"
    allowed = FUNCTIONS if name == "function" else CLASSES
    kind, named = ("function", inner) if name == "function" else ("class", name)
    if not _is_one(named, allowed):
        yield f"the {kind} {shown(named)}"
    # Where Keras does not find the one name, it takes the other.
    if registered is not None and str(registered).split(">")[-1] != named:
        yield f"the {kind} {shown(registered)}"
    if name in FUNCTION_LAYERS or (isinstance(inner, dict) and "function" in inner):
        symbol = inner.get("function") if isinstance(inner, dict) else None
        if not isinstance(symbol, str) or (
            of_tensorflow(symbol) is None and not symbol.startswith(PURE)
        ):
            yield f"the function {shown(symbol)}"


def _is_one(name: Any, names: frozenset[str]) -> bool:
    return isinstance(name, str) and name in names
