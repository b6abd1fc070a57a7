"""Parse the options that are given as text: ranges, sizes, names, values, preprocessing."""

from __future__ import annotations

import csv
import math
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import ShadergenError, reason
from ..passes.attach_preprocessing import Preprocessing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

DYNAMIC = "dynamic"
FLOAT32_MAX = 3.4028234663852886e38


def invalid(
    name: str, value: object, supported: str, help: str = "", why: str = ""
) -> ShadergenError:
    """Return SG0301 for an option with a value that is not supported."""
    flag = "--" + name.replace("_", "-")
    return ShadergenError(
        "SG0301", f"{flag} {value} is not supported", why=why, supported=supported, help=help
    )


def parse_range(text: str) -> tuple[float, float]:
    """Parse ``LOW:HIGH``.

    Raises:
        ShadergenError: SG0301 for anything but two finite numbers in order.
    """
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        low = high = math.nan
    if not -FLOAT32_MAX <= low <= high <= FLOAT32_MAX:
        help = (
            f"LOW exceeds HIGH: did you mean {high:g}:{low:g}?"
            if -FLOAT32_MAX <= high < low <= FLOAT32_MAX
            else ""
        )
        raise invalid("input_range", text, "LOW:HIGH, two numbers, for example 0:1", help)
    return low, high


def parse_dynamic(texts: Iterable[str]) -> tuple[tuple[int, int] | Literal[True] | None, list[str]]:
    """Take ``dynamic``, or ``dynamic:HxW`` with the initial size, out of ``--input-size``.

    Returns:
        The initial height and width, True for the model's own, None if nothing is dynamic; and the
        other texts.

    Raises:
        ShadergenError: SG0301 for an initial size that is not a size.
    """
    found: tuple[int, int] | Literal[True] | None = None
    others = []
    for text in texts:
        word, _, numbers = text.strip().partition(":")
        if word.lower() != DYNAMIC:
            others.append(text)
            continue
        size = _size(numbers) if numbers else None
        if numbers and (size is None or len(size) != 2):
            raise ShadergenError(
                "SG0301",
                f"--input-size {text} is not a size",
                supported="dynamic, or dynamic:HxW with the initial size",
            )
        found = (size[0], size[1]) if size else True
    return found, others


def parse_sizes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Parse ``360x640``, ``1x360x640x3``, ``name=360x640``, or several ``a=16x16,b=8x8``.

    Raises:
        ShadergenError: SG0301 for anything else, and for a size given twice.
    """
    sizes: dict[str, tuple[int, ...]] = {}
    for text in chain.from_iterable(map(_named_sizes, texts)):
        name, named, numbers = text.rpartition("=")
        size = _size(numbers)
        if size is None or (named and not name):
            is_dynamic = numbers.strip().lower().partition(":")[0] == DYNAMIC
            raise ShadergenError(
                "SG0301",
                f"--input-size {text} is not a size",
                supported="HxW; the whole shape; NAME=HxW,NAME=HxW for several inputs; dynamic or "
                "dynamic:HxW, without a name",
                help="use dynamic without a name: then the first image input and all image inputs "
                "of the same declared size become dynamic\nor give one input a fixed size: name=HxW"
                if is_dynamic
                else "for example --input-size 360x640",
            )
        if name in sizes:
            raise ShadergenError("SG0301", f"--input-size gives '{name or 'the input'}' twice")
        sizes[name] = size
    return sizes


def _named_sizes(text: str) -> list[str]:
    """Split at commas, as long as every part is NAME=SIZE; other texts are one part."""
    parts = _listed([text], "input-size") if "," in text else [text]
    return parts if all("=" in part for part in parts) else [text]


def _size(text: str) -> tuple[int, ...] | None:
    parts = [p.strip() for p in text.lower().replace("×", "x").split("x")]
    fits = all(p.isascii() and p.isdigit() and len(p) <= 9 for p in parts)
    return tuple(map(int, parts)) if fits else None


def parse_cut(
    inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, tuple[int, ...]]]:
    """Parse ``a,b`` for outputs and ``a,b=1x64x90x160`` for inputs; a name with a comma is quoted.

    Returns:
        The inputs, the outputs, and the sizes given with the inputs.

    Raises:
        ShadergenError: SG0301 for an empty name or one given twice.
    """
    names, sizes = [], {}
    for part in _listed(inputs, "inputs"):
        name, _, numbers = part.rpartition("=")
        size = _size(numbers)
        if name and size is not None:
            sizes[name] = size
        names.append(name if name and size is not None else part)
    return _unlike(names, "inputs"), _unlike(_listed(outputs, "outputs"), "outputs"), sizes


def _listed(texts: Iterable[str], option: str) -> list[str]:
    names = [name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row]
    if not all(names):
        raise ShadergenError(
            "SG0301",
            f"--{option} has an empty name",
            supported="comma-separated names",
        )
    return names


def _unlike(names: list[str], option: str) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ShadergenError("SG0301", f"--{option} gives '{name}' twice")
    return tuple(names)


def parse_values(texts: Iterable[str]) -> dict[str, NDArray[np.generic]]:
    """Parse ``name=1,2,3``: integers, numbers, or true and false.

    Raises:
        ShadergenError: SG0301 for anything else, and for a value given twice.
    """
    words = {"true": "1", "false": "0"}
    values: dict[str, NDArray[np.generic]] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        parts = [p.strip().lower() for p in numbers.split(",")] if numbers.strip() else []
        array = _numbers([words.get(p, p) for p in parts])
        if array is None or not name:
            raise ShadergenError(
                "SG0301",
                f"--input-value {text} is not understood",
                supported="NAME=VALUE,VALUE...; each value is a number, true or false",
                help="for example --input-value shape=1,3,224,224",
            )
        if name in values:
            raise ShadergenError("SG0301", f"--input-value gives '{name}' twice")
        values[name] = array
    return values


def _numbers(texts: list[str]) -> NDArray[np.generic] | None:
    for dtype in (np.int64, np.float64):
        try:
            return np.array(texts, str).astype(dtype)
        except (ValueError, OverflowError):
            continue
    return None


def parse_preprocessing(text: str) -> Preprocessing:
    """Parse ``order=bgr,scale=255,mean=103.9/116.8/123.7,std=1,input=unorm8``.

    Every part may be left out. The model sees (scale * image - mean) / std, image values being
    0..1; scale, mean and std take one number or one for each channel in the model's order.

    Raises:
        ShadergenError: SG0301 naming the part that is wrong.
    """
    values: dict[str, object] = {}
    names = {"order": "reverse", "input": "eight_bit", "std": "deviation"}
    words = {"order": {"rgb": False, "bgr": True}, "input": {"float": False, "unorm8": True}}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, _, value = part.partition("=")
        if key in words and value.lower() in words[key]:
            values[names[key]] = words[key][value.lower()]
        elif key in ("scale", "mean", "std"):
            try:
                values[names.get(key, key)] = tuple(float(v) for v in value.split("/"))
            except ValueError:
                raise ShadergenError(
                    "SG0301",
                    f"--preprocess: {part} is not supported",
                    supported=f"a number, or one for each channel: {key}=104/117/124",
                ) from None
        else:
            raise ShadergenError(
                "SG0301",
                f"--preprocess: '{part}' is not understood",
                supported="order=rgb|bgr, scale=, mean=, std=, input=float|unorm8",
                help="for example --preprocess order=bgr,scale=255,mean=103.9/116.8/123.7",
            )
    return Preprocessing(**values)  # type: ignore[arg-type]


def parse_labels(text: str | None) -> tuple[str, ...]:
    """Return names of classes: those in a file, a line each, or those between commas.

    Raises:
        ShadergenError: SG0101 when the file cannot be read.
    """
    if text is None:
        return ()
    path = Path(text)
    if not path.is_file():
        if "," not in text:
            raise invalid("labels", text, "names separated by commas, or a file that exists")
        return tuple(name.strip() for name in text.split(","))
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ShadergenError("SG0101", f"cannot read '{path}'", why=reason(error)) from None
    while lines and not lines[-1].strip():
        lines.pop()
    return tuple(line.strip() for line in lines)


def parse_tile(text: str | None) -> tuple[int, int] | None:
    """Return the height and width of tiles.

    Raises:
        ShadergenError: SG0301 when they are none.
    """
    if text is None:
        return None
    size = _size(text)
    if size is None or len(size) != 2:
        raise invalid("tile", text, "HxW, such as 512x512")
    return size[0], size[1]
