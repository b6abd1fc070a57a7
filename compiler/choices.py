"""The allowed values of options. It imports nothing, so that ``--help`` stays quick."""

from __future__ import annotations

PRECISIONS = {
    "highp": "highp",
    "mediump": "mediump",
    "fp32": "highp",
    "fp16": "mediump",
    "auto": "auto",
}
GLSL_VERSIONS = ("300", "310", "320")
CHOICES: dict[str, tuple[str, ...]] = {
    "precision": tuple(PRECISIONS),
    "textures": ("auto", "2d", "array", "stacked"),
    "stage": ("auto", "fragment", "compute"),
    "fetch": ("auto", "texel", "sample", "image", "image-zero"),
    "weights": ("auto", "constants", "ubo", "texture", "ssbo"),
    "weight_format": ("float32", "float16", "int8"),
    "winograd": ("auto", "off", "2x2", "4x4"),
    "fuse_separable": ("auto", "off", "on"),
    "parameters": ("constants", "ubo"),
    "output_encoding": ("float", "unorm8", "y2rg", "y2rg_half"),
    "intermediates": ("half", "split"),
}
OPTIONAL_PASSES = (  # those of ``passes.pipeline.OPTIONAL``
    "drop_identities",
    "recognise_pixel_shuffle",
    "absorb_transposes",
    "fuse_pads",
    "fuse_upsampling",
    "fuse_residual_resize",
    "fold_affine",
    "drop_dead_channels",
    "fuse_pointwise",
    "fuse_crelu",
    "compose_index_maps",
    "fuse_stores",
    "fuse_separable",
    "stack_planes",
    "alias_planes",
    "allocate_textures",
)
EMBEDDINGS = ("c",)
PACKAGES = ("build", "mpv")
RUNTIMES = ("auto", "gles", "webgpu")
SCALES = ("channel", "layer")  # of ``view``: what the range of colours is of
REFERENCES = ("auto", "onnxruntime", "keras", "tensorflow", "numpy")
