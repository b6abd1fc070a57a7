"""All operators of the IR. A new operator needs a class in one of these modules, and a test.

Operators that exist only for kernels are in ``passes.kernel_ops``.
"""

from __future__ import annotations

from .attention import Attention
from .base import OPS, Op
from .binary import BinaryConv, BinaryDense
from .columns import Col2Im, WindowsToChannels
from .conv_lstm import ConvLSTM
from .convolution import Conv
from .deformable import DeformColumns, DeformConv
from .fourier import DFT, Frames, Spectrum
from .linear_algebra import Det, Einsum, MatMul
from .local_normalization import (
    LRN,
    LocalContrastNormalization,
    LocalVariance,
    SpatialNormalization,
)
from .movement import (
    Concat,
    DepthToSpace,
    Movement,
    Pad,
    Rearrange,
    Reshape,
    ResizeNearest,
    Slice,
    Transpose,
)
from .normalization import (
    BatchNormalization,
    GroupMean,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    LpNormalization,
    MeanVarianceNormalization,
    RMSNormalization,
)
from .online_statistics import OnlineStatistics
from .ordering import ArgMax, ArgMin, Sorted, SortOrder
from .pointwise import Pointwise
from .pooling import AdaptivePool, Pool
from .range import Range
from .recurrence import GRU, LSTM, RNN
from .recurrent_cell import GatedFormula, RecurrentCell, RecurrentGates, ResetProduct, StackStates
from .reduction import PartialReduce, Reduce
from .resampling import Resample, ResizeLinear
from .roi_align import RoiAlign
from .rotary_embedding import RotaryEmbedding
from .sampling import AffineGrid, GridSample
from .scan import CumProd, CumSum
from .scattering import (
    ScatterElements,
    ScatterND,
    TensorScatter,
)
from .selection import (
    Expand,
    Gather,
    GatherElements,
    GatherND,
    OneHot,
    ReverseSequence,
    Tile,
    Trilu,
)
from .softmax import Hardmax, LogSoftmax, Softmax
from .transposed_convolution import ConvTranspose
from .unpooling import MaxPoolIndices, MaxUnpool

__all__ = [
    "DFT",
    "GRU",
    "LRN",
    "LSTM",
    "OPS",
    "RNN",
    "AdaptivePool",
    "AffineGrid",
    "ArgMax",
    "ArgMin",
    "Attention",
    "BatchNormalization",
    "BinaryConv",
    "BinaryDense",
    "Col2Im",
    "Concat",
    "Conv",
    "ConvLSTM",
    "ConvTranspose",
    "CumProd",
    "CumSum",
    "DeformColumns",
    "DeformConv",
    "DepthToSpace",
    "Det",
    "Einsum",
    "Expand",
    "Frames",
    "GatedFormula",
    "Gather",
    "GatherElements",
    "GatherND",
    "GridSample",
    "GroupMean",
    "GroupNormalization",
    "Hardmax",
    "InstanceNormalization",
    "LayerNormalization",
    "LocalContrastNormalization",
    "LocalVariance",
    "LogSoftmax",
    "LpNormalization",
    "MatMul",
    "MaxPoolIndices",
    "MaxUnpool",
    "MeanVarianceNormalization",
    "Movement",
    "OneHot",
    "OnlineStatistics",
    "Op",
    "Pad",
    "PartialReduce",
    "Pointwise",
    "Pool",
    "RMSNormalization",
    "Range",
    "Rearrange",
    "RecurrentCell",
    "RecurrentGates",
    "Reduce",
    "Resample",
    "ResetProduct",
    "Reshape",
    "ResizeLinear",
    "ResizeNearest",
    "ReverseSequence",
    "RoiAlign",
    "RotaryEmbedding",
    "ScatterElements",
    "ScatterND",
    "Slice",
    "Softmax",
    "SortOrder",
    "Sorted",
    "SpatialNormalization",
    "Spectrum",
    "StackStates",
    "TensorScatter",
    "Tile",
    "Transpose",
    "Trilu",
    "WindowsToChannels",
]
