"""The JSON Schema of schedules, as a validator in a third of the time that jsonschema takes alone.

References are replaced by what they name, and what was valid once is not looked at again: much of a
schedule is said many times, as passes of one layer read the same textures.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = Path(__file__).parent.parent / "schedule.schema.json"
_FEW = 4  # values in a list or object that is remembered; of longer ones few are equal


def validator(*, lenient: bool) -> Any:
    """Return a validator for one document.

    Args:
        lenient: ignore members that the schema does not know, which newer minor versions may add.
    """
    # late: it takes a fifth of a second
    from jsonschema import Draft202012Validator, validators

    valid: set[tuple[int, str]] = set()

    def remembering(keyword: str) -> Any:
        check = Draft202012Validator.VALIDATORS[keyword]
        return lambda validator, *args: check(_Remembering(validator, valid), *args)

    keywords = {keyword: remembering(keyword) for keyword in ("items", "properties")}
    return validators.extend(Draft202012Validator, keywords)(_schema(lenient))


class _Remembering:
    """A jsonschema validator that passes over values known to be ``valid`` by their schema."""

    def __init__(self, validator: Any, valid: set[tuple[int, str]]) -> None:
        self._validator, self._valid = validator, valid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._validator, name)

    def descend(self, instance: Any, schema: Any, **place: Any) -> Iterator[Any]:
        if isinstance(instance, dict | list) and len(instance) > _FEW:
            yield from self._validator.descend(instance, schema, **place)
            return
        key = id(schema), repr(instance)  # 1, 1.0 and true are equal, and not the same
        if key in self._valid:
            return
        found = False
        for error in self._validator.descend(instance, schema, **place):
            found = True
            yield error
        if not found:
            self._valid.add(key)


@cache
def _schema(lenient: bool) -> Any:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    left_out = {"$defs", *(("additionalProperties",) if lenient else ())}
    return _in_place(schema, schema["$defs"], left_out)


def _in_place(schema: Any, definitions: dict[str, Any], left_out: set[str]) -> Any:
    """Return a schema without some keywords, and definitions in place of references to them."""
    if isinstance(schema, list):
        return [_in_place(s, definitions, left_out) for s in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if k not in left_out | {"$ref"}}
    found = {k: _in_place(v, definitions, left_out) for k, v in kept.items()}
    if "$ref" not in schema:
        return found
    definition = definitions[schema["$ref"].removeprefix("#/$defs/")]
    inner = _in_place(definition, definitions, left_out)
    return {"allOf": [inner], **found} if found else inner
