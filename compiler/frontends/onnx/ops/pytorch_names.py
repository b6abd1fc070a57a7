"""PyTorch's modules and functions: which ONNX operators its exporters write for each.

For finding an operator by the name that PyTorch has for it (``shadergen ops``); nothing is compiled
by this table. Names are those of ``torch.nn``, ``torch.nn.functional`` and ``torch``; one that
differs in case and underscores alone is not repeated: "PixelShuffle" is ``pixel_shuffle`` too.

Source: ``torch.onnx.export`` of PyTorch 2.13, by ``dynamo=True``; older exporters differ in detail.
"""

from __future__ import annotations

# Names, separated by commas: the operators, separated by commas, and a remark.
PYTORCH: dict[str, tuple[str, str]] = {
    # Convolutions and dense layers.
    "Conv1d, Conv2d, Conv3d": ("Conv", ""),
    "ConvTranspose1d, ConvTranspose2d, ConvTranspose3d": ("ConvTranspose", ""),
    "Linear": ("Gemm, MatMul, Add", "Gemm for two dimensions, MatMul and Add for more"),
    "Embedding": ("Gather", ""),
    "unfold": ("Pad, Gather, Transpose, Reshape", "im2col"),
    "fold": ("Col2Im", "col2im"),
    "matmul, bmm, mm": ("MatMul", ""),
    "einsum": ("Einsum", ""),
    "fft, fft2, ifft, ifft2, rfft, rfft2, irfft, irfft2": ("DFT", "two reals for a complex number"),
    # Pooling.
    "MaxPool1d, MaxPool2d, MaxPool3d": ("MaxPool", ""),
    "AvgPool1d, AvgPool2d, AvgPool3d": ("AveragePool", ""),
    "LPPool1d, LPPool2d": ("Pow, AveragePool, Mul", ""),
    "AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d": (
        "ReduceMean, GlobalAveragePool, AveragePool",
        "AveragePool where the output size divides the input's",
    ),
    "AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d": (
        "ReduceMax, MaxPool",
        "MaxPool where the output size divides the input's",
    ),
    # Resampling and moving elements.
    "PixelShuffle": ("DepthToSpace", "mode CRD"),
    "PixelUnshuffle": ("Reshape, Transpose", ""),
    "ChannelShuffle": ("Reshape, Transpose", ""),
    "Upsample, interpolate": ("Resize", "mode nearest by default"),
    'UpsamplingNearest2d, interpolate(mode="nearest")': ("Resize", "mode nearest, asymmetric"),
    'interpolate(mode="bilinear"), UpsamplingBilinear2d, upsample_bilinear2d': (
        "Resize",
        "mode linear",
    ),
    'interpolate(mode="trilinear")': ("Resize", "mode linear"),
    'interpolate(mode="bicubic"), upsample_bicubic2d': (
        "Resize",
        "mode cubic, cubic_coeff_a -0.75",
    ),
    'interpolate(mode="area")': ("AveragePool", "where the output size divides the input's"),
    "grid_sample": ("GridSample", ""),
    "affine_grid": ("AffineGrid, Mul, ReduceSum", ""),
    "ZeroPad1d, ZeroPad2d, ZeroPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, pad": (
        "Pad",
        "mode constant",
    ),
    "ReflectionPad1d, ReflectionPad2d, ReflectionPad3d": ("Pad", "mode reflect"),
    "ReplicationPad1d, ReplicationPad2d, ReplicationPad3d": ("Pad", "mode edge"),
    "CircularPad1d, CircularPad2d, CircularPad3d": ("Pad", "mode wrap"),
    "Flatten": ("Reshape, Flatten", ""),
    "Unflatten, view": ("Reshape", ""),
    "permute": ("Transpose", ""),
    "cat": ("Concat", ""),
    "topk": ("TopK", ""),
    "masked_fill": ("Where", ""),
    "repeat_interleave": ("Unsqueeze, Expand, Reshape", ""),
    "stack": ("Unsqueeze, Concat", ""),
    "chunk": ("Split", ""),
    "roll": ("Slice, Concat", ""),
    "flip": ("Slice", "with a step of -1"),
    # Activations.
    "ReLU": ("Relu", ""),
    "ReLU6, Hardtanh, clamp": ("Clip", ""),
    "LeakyReLU": ("LeakyRelu", ""),
    "PReLU": ("PRelu", ""),
    "ELU": ("Elu", ""),
    "SELU": ("Selu", ""),
    "CELU": ("Celu", ""),
    "GELU": ("Gelu", "the argument 'approximate' becomes an attribute"),
    "SiLU, Swish": ("Sigmoid, Mul", "PyTorch's SiLU is elsewhere called Swish"),
    "Mish": ("Mish, Softplus, Tanh, Mul", "Mish from operator set 18 on"),
    "Hardswish": ("HardSwish", ""),
    "Hardsigmoid": ("HardSigmoid", "alpha 1/6"),
    "Sigmoid": ("Sigmoid", ""),
    "LogSigmoid": ("Sigmoid, Log", ""),
    "Tanh": ("Tanh", ""),
    "Tanhshrink": ("Tanh, Sub", ""),
    "Hardshrink": ("Abs, LessOrEqual, Where", ""),
    "Softshrink": ("Abs, Sign, Sub, Mul, Where", ""),
    "Softplus": ("Softplus, Greater, Where", ""),
    "Softsign": ("Abs, Add, Div", ""),
    "GLU": ("Split, Sigmoid, Mul", ""),
    "Softmax, Softmax2d": ("Softmax", ""),
    "Softmin": ("Neg, Softmax", ""),
    "LogSoftmax": ("LogSoftmax", ""),
    # Normalisation.
    "BatchNorm1d, BatchNorm2d, BatchNorm3d": (
        "BatchNormalization",
        "or part of the Conv before it",
    ),
    "InstanceNorm1d, InstanceNorm2d, InstanceNorm3d": ("InstanceNormalization", ""),
    "GroupNorm": ("Reshape, InstanceNormalization, Mul, Add", ""),
    "LayerNorm": ("LayerNormalization", ""),
    "RMSNorm": ("Pow, ReduceMean, Add, Sqrt, Reciprocal, Mul", ""),
    "cosine_similarity": ("ReduceL2, Clip, Div, Mul, ReduceSum", ""),
    "LocalResponseNorm": ("Pad, AveragePool, Pow, Div", ""),
    "normalize": ("ReduceL2, Clip, Expand, Div", ""),
    "Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout": ("Dropout", "or nothing"),
    # Sequences.
    "LSTM": ("LSTM, Transpose, Reshape", ""),
    "GRU": ("GRU, Transpose, Reshape", ""),
    "RNN": ("RNN, MatMul, Tanh", "steps unrolled by the newest exporter"),
    "MultiheadAttention": ("MatMul, Softmax, Gemm", ""),
    "scaled_dot_product_attention": ("MatMul, Softmax", "Attention from operator set 23 on"),
}
