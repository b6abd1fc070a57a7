"""Numpy archives as the inputs of builds."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError, reason

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ARRAYS = (".npz", ".npy")


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read an ``.npz``, or an ``.npy`` as the array called "".

    Raises:
        ShadergenError: SG0101 when it is neither, SG0605 when it holds other things than numbers.
    """
    try:
        with np.load(path, allow_pickle=False) as data:
            arrays = dict(data)
    except (AttributeError, TypeError):  # an .npy loads as a bare array, which is no context
        arrays = {"": np.load(path, allow_pickle=False)}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ShadergenError(
            "SG0101",
            f"cannot read the arrays in '{path}'",
            why=reason(error)
            if isinstance(error, OSError)
            else "the file is not an .npz or .npy of numbers",
        ) from None
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            what = f"array '{name}'" if name else "the array"
            raise ShadergenError(
                "SG0605",
                f"{what} has element type {array.dtype}",
                supported="real numbers, integers and booleans",
            )
    return arrays


def named(arrays: dict[str, NDArray[Any]], names: list[str]) -> dict[str, NDArray[Any]]:
    """Match arrays, as :func:`read_arrays` gives them, with inputs.

    Raises:
        ShadergenError: SG0605 when one is missing or unknown.
    """
    if set(arrays) == {""} and len(names) == 1:
        return {names[0]: arrays[""]}
    if set(arrays) == {""}:
        raise ShadergenError(
            "SG0605",
            f"one .npy cannot fill {len(names)} inputs",
            supported=f"an .npz with the arrays {', '.join(names)}",
        )
    missing, unknown = set(names) - set(arrays), set(arrays) - set(names)
    if missing or unknown:
        raise ShadergenError(
            "SG0605",
            "the arrays are not the build's inputs",
            why=f"missing: {sorted(missing) or 'none'}; unknown: {sorted(unknown) or 'none'}",
            supported=f"an .npz with the arrays {', '.join(names)}",
        )
    return arrays
