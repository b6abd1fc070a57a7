"""Operations on images: resampling, pooling, pixel shuffles, borders."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from .....errors import ShadergenError
from .....ir.ops import DepthToSpace, Pad, Pool, Rearrange, ResizeNearest
from ..layers.convolution import same_padding
from ..layers.movement import cropped, repeated
from ..layers.resampling import METHODS, fitted, resized
from ..read.config import is_integer
from ..tensors import Tensor, arranged, features, standard

if TYPE_CHECKING:
    from .....ir.graph import Value
    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation


def _image(x: Tensor, data_format: str, layer: Layer) -> Value:
    """Return images as NCHW."""
    if x.rank != 4:
        raise ShadergenError(
            "SG0205",
            f"the operation takes images of rank 4, not a tensor of rank {x.rank}",
            where=layer.described,
        )
    return arranged(x, standard(4, data_format), layer.name)


def depth_to_space(layer: Layer, a: Arguments) -> Tensor:
    """Pixel shuffle with the channels innermost, as TensorFlow does it."""
    x = a.tensor(0, "x", "input")
    block = a.integer(1, "block_size", least=1)
    data_format = a.data_format(2, layer.around.data_format)
    y = layer.apply(DepthToSpace((block, block), "dcr"), _image(x, data_format, layer))
    return Tensor(y, standard(4, data_format))


def space_to_depth(layer: Layer, a: Arguments) -> Tensor:
    """Undo :func:`depth_to_space`."""
    x = a.tensor(0, "x", "input")
    block = a.integer(1, "block_size", least=1)
    data_format = a.data_format(2, layer.around.data_format)
    value = _image(x, data_format, layer)
    n, c, h, w = value.shape
    if h % block or w % block:
        a.malformed("block_size", f"a divisor of {h} and {w}")
    split = (n, c, h // block, block, w // block, block)
    shape = (n, block * block * c, h // block, w // block)
    y = layer.apply(Rearrange(split, (0, 3, 5, 1, 2, 4), shape), value)
    return Tensor(y, standard(4, data_format))


def resize(half_pixel: bool, layer: Layer, a: Arguments) -> Tensor:
    """Resample images.

    Source: tf.image.resize takes pixels as areas, the older resize_nearest_neighbor reads
    floor(i * in / out).
    """
    x = a.tensor(0, "images", "image", "x")
    size = a.integers(1, "size", length=2, least=1)
    height, width = size
    for key in ("preserve_aspect_ratio", "align_corners"):
        if a.value(None, key) not in (None, False):
            a.unsupported(key, a.value(None, key), "false")
    data_format = a.data_format(None, layer.around.data_format)
    value = _image(x, data_format, layer)
    if not half_pixel and a.value(None, "half_pixel_centers") is not True:
        n, c, h, w = value.shape
        steps = ((1, 0, 1), (1, 0, 1), (h, 0, height), (w, 0, width))
        y = layer.apply(ResizeNearest((n, c, height, width), steps), value)
        return Tensor(y, standard(4, data_format))
    method = a.value(2, "method", "interpolation") if half_pixel else "nearest"
    method = "bilinear" if method is None else method
    if method not in METHODS:
        a.unsupported("method", method, ", ".join(METHODS))
    if a.value(None, "fill_mode") not in (None, "constant"):
        a.unsupported("fill_mode", a.value(None, "fill_mode"), "constant")
    y = fitted(
        layer,
        value,
        (height, width),
        method,
        crop=a.flag(None, False, "crop_to_aspect_ratio"),
        pad=a.flag(None, False, "pad_to_aspect_ratio"),
        value=a.number(None, 0.0, "fill_value"),
        antialias=a.flag(None, False, "antialias"),
    )
    return Tensor(y, standard(4, data_format))


def up_sampling(layer: Layer, a: Arguments) -> Tensor:
    """keras.backend.resize_images: repeat rows and columns, or interpolate between them."""
    x = a.tensor(0, "x")
    factors = a.integer(1, "height_factor", least=1), a.integer(2, "width_factor", least=1)
    data_format = a.data_format(3, layer.around.data_format)
    value = _image(x, data_format, layer)
    method = a.value(4, "interpolation")
    if method in (None, "nearest"):
        return Tensor(repeated(layer, value, factors), standard(4, data_format))
    if method not in METHODS:
        a.unsupported("interpolation", method, ", ".join(METHODS))
    size = [s * f for s, f in zip(value.shape[2:], factors, strict=True)]
    return Tensor(resized(layer, value, size, method, False), standard(4, data_format))


def pool(kind: Literal["max", "average"], layer: Layer, a: Arguments) -> Tensor:
    """Combine windows of feature maps with one to three spatial axes."""
    x = a.tensor(0, "inputs", "input", "value")
    axes = x.rank - 2
    if not 1 <= axes <= 3:
        a.malformed("inputs", "feature maps of rank 3 to 5")
    position = 4 if layer.version[0] >= 3 else None
    data_format = a.data_format(position, layer.around.data_format)
    order = features(x.rank, data_format)
    value = arranged(x, order, layer.name)
    kernel = sizes_of(a, a.value(1, "pool_size", "ksize"), "pool_size", axes, data_format)
    given = a.value(2, "strides")
    strides = kernel if given is None else sizes_of(a, given, "strides", axes, data_format)
    mode = a.value(3, "padding")
    mode = "valid" if mode is None else mode
    if not isinstance(mode, str) or mode.lower() not in ("valid", "same"):
        a.unsupported("padding", mode, "valid, same")
    pairs = [(0, 0)] * axes
    if mode.lower() == "same":
        along = zip(value.shape[2:], kernel, strides, strict=True)
        pairs = [same_padding(size, taps, stride, 1) for size, taps, stride in along]
    pads = (*(before for before, _ in pairs), *(after for _, after in pairs))
    return Tensor(layer.apply(Pool(kind, kernel, strides, pads=pads), value), order)


def sizes_of(a: Arguments, value: Any, name: str, axes: int, data_format: str) -> tuple[int, ...]:
    """Return a size for each spatial axis; TensorFlow may name batch and channels too."""
    sizes = [value] * axes if is_integer(value) else value
    if isinstance(sizes, list) and len(sizes) == 1:
        sizes = sizes * axes
    if isinstance(sizes, list) and len(sizes) == axes + 2:
        inner = slice(1, -1) if data_format == "channels_last" else slice(2, None)
        outer = [s for s in sizes if s not in sizes[inner]]
        if any(s != 1 for s in outer):
            a.unsupported(name, value, "1 for batch and channels")
        sizes = sizes[inner]
    if (
        not isinstance(sizes, list)
        or len(sizes) != axes
        or not all(is_integer(s) and s >= 1 for s in sizes)
    ):
        a.malformed(name, f"{axes} sizes")
    return tuple(sizes)


def _borders(a: Arguments, kind: str, sizes: tuple[int, ...], sign: int) -> list[tuple[int, int]]:
    """Return the amounts cropped or added at the borders; one of three may be omitted."""
    pairs = []
    for size, (before, after, length) in zip(
        sizes, (("top", "bottom", "height"), ("left", "right", "width")), strict=True
    ):
        names = f"{before}_{kind}", f"{after}_{kind}", f"target_{length}"
        first, last, target = (a.value(None, name) for name in names)
        if target is not None and first is not None and last is None:
            last = sign * (a.integer(None, names[2]) - size) - _whole(a, first, names)
        elif target is not None and last is not None and first is None:
            first = sign * (a.integer(None, names[2]) - size) - _whole(a, last, names)
        pair = _whole(a, first, names), _whole(a, last, names)
        if target is not None and target != size + sign * sum(pair):
            a.malformed(names[2], f"{size + sign * sum(pair)}")
        pairs.append(pair)
    return pairs


def _whole(a: Arguments, value: Any, names: tuple[str, ...]) -> int:
    if not is_integer(value) or value < 0:
        raise ShadergenError(
            "SG0105",
            f"two of the arguments {', '.join(names)} are needed, and none may be negative",
            where=a.where,
        )
    return value


def crop_images(layer: Layer, a: Arguments) -> Tensor:
    """Cut off borders of images."""
    x = a.tensor(0, "images")
    data_format = a.data_format(None, layer.around.data_format)
    value = _image(x, data_format, layer)
    borders = _borders(a, "cropping", value.shape[2:], -1)
    return Tensor(cropped(layer, value, borders), standard(4, data_format))


def pad_images(layer: Layer, a: Arguments) -> Tensor:
    """Put zeros around images."""
    x = a.tensor(0, "images")
    data_format = a.data_format(None, layer.around.data_format)
    value = _image(x, data_format, layer)
    borders = _borders(a, "padding", value.shape[2:], 1)
    before, after = ((0, 0, *(pair[k] for pair in borders)) for k in (0, 1))
    return Tensor(layer.apply(Pad(before, after), value), standard(4, data_format))


def central_crop(layer: Layer, a: Arguments) -> Tensor:
    """Keep the central part: central_fraction of height and width; channels last."""
    x = a.tensor(0, "image")
    fraction = a.number(1, 1.0, "central_fraction")
    if not 0 < fraction <= 1:
        a.malformed("central_fraction", "a number above 0, at most 1")
    value = _image(x, "channels_last", layer)
    # As TensorFlow computes it: what is cut off is rounded down.
    cut = [int((size - size * fraction) / 2) for size in value.shape[2:]]
    return Tensor(cropped(layer, value, [(c, c) for c in cut]), standard(4, "channels_last"))


IMAGES: dict[str, Operation] = {
    "average_pool": partial(pool, "average"),
    "central_crop": central_crop,
    "crop_images": crop_images,
    "depth_to_space": depth_to_space,
    "max_pool": partial(pool, "max"),
    "pad_images": pad_images,
    "resize": partial(resize, True),
    "resize_images": up_sampling,
    "resize_nearest_neighbor": partial(resize, False),
    "space_to_depth": space_to_depth,
}
