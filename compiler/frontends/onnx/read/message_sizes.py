"""The memory of a protobuf file's messages, counted before parsing.

An empty message takes 2 bytes in a file and hundreds in memory: the larger, the more fields it may
have. A text takes memory of its own only in a list; one that stands alone has room in its message.
Source: the protobuf encoding; sizes measured with protobuf 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx.onnx_ml_pb2 import ModelProto, NodeProto

from .....errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PARTS = 1_200_000  # of about 60 bytes; a node of ordinary networks takes 20 to 55 of them
_FIELDS_PER_PART = 5
_PARTS_OF_NODE = 10  # what is made of a node takes more memory than the message
_VARINT, _FIXED64, _BYTES, _START_GROUP, _END_GROUP, _FIXED32 = range(6)
_LONGEST_VARINT = 10  # bytes


def check_parts(data: bytes) -> None:
    """Refuse a file of far too many messages and texts; damage is left to the parser.

    Raises:
        ShadergenError: SG0401.
    """
    if _parts(data) > MAX_PARTS:
        raise ShadergenError(
            "SG0401",
            "the file has too many parts",
            why=f"it has more than {MAX_PARTS} nodes, attributes, shapes and other parts",
            help="simplify the model with onnxsim, or remove its metadata_props and value_info",
        )


def _parts(data: bytes) -> int:
    """Return how many parts a file takes in memory, or a number beyond ``MAX_PARTS``."""
    count = 0
    tables: dict[str, Mapping[int, tuple[int, Any]]] = {}
    stack = [(0, len(data), ModelProto.DESCRIPTOR)]
    while stack:
        at, end, kind = stack.pop()
        if kind.full_name not in tables:
            tables[kind.full_name] = {f.number: _cost(f) for f in kind.fields}
        fields = tables[kind.full_name]
        while at < end:
            tag, at = _varint(data, at, end)
            wire = tag & 7
            if wire == _BYTES:
                size, at = _varint(data, at, end)
                parts, message = fields.get(tag >> 3, (0, None))
                count += parts
                if message is not None and size:
                    stack.append((at, min(at + size, end), message))
                if count > MAX_PARTS:
                    return count
                at += size
            elif wire == _VARINT:
                _, at = _varint(data, at, end)
            elif wire in (_FIXED32, _FIXED64):
                at += 4 if wire == _FIXED32 else 8
            elif wire not in (_START_GROUP, _END_GROUP):  # what is in a group counts like the rest
                break
    return count


def _cost(field: Any) -> tuple[int, Any]:
    """Return the parts that a field takes each time, and the kind of message that it holds."""
    if field.type == field.TYPE_MESSAGE:
        kind = field.message_type
        parts = 1 + len(kind.fields) // _FIELDS_PER_PART
        return (_PARTS_OF_NODE if kind == NodeProto.DESCRIPTOR else parts), kind
    listed = field.type in (field.TYPE_STRING, field.TYPE_BYTES) and field.default_value == []
    return int(listed), None


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number and the place behind it, the end where the parser refuses the number."""
    value = 0
    for place in range(at, min(end, at + _LONGEST_VARINT)):
        byte = data[place]
        value |= (byte & 127) << 7 * (place - at)
        if byte < 128:
            return value, place + 1
    return value, end
