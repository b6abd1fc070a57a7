"""Every operator of the IR. Adding one means: its class, this table, its lowering, its test."""

from __future__ import annotations

from .attention import Attention
from .base import Op
from .binary import BinaryConv, BinaryDense
from .columns import Col2Im, WindowsToChannels
from .conv_lstm import ConvLSTM
from .convolution import Conv
from .deformable import DeformColumns, DeformConv
from .fourier import DFT, Frames, Spectrum
from .fused import Fused, Parts, apart, assemble, parts
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
from .ordering import ArgMax, ArgMin, Sorted, SortOrder
from .pair_reduction import PairReduce
from .pointwise import Pointwise
from .pooling import AdaptivePool, Pool
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
from .viewed import Viewed

OPS: dict[str, type[Op]] = {
    op.__name__: op
    for op in (
        AdaptivePool,
        AffineGrid,
        ArgMax,
        ArgMin,
        Attention,
        BatchNormalization,
        BinaryConv,
        BinaryDense,
        Col2Im,
        Concat,
        Conv,
        ConvLSTM,
        ConvTranspose,
        CumProd,
        CumSum,
        DFT,
        DeformColumns,
        DeformConv,
        DepthToSpace,
        Det,
        Einsum,
        Expand,
        Frames,
        Fused,
        GRU,
        GatedFormula,
        Gather,
        GatherElements,
        GatherND,
        GridSample,
        GroupMean,
        GroupNormalization,
        Hardmax,
        InstanceNormalization,
        LRN,
        LSTM,
        LayerNormalization,
        LocalContrastNormalization,
        LocalVariance,
        LogSoftmax,
        LpNormalization,
        MatMul,
        MaxPoolIndices,
        MaxUnpool,
        MeanVarianceNormalization,
        OneHot,
        Pad,
        PairReduce,
        PartialReduce,
        Pointwise,
        Pool,
        RMSNormalization,
        RNN,
        Rearrange,
        RecurrentCell,
        RecurrentGates,
        Reduce,
        Resample,
        ResetProduct,
        Reshape,
        ResizeLinear,
        ResizeNearest,
        ReverseSequence,
        RoiAlign,
        RotaryEmbedding,
        ScatterElements,
        ScatterND,
        Slice,
        Softmax,
        SortOrder,
        Sorted,
        SpatialNormalization,
        Spectrum,
        StackStates,
        TensorScatter,
        Tile,
        Transpose,
        Trilu,
        Viewed,
        WindowsToChannels,
    )
}

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
    "Fused",
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
    "Op",
    "Pad",
    "PairReduce",
    "PartialReduce",
    "Parts",
    "Pointwise",
    "Pool",
    "RMSNormalization",
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
    "Viewed",
    "WindowsToChannels",
    "apart",
    "assemble",
    "parts",
]
