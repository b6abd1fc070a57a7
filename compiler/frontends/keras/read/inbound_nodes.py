"""Connections of layers: references and calls, read from ``inbound_nodes``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeGuard

import numpy as np

from .....errors import ShadergenError
from .....records import dataclass
from .config import Config, is_integer, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

MAX_DEPTH = 32  # of nested models and of nested arguments


class Ref(NamedTuple):
    """A result of a layer's call."""

    layer: str
    call: int
    result: int


@dataclass(frozen=True)
class CallSpec:
    """Arguments of one call: references, constants, and lists and dicts of them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def references(self) -> list[Ref]:
        return list(references_in([*self.args, *self.kwargs.values()]))


def replaced(call: CallSpec, change: Callable[[Ref], Ref]) -> CallSpec:
    """Return the call with every reference changed."""
    return CallSpec(_replace(call.args, change), _replace(call.kwargs, change))


def references_in(value: Any) -> Iterator[Ref]:
    """Yield the references among nested arguments, in order."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from references_in(v)
    elif isinstance(value, dict):
        yield from references_in(list(value.values()))


def _replace(value: Any, change: Callable[[Ref], Ref]) -> Any:
    if isinstance(value, Ref):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_replace(v, change) for v in value])
    if isinstance(value, dict):
        return {k: _replace(v, change) for k, v in value.items()}
    return value


def malformed(what: str, where: str) -> NoReturn:
    """Raise SG0105."""
    raise ShadergenError("SG0105", what, where=where)


def is_reference(value: Any) -> TypeGuard[list[Any]]:
    """Whether a JSON value is [layer, call, result]."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and isinstance(value[0], str)
        and all(map(is_integer, value[1:]))
    )


def endpoints(value: Any, where: str, name: str = "", depth: int = 0) -> Iterator[tuple[str, Ref]]:
    """Yield names and references from ``input_layers`` or ``output_layers``."""
    if is_reference(value):
        yield name or value[0], Ref(*value)
    elif isinstance(value, list) and depth < MAX_DEPTH:
        for v in value:
            yield from endpoints(v, where, "", depth + 1)
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        for key, v in value.items():
            yield from endpoints(v, where, key, depth + 1)
    else:
        malformed(f"{shown(value)} is not a reference to a layer", where)


class CallReader:
    """Reads one entry of ``inbound_nodes``."""

    def __init__(self, layers: Collection[str], where: str) -> None:
        self.layers = layers
        self.where = where

    def read(self, node: Any) -> CallSpec:
        if isinstance(node, dict):  # Keras 3
            args, kwargs = node.get("args"), node.get("kwargs") or {}
            if not isinstance(args, list) or not isinstance(kwargs, dict):
                malformed("a call in inbound_nodes lacks valid 'args' or 'kwargs'", self.where)
            return CallSpec(
                tuple(self.value(a) for a in args), {k: self.value(v) for k, v in kwargs.items()}
            )
        if not isinstance(node, list) or not node:
            malformed(f"{shown(node)} in inbound_nodes is not a call of the layer", self.where)
        if isinstance(node[0], str):  # one tensor, not in a list
            operand, kwargs = self.legacy_operand(node)
            return CallSpec((operand,), kwargs)
        read = [self.legacy_operand(entry) for entry in node]
        operands = [operand for operand, _ in read]
        args = (operands[0],) if len(operands) == 1 else (operands,)
        return CallSpec(args, read[0][1])

    def legacy_operand(self, entry: Any) -> tuple[Any, dict[str, Any]]:
        """Read [layer, call, result] or [layer, call, result, kwargs] of Keras 2."""
        if not isinstance(entry, list) or len(entry) not in (3, 4):
            malformed(f"{shown(entry)} is not a reference to a layer's result", self.where)
        kwargs = entry[3] if len(entry) == 4 else {}
        if not isinstance(kwargs, dict):
            malformed(f"{shown(kwargs)} is not a dict of keyword arguments", self.where)
        arguments = {k: self.value(v) for k, v in kwargs.items()}
        if entry[0] == "_CONSTANT_VALUE":
            return self.value(entry[2]), arguments
        if not is_reference(entry[:3]):
            malformed(f"{shown(entry)} is not a reference to a layer's result", self.where)
        return Ref(entry[0], entry[1], entry[2]), arguments

    def value(self, value: Any, depth: int = 0) -> Any:
        """Turn JSON into references, arrays, slices and plain values."""
        if depth > MAX_DEPTH:
            malformed("arguments are nested too deeply", self.where)
        if isinstance(value, list):
            if is_reference(value) and value[0] in self.layers:
                return Ref(*value)
            return [self.value(v, depth + 1) for v in value]
        if not isinstance(value, dict):
            return value
        config = value.get("config")
        config = config if isinstance(config, dict) else {}
        kind = value.get("class_name")
        if kind == "__keras_tensor__":
            history = config.get("keras_history")
            if not is_reference(history):
                malformed(f"{shown(history)} is not a reference to a layer", self.where)
            return Ref(*history)
        if kind in ("__tensor__", "__numpy__"):
            return self.array(config.get("value"))
        if kind == "__slice__" or (not kind and set(value) == {"start", "stop", "step"}):
            return self.slice(config if kind else value)
        if kind in ("__ellipsis__", "Ellipsis"):
            return ...
        if kind == "__tuple__":
            return self.value(value.get("items"), depth + 1)
        return {str(k): self.value(v, depth + 1) for k, v in value.items()}

    def slice(self, value: dict[str, Any]) -> slice:
        parts = Config(self.where, value)
        found = []
        for key in ("start", "stop", "step"):
            if value.get(key) is not None and not is_integer(value[key]):
                parts.malformed(key, "an integer")
            found.append(value.get(key))
        return slice(*found)

    def array(self, value: Any) -> np.ndarray:
        try:
            with np.errstate(over="ignore"):
                array = np.asarray(value, np.float32)
        except (ValueError, TypeError, OverflowError):
            malformed(f"{shown(value)} is not an array of numbers", self.where)
        if not np.isfinite(array).all():
            malformed("a constant is not finite", self.where)
        return array
