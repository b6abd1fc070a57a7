"""Applying one layer or operation to the arguments of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....errors import ShadergenError, did_you_mean
from .....ir.dimensions import at_layer
from .....ir.graph import Constant, OperandError
from .....records import replace
from ....definitions import find
from ...constant_folding import fold_value
from ..layers.masks import handed_on
from ..layers.table import CALL_ARGUMENTS, LAYERS
from ..ops.arguments import Arguments
from ..ops.names import of_keras, of_tensorflow, tensorflow_symbols
from ..ops.table import OPERATIONS
from ..read.built_in_layers import BUILT_IN
from ..read.config import truth
from ..tensors import Tensor

if TYPE_CHECKING:
    from ..layers.layer import Layer

_LAMBDA_OPERATIONS = ("TFOpLambda", "SlicingOpLambda", "ClassMethod", "InstanceMethod")
_POLICIES = ("DTypePolicy", "Policy", "DTypePolicyMap")

# Call arguments that say what an exported model does anyway.
_INFERENCE = {"training": (None, False), "mask": (None,)}

_NO_FORMULA = "--define cannot replace the layer: formulas cannot read a layer's weights"
_LEAVE_WEIGHTS = "rebuild the layer from supported layers, or cut it off with --inputs or --outputs"


def tensors_in(value: Any) -> list[Tensor]:
    """Return every tensor among nested arguments, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_in(v)] if isinstance(value, (list, tuple)) else []


def called(layer: Layer) -> list[Tensor]:
    """Return the results of a call of anything but a nested model."""
    try:
        with at_layer(layer.name):
            if layer.spec.class_name in _LAMBDA_OPERATIONS or layer.spec.is_operation:
                result = _operation(layer)
            else:
                result = _layer(layer)
    except OperandError as error:
        raise error.of_source(_place(layer)) from None
    return result if isinstance(result, list) else [result]


def _place(layer: Layer) -> str:
    """Return the layer and its operands' shapes, in the model's axis order."""
    shapes = ["x".join(map(str, x.shape)) for x in tensors_in([layer.args, dict(layer.kwargs)])]
    return f"{layer.described}, inputs {', '.join(shapes)}" if shapes else layer.described


def _layer(layer: Layer) -> Tensor | list[Tensor]:
    spec, kwargs = layer.spec, layer.kwargs
    inputs = tensors_in([layer.args, {k: v for k, v in kwargs.items() if k != "mask"}])
    definition = _definition(layer, spec.registered_name, spec.class_name)
    if definition is not None:
        arguments = layer.config.get("arguments", default={})
        extra = arguments if isinstance(arguments, dict) else {}
        return layer.defined(definition, inputs, {**spec.config, **extra, **kwargs})
    if spec.class_name in LAYERS:
        check_call(layer)
        policy = layer.config.get("dtype")
        if isinstance(policy, dict) and policy.get("class_name") not in _POLICIES:
            layer.config.unsupported("dtype", policy.get("class_name"), "DTypePolicy")
        inputs = masked(layer, inputs)
        return handed_on(layer, inputs, layer.compute(*inputs))
    if spec.class_name in BUILT_IN and spec.class_name != "Lambda":
        raise ShadergenError(
            "SG0201",
            f"layer class {spec.class_name} is not implemented",
            where=layer.described,
            why=_NO_FORMULA if _has_weights(layer) else "",
            supported=", ".join(sorted(LAYERS)),
            help=_LEAVE_WEIGHTS
            if _has_weights(layer)
            else "define the layer with --define FILE, if formulas and operators can express it; "
            "see docs/expressions.md",
        )
    raise _undefined(layer, len(inputs))


def _has_weights(layer: Layer) -> bool:
    """Whether the file has weights for the layer: a formula could not read them."""
    return bool(layer.around.weights.find(layer.chain))


def _undefined(layer: Layer, inputs: int) -> ShadergenError:
    """Return the error for a Lambda or custom layer without a definition."""
    is_lambda = layer.spec.class_name == "Lambda"
    near = "" if is_lambda else did_you_mean(layer.spec.class_name, LAYERS)
    name = layer.name if is_lambda else layer.spec.class_name.split(">")[-1]
    example = layer.example(name, inputs)
    define = f"write a definition into FILE and pass --define FILE; for example: {example}"
    why = (
        "the Python code of a Lambda layer is never loaded from a model file"
        if is_lambda
        else f"'{layer.spec.class_name}' is not a layer of Keras"
    )
    if not is_lambda and _has_weights(layer):
        why, define = f"{why}\n{_NO_FORMULA}", _LEAVE_WEIGHTS
    return ShadergenError(
        "SG0203",
        f"{'Lambda' if is_lambda else 'custom'} layer '{layer.name}' has no definition",
        where=layer.described,
        why=why,
        help="\n".join(filter(None, (near, define))),
    )


def masked(layer: Layer, inputs: list[Tensor]) -> list[Tensor]:
    """Give the inputs the masks that the call names, one or a list of them."""
    given = layer.kwargs.get("mask")
    masks = given if isinstance(given, list) else [given]
    result = list(inputs)
    for k, mask in enumerate(masks[: len(inputs)]):
        if isinstance(mask, Tensor):
            result[k] = replace(inputs[k], mask=mask)
    return result


def _operation(layer: Layer) -> Tensor | list[Tensor]:
    spec, args, kwargs = layer.spec, layer.args, layer.kwargs
    if spec.class_name in _LAMBDA_OPERATIONS:
        symbol = layer.config.text("function", default=spec.class_name)
        name, shown = of_tensorflow(symbol), f"tf.{symbol.removeprefix('tf.')}"
        config: dict[str, Any] = {}
        known = tensorflow_symbols()
    else:
        name, shown = of_keras(spec.class_name, OPERATIONS), f"keras.ops {spec.class_name}"
        config = {k: _decoded(v) for k, v in spec.config.items()}
        known = sorted(OPERATIONS)
    definition = _definition(layer, spec.class_name, shown)
    if definition is not None:
        return layer.defined(definition, tensors_in([args, kwargs]), {**config, **kwargs})
    if name is not None:
        where = f"layer '{layer.name}' ({shown})"
        try:
            return _operated(layer, name, Arguments(where, args, {**config, **kwargs}))
        except ShadergenError as error:
            raise error if error.where else error.at(where) from None
    short = shown.split(".")[-1].split(" ")[-1]
    raise ShadergenError(
        "SG0201",
        f"operation {shown} is not implemented",
        where=layer.described,
        supported=", ".join(known),
        help=did_you_mean(short, known)
        or "define the operation with --define FILE, if formulas and operators can express it; "
        "see docs/expressions.md",
    )


def _operated(layer: Layer, name: str, arguments: Arguments) -> Tensor | list[Tensor]:
    """Apply the operation and refuse arguments that it did not look at.

    What is computed from shapes and other known numbers alone is known too.
    """
    result = OPERATIONS[name](layer, arguments)
    arguments.finish()
    operands = tensors_in([arguments.args, arguments.kwargs])
    if not operands or not all(isinstance(x.value, Constant) for x in operands):
        return result
    return [_known(x) for x in result] if isinstance(result, list) else _known(result)


def _known(x: Tensor) -> Tensor:
    return replace(x, value=fold_value(x.value))


def _decoded(value: Any) -> Any:
    """Unwrap what Keras 3 wraps in an operation's configuration."""
    if isinstance(value, dict) and value.get("class_name") == "__tuple__":
        return value.get("items")
    return value


def _definition(layer: Layer, *names: str) -> Any:
    plain = layer.spec.class_name.split(">")[-1]
    return find(layer.definitions, layer.name, layer.spec.name, *names, plain)


def check_call(layer: Layer) -> None:
    """Refuse call arguments that change the result but have no handler."""
    read = CALL_ARGUMENTS.get(layer.spec.class_name, ())
    for key, value in layer.kwargs.items():
        if key in read:
            continue
        if tensors_in(value):
            if key != "mask" and layer.args:  # without positions, operands are named
                layer.config.refuse(
                    f"a tensor as argument {key}",
                    f"tensors as {', '.join(read) or 'operands, mask'}",
                )
            continue
        value = truth(value) if key == "training" and value is not None else value
        if value is True and key == "training" and layer.version[0] >= 3:
            continue  # a default that was recorded; how the model is called wins over it
        if key == "mask" and isinstance(value, list) and not any(value):
            continue  # one None for each input of a nested model
        if not any(value is v for v in _INFERENCE.get(key, (None,))):
            layer.config.unsupported(key, value)
