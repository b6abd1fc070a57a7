"""The table of implemented operators.

What an operator's handler does not read of a node is refused, so a new attribute never changes a
result silently. ``folding`` has further operators, for tensors known at compile time only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....ir import integers
from .....ir.ops import ArgMax, ArgMin, CumProd, CumSum, Hardmax, LogSoftmax, Softmax
from ..read.graph_body import TRAINING
from .activation import ACTIVATIONS, activation
from .attention import rotary_embedding
from .casts import bit_cast, cast, cast_like, compared, of_any_type
from .control_flow import CONTROL
from .convolution import causal_conv_with_state, col2im, conv, conv_transpose, deform_conv
from .elementwise import (
    arithmetic,
    binary,
    bit_shift,
    bitwise,
    bitwise_not,
    clip,
    comparison,
    formula,
    gelu,
    is_inf,
    is_nan,
    logical,
    mod,
    power,
    prelu,
    variadic,
    where,
)
from .fourier import dft, mel_weight_matrix, stft
from .gradient.operator import gradient
from .linear_algebra import det, einsum, gemm, matmul
from .losses import negative_log_likelihood, softmax_cross_entropy
from .machine_learning import binarizer, scaler
from .microsoft import MICROSOFT
from .movement import (
    concat,
    constant,
    depth_to_space,
    dropout,
    expand,
    flatten,
    identity,
    reshape,
    shape,
    size,
    slice_,
    space_to_depth,
    split,
    squeeze,
    tile,
    transpose,
    unsqueeze,
)
from .normalization import (
    batch_normalization,
    group_normalization,
    instance_normalization,
    layer_normalization,
    lp_normalization,
    lrn,
    mean_variance_normalization,
    rms_normalization,
    simplified_layer_normalization,
)
from .padding import center_crop_pad, pad
from .pooling import average_pool, global_pool, lp_pool, max_pool, max_unpool
from .qonnx import QONNX
from .quantization import (
    conv_integer,
    dequantize_linear,
    matmul_integer,
    qlinear_conv,
    qlinear_matmul,
    quantize_linear,
)
from .recurrence import recurrence
from .reduction import over_axis, position, reduce, running, top_k
from .resize import resize
from .retired import RETIRED
from .sampling import affine_grid, grid_sample, roi_align
from .selection import (
    array_feature_extractor,
    compress,
    eye_like,
    gather,
    gather_elements,
    gather_nd,
    one_hot,
    reverse_sequence,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
    trilu,
)
from .sequences import SEQUENCES
from .strings import string_normalizer

if TYPE_CHECKING:
    from .elementwise import Handler

# Hyperbolic functions: exponentials see x - log(2), so that halving cannot overflow first.
SINH = "exp(x0 - 0.6931471805599453) - exp(-x0 - 0.6931471805599453)"
COSH = "exp(x0 - 0.6931471805599453) + exp(-x0 - 0.6931471805599453)"

OPERATORS: dict[str, Handler] = {
    "Abs": arithmetic("abs(x0)"),
    "Acos": formula("acos(x0)"),
    "Acosh": formula("log1p(x0 - 1 + sqrt((x0 - 1) * (x0 + 1)))"),
    "Add": arithmetic("x0 + x1"),
    "AffineGrid": affine_grid,
    "And": logical("x0 * x1"),
    "ArgMax": position(ArgMax),
    "ArgMin": position(ArgMin),
    "Asin": formula("asin(x0)"),
    "Asinh": formula("asinh(x0)"),
    "Atan": formula("atan(x0)"),
    "Atanh": formula("0.5 * log1p(2 * x0 / (1 - x0))"),
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "BitCast": bit_cast,
    "BitShift": bit_shift,
    "BitwiseAnd": bitwise("bit_and"),
    "BitwiseNot": bitwise_not,
    "BitwiseOr": bitwise("bit_or"),
    "BitwiseXor": bitwise("bit_xor"),
    "Cast": cast,
    "CastLike": cast_like,
    "CausalConvWithState": causal_conv_with_state,
    "Ceil": formula("ceil(x0)"),
    "Celu": activation("Celu"),
    "CenterCropPad": center_crop_pad,
    "Clip": clip,
    "Col2Im": col2im,
    "Compress": compress,
    "Concat": of_any_type(concat, slice(None)),
    "Constant": constant,
    "Conv": conv,
    "ConvInteger": conv_integer,
    "ConvTranspose": conv_transpose,
    "Cos": formula("cos(x0)"),
    "Cosh": formula(COSH),
    "CumProd": running(CumProd),
    "CumSum": running(CumSum),
    "DFT": dft,
    "DeformConv": deform_conv,
    "DepthToSpace": depth_to_space,
    "DequantizeLinear": dequantize_linear,
    "Det": det,
    "Div": binary("x0 / x1", integers.integer_quotient),
    "Dropout": dropout,
    "Einsum": einsum,
    "Elu": activation("Elu"),
    "Equal": compared(comparison("x0 == x1")),
    "Erf": formula("erf(x0)"),
    "Exp": formula("exp(x0)"),
    "Expand": of_any_type(expand),
    "EyeLike": eye_like,
    "Flatten": of_any_type(flatten),
    "Floor": formula("floor(x0)"),
    "GRU": recurrence,
    "Gather": of_any_type(gather),
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Gelu": gelu,
    "Gemm": gemm,
    "GlobalAveragePool": global_pool("average"),
    "GlobalLpPool": global_pool("lp"),
    "GlobalMaxPool": global_pool("max"),
    "Greater": comparison("x0 > x1"),
    "GreaterOrEqual": comparison("x0 >= x1"),
    "GridSample": grid_sample,
    "GroupNormalization": group_normalization,
    "HardSigmoid": activation("HardSigmoid"),
    "HardSwish": activation("HardSwish"),
    "Hardmax": over_axis(Hardmax),
    "Identity": identity,
    "InstanceNormalization": instance_normalization,
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "LRN": lrn,
    "LSTM": recurrence,
    "LayerNormalization": layer_normalization,
    "LeakyRelu": activation("LeakyRelu"),
    "Less": comparison("x0 < x1"),
    "LessOrEqual": comparison("x0 <= x1"),
    "Log": formula("log(x0)"),
    "LogSoftmax": over_axis(LogSoftmax),
    "LpNormalization": lp_normalization,
    "LpPool": lp_pool,
    "MatMul": matmul,
    "MatMulInteger": matmul_integer,
    "Max": variadic("max"),
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
    "Mean": variadic("add", mean=True),
    "MeanVarianceNormalization": mean_variance_normalization,
    "MelWeightMatrix": mel_weight_matrix,
    "Min": variadic("min"),
    "Mish": activation("Mish"),
    "Mod": mod,
    "Mul": binary("x0 * x1", integers.product),
    "Neg": arithmetic("-x0"),
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "Not": logical("not(x0)"),
    "OneHot": one_hot,
    "Or": logical("max(x0, x1)"),
    "PRelu": prelu,
    "Pad": pad,
    "Pow": power,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize_linear,
    "RMSNormalization": rms_normalization,
    "RNN": recurrence,
    "Reciprocal": formula("1 / x0"),
    "ReduceL1": reduce("l1"),
    "ReduceL2": reduce("l2"),
    "ReduceLogSum": reduce("log_sum"),
    "ReduceLogSumExp": reduce("log_sum_exp"),
    "ReduceMax": reduce("max"),
    "ReduceMean": reduce("mean"),
    "ReduceMin": reduce("min"),
    "ReduceProd": reduce("prod"),
    "ReduceSum": reduce("sum"),
    "ReduceSumSquare": reduce("sum_square"),
    "Relu": arithmetic(ACTIVATIONS["Relu"].formula),
    "Reshape": of_any_type(reshape),
    "Resize": resize,
    "ReverseSequence": reverse_sequence,
    "RoiAlign": roi_align,
    "RotaryEmbedding": rotary_embedding,
    "Round": formula("round_even(x0)"),
    "STFT": stft,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Selu": activation("Selu"),
    "Shape": shape,
    "Shrink": activation("Shrink"),
    "Sigmoid": activation("Sigmoid"),
    "Sign": arithmetic("sign(x0)"),
    "SimplifiedLayerNormalization": simplified_layer_normalization,
    "Sin": formula("sin(x0)"),
    "Sinh": formula(SINH),
    "Size": size,
    "Slice": of_any_type(slice_),
    "Softmax": over_axis(Softmax),
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    "Softplus": activation("Softplus"),
    "Softsign": activation("Softsign"),
    "SpaceToDepth": space_to_depth,
    "Split": of_any_type(split),
    "Sqrt": formula("sqrt(x0)"),
    "Squeeze": of_any_type(squeeze),
    "StringNormalizer": string_normalizer,
    "Sub": arithmetic("x0 - x1"),
    "Sum": variadic("add"),
    "SwiGLU": formula("swish(x0, alpha) * x1", alpha=1.0),
    "Swish": activation("Swish"),
    "Tan": formula("tan(x0)"),
    "Tanh": activation("Tanh"),
    "TensorScatter": tensor_scatter,
    "ThresholdedRelu": activation("ThresholdedRelu"),
    "Tile": of_any_type(tile),
    "TopK": top_k,
    "Transpose": of_any_type(transpose),
    "Trilu": trilu,
    "Unsqueeze": of_any_type(unsqueeze),
    "Upsample": resize,
    "Where": of_any_type(where, slice(1, 3)),
    "Xor": logical("abs(x0 - x1)"),
}

MACHINE_LEARNING: dict[str, Handler] = {
    "ArrayFeatureExtractor": array_feature_extractor,
    "Binarizer": binarizer,
    "Scaler": scaler,
}

# The domains whose operators are implemented; "" is ai.onnx.
DOMAINS: dict[str, dict[str, Handler]] = {
    "": {**OPERATORS, **CONTROL, **SEQUENCES, **RETIRED},
    "ai.onnx.ml": MACHINE_LEARNING,
    "com.microsoft": MICROSOFT,
    **dict.fromkeys(("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general"), QONNX),
    TRAINING: {"Gradient": gradient},
}

# Operators whose results have a shape that depends on data.
DATA_DEPENDENT: dict[str, str] = {
    "ConstantOfShape": "the shape of the result is an operand",
    "NonMaxSuppression": "the number of boxes depends on their scores",
    "NonZero": "the number of nonzero elements depends on the data",
    "Range": "the length depends on the operands",
    "Unique": "the number of distinct elements depends on the data",
}
