"""The members of a schedule that may be expressions, as lists for Python and JavaScript."""

from __future__ import annotations

import json
from typing import Any

Schema = dict[str, Any]
Path = tuple[str, ...]


def members(part: Schema, known: Schema) -> list[Path]:
    """Return the paths below a part of the schema; * is every item of an array or object."""
    if "$ref" in part:
        return members(known[part["$ref"].rpartition("/")[2]], known)
    if part.get("type") == ["integer", "array"]:
        return [()]
    below = {name: members(each, known) for name, each in part.get("properties", {}).items()}
    if below and all(paths == [()] for paths in below.values()):
        below = {"*": [()]}
    for item in (*part.get("prefixItems", ()), *([part["items"]] if "items" in part else ())):
        below["*"] = members(item, known)
    found = [(name, *path) for name, paths in below.items() for path in paths]
    for condition in part.get("allOf", ()):
        found += members(condition["then"], known)
    return list(dict.fromkeys(found))


def names(schema: Schema) -> list[str]:
    return [".".join(path) for path in members(schema, schema["$defs"])]


def python(schema: Schema) -> str:
    """Return the module of Python."""
    lines = "".join(f'    "{name}",\n' for name in names(schema))
    head = '"""Written by tools/make_web.py from schedule.schema.json."""\n\n'
    return f"{head}MEMBERS = (\n{lines})\n"


def javascript(schema: Schema) -> str:
    """Return the module of JavaScript."""
    head = "// Written by tools/make_web.py from schedule.schema.json.\n\n"
    return f"{head}export default {json.dumps(names(schema), indent=2)};\n"
