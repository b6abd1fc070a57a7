"""The layers that Keras itself has, implemented or not: any other class is the user's own."""

from __future__ import annotations

_IN_ANY_RANK = (
    *("AveragePooling", "Conv", "Cropping", "GlobalAveragePooling", "GlobalMaxPooling"),
    *("MaxPooling", "UpSampling", "ZeroPadding"),
)

_NAMES = (
    *("Activation", "ActivityRegularization", "AdaptiveAveragePooling1D"),
    *("AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D", "AdaptiveMaxPooling1D"),
    *("AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D", "Add", "AdditiveAttention"),
    *("AlphaDropout", "AtrousConvolution2D", "Attention", "AugMix", "AutoContrast", "Average"),
    *("BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2", "Bidirectional"),
    *("CategoryEncoding", "CenterCrop", "Concatenate", "Conv1DTranspose", "Conv2DTranspose"),
    *("Conv3DTranspose", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "Convolution1D"),
    *("Convolution2D", "Convolution2DTranspose", "Convolution3D", "CuDNNGRU", "CuDNNLSTM"),
    *("CutMix", "Dense", "DenseFeatures", "DepthwiseConv1D", "DepthwiseConv2D"),
    *("Discretization", "Dot", "Dropout", "ELU", "EinsumDense", "Embedding", "Equalization"),
    *("Flatten", "FlaxLayer", "GRU", "GRUCell", "GRUV1", "GaussianDropout", "GaussianNoise"),
    *("GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D"),
    *("GlobalMaxPool2D", "GlobalMaxPool3D", "AvgPool1D", "AvgPool2D", "AvgPool3D", "MaxPool1D"),
    *("MaxPool2D", "MaxPool3D", "GroupNormalization", "GroupQueryAttention"),
    *("GroupedQueryAttention", "HashedCrossing", "Hashing", "Identity", "InputLayer"),
    *("IntegerLookup", "JaxLayer", "LSTM", "LSTMCell", "LSTMV1", "Lambda", "Layer"),
    *("LayerNormalization", "LeakyReLU", "LocallyConnected1D", "LocallyConnected2D", "Masking"),
    *("MaxNumBoundingBoxes", "Maximum", "MelSpectrogram", "Minimum", "MixUp"),
    *("MultiHeadAttention", "Multiply", "Normalization", "PReLU", "Permute", "Pipeline"),
    *("RMSNormalization", "RNN", "RandAugment", "RandomBrightness", "RandomColorDegeneration"),
    *("RandomColorJitter", "RandomContrast", "RandomCrop", "RandomElasticTransform"),
    *("RandomErasing", "RandomFlip", "RandomFourierFeatures", "RandomGaussianBlur"),
    *("RandomGrayscale", "RandomHeight", "RandomHue", "RandomInvert", "RandomPerspective"),
    *("RandomPosterization", "RandomRotation", "RandomSaturation", "RandomSharpness"),
    *("RandomShear", "RandomTranslation", "RandomWidth", "RandomZoom", "ReLU", "RepeatVector"),
    *("Rescaling", "Reshape", "Resizing", "ReversibleEmbedding", "STFTSpectrogram"),
    *("SeparableConv1D", "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D"),
    *("SimpleRNN", "SimpleRNNCell", "Softmax", "Solarization", "SpatialDropout1D"),
    *("SpatialDropout2D", "SpatialDropout3D", "SpectralNormalization", "StackedRNNCells"),
    *("StringLookup", "Subtract", "TFSMLayer", "TensorFlowOpLayer", "TextVectorization"),
    *("ThresholdedReLU", "TimeDistributed", "TorchModuleWrapper", "UnitNormalization"),
    "Wrapper",
)

BUILT_IN = frozenset(_NAMES) | {f"{name}{rank}D" for name in _IN_ANY_RANK for rank in (1, 2, 3)}
