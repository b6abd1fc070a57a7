"""Dense layers, sums of products by equation, and embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.ops import Conv, Einsum, Gather, MatMul
from .....records import replace
from ..read.config import truth
from ..tensors import Tensor, of_model, own_order, pointwise
from .common import one
from .convolution import outputs_first
from .named_activations import activate

if TYPE_CHECKING:
    from .....ir.graph import Constant, Value
    from .layer import Layer


def dense(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Multiply the last axis by a matrix; for the channels of an image, a 1x1 convolution."""
    x = one(layer, inputs)
    if x.rank < 2:
        raise ShadergenError(
            "SG0205", f"the layer takes rank 2 or more, not {x.rank}", where=layer.described
        )
    size, units = x.shape[-1], layer.config.integer("units")
    shapes = {"kernel": (size, units)}
    bias = {"bias": (units,)} if layer.config.flag("use_bias", True) else {}
    if x.rank == 4 and x.axes == (0, 2, 3, 1):
        w = layer.constants(
            {**shapes, **bias},
            lambda w: w | {"kernel": outputs_first(w["kernel"].reshape(1, 1, size, units))},
        )
        return activate(layer, Tensor(layer.apply(Conv(), x.value, *w.values()), x.axes))
    w = layer.constants({**shapes, **bias})
    y = of_model(layer.apply(MatMul(), own_order(x, layer.name), w["kernel"]))
    if bias:
        y = pointwise("x0 + x1", [y, of_model(w["bias"])], layer.name)
    return activate(layer, y)


def einsum_dense(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Multiply by a kernel and add up as ``equation`` says; add a bias along ``bias_axes``."""
    x = one(layer, inputs)
    config = layer.config
    equation = config.text("equation").replace(" ", "")
    operand, comma, rest = equation.partition(",")
    kernel, arrow, result = rest.partition("->")
    sizes = _label_sizes(layer, x, operand, result)
    if not comma or not arrow or not set(kernel) <= set(sizes):
        config.malformed(
            "equation", "'input,kernel->output', each kernel letter also in input or output"
        )
    shapes = {"kernel": tuple(sizes[letter] for letter in kernel)}
    bias_axes = config.get("bias_axes")
    if bias_axes:
        axes = config.text("bias_axes")
        if not set(axes) <= set(result.replace(".", "")):
            config.malformed("bias_axes", f"letters of '{result}'")
        letters = result.replace("...", "")
        first = min(letters.index(a) for a in axes)
        if "..." in result[result.index(letters[first]) :]:
            config.unsupported("equation", equation, "'...' only to the left of the bias axes")
        shapes["bias"] = tuple(sizes[n] if n in axes else 1 for n in letters[first:])
    w = layer.constants(shapes)
    y = of_model(layer.apply(Einsum(equation), own_order(x, layer.name), w["kernel"]))
    if "bias" in w:
        y = pointwise("x0 + x1", [y, of_model(w["bias"])], layer.name)
    return activate(layer, y)


def _label_sizes(layer: Layer, x: Tensor, operand: str, result: str) -> dict[str, int]:
    """Return the size of every letter of the input and of the result."""
    config = layer.config
    asked = config.value("output_shape")
    out = list(asked) if isinstance(asked, (list, tuple)) else [asked]
    sizes: dict[str, int] = {}
    for labels, shape in ((result, [None, *out]), (operand, list(x.shape))):
        before, dots, after = labels.partition("...")
        if len(before) + len(after) > len(shape) or (not dots and len(labels) != len(shape)):
            config.malformed(
                "equation",
                f"an equation that fits both the input's shape {list(x.shape)} and output_shape",
            )
        found = [*zip(before, shape, strict=False)]
        found += zip(reversed(after), reversed(shape), strict=False)
        sizes |= {letter: size for letter, size in found if isinstance(size, int)}
    return sizes


def indices(layer: Layer, x: Tensor) -> Tensor:
    """Return whole numbers: floats lose their fraction."""
    return x if x.dtype != "float32" else pointwise("trunc(x0)", [x], layer.name, "int32")


def embedding(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Look up a vector for each index; with ``mask_zero``, index 0 does not count."""
    x = one(layer, inputs)
    y = _looked_up(layer, x, _tables(layer)["embeddings"])
    if not layer.config.flag("mask_zero", False):
        return y
    return replace(y, mask=pointwise("ne(x0, 0)", [x], layer.name, "bool"))


def _looked_up(layer: Layer, x: Tensor, table: Value) -> Tensor:
    at = own_order(indices(layer, x), layer.name)
    return of_model(layer.apply(Gather(0), table, at))


def _tables(layer: Layer, *others: str) -> dict[str, Constant]:
    config = layer.config
    if config.get("quantization_config") is not None:
        config.refuse("quantization_config")
    shape = (config.integer("input_dim"), config.integer("output_dim"))
    return layer.constants({"embeddings": shape, **dict.fromkeys(others, shape[::-1])})


def reversible_embedding(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Look up vectors or, called with reverse=True, compare with all of them."""
    config = layer.config
    x = one(layer, inputs)
    tied = config.flag("tie_weights", True)
    w = _tables(layer, *(() if tied else ("reverse_embeddings",)))
    reverse = truth(layer.kwargs.get("reverse", len(layer.args) > 1 and layer.args[1]))
    if reverse is None:
        config.malformed("reverse", "true or false, or 1 or 0")
    if not reverse:
        y = _looked_up(layer, x, w["embeddings"])
        if not config.flag("mask_zero", False):
            return y
        return replace(y, mask=pointwise("ne(x0, 0)", [x], layer.name, "bool"))
    table = w["embeddings"] if tied else w["reverse_embeddings"]
    equation = "...d,vd->...v" if tied else "...d,dv->...v"
    y = of_model(layer.apply(Einsum(equation), own_order(x, layer.name), table))
    if config.get("logit_soft_cap") is None:
        return y
    return pointwise("tanh(x0 / x1) * x1", [y, config.number("logit_soft_cap")], layer.name)
