"""The schedule's JSON Schema as JavaScript, for the web runtime.

A schema becomes an expression of the functions in forms.js, which are shorter than JSON Schema and
its interpreter. What it uses of JSON Schema beyond them is refused here.
"""

from __future__ import annotations

import json
from typing import Any

FOR_PEOPLE = ("$schema", "title", "description")
REFERENCE = "#/$defs/"

Schema = dict[str, Any]


def form(schema: Schema) -> str:
    """Return a schema as an expression."""
    parts = {key: part for key, part in schema.items() if key not in FOR_PEOPLE}
    if "$ref" in parts:
        return str(parts.pop("$ref")).removeprefix(REFERENCE)
    if "const" in parts:
        return call("oneOf", literal(parts.pop("const")), rest=parts)
    if "enum" in parts:
        return call("oneOf", *map(literal, parts.pop("enum")), rest=parts)
    if parts == {"not": {}}:
        return "f.never"
    types = parts.pop("type", "array")  # without a type, lists are meant: of uniforms, of writes
    if isinstance(types, str):
        types = [types]
    forms = [FORMS[name](parts) for name in types]
    return call("either", *forms, rest=parts) if len(forms) > 1 else complete(forms[0], parts)


def span(parts: Schema) -> list[str]:
    return [literal(parts.pop(key, None)) for key in ("minimum", "maximum")]


def text(parts: Schema) -> str:
    bounds = [literal(parts.pop("minLength", 0)), literal(parts.pop("maxLength", None))]
    words = parts.pop("not", {}).pop("enum", None)
    return call("text", *bounds, literal(parts.pop("pattern", None)), literal(words))


def array(parts: Schema) -> str:
    bounds = [parts.pop("minItems", 0), parts.pop("maxItems", None)]
    if items := parts.pop("prefixItems", None):
        if bounds != [len(items)] * 2:
            raise ValueError("forms.js has nothing for a tuple of open length")
        return call("tuple", *map(form, items))
    item = parts.pop("items", None)
    distinct = literal(parts.pop("uniqueItems", None))
    return call("list", *map(literal, bounds), form(item) if item else "undefined", distinct)


def members(parts: Schema) -> str:
    if parts.pop("additionalProperties") is not False:
        raise ValueError("forms.js has nothing for an object that takes any members")
    needed, forms = parts.pop("required"), parts.pop("properties")
    rules = [condition(part) for part in parts.pop("allOf", ())]
    if choices := parts.pop("oneOf", None):
        names = [literal(name) for choice in choices for name in choice.pop("required")]
        rest = {key: part for choice in choices for key, part in choice.items()}
        rules.append(call("single", *names, rest=rest))
    optional = {name: part for name, part in forms.items() if name not in needed}
    given = each(optional) if optional or rules else "undefined"
    return call("members", each({name: forms[name] for name in needed}), given, *rules)


def condition(parts: Schema) -> str:
    test = parts.pop("if")
    [(name, part)] = test["properties"].items()
    branches = [
        call("some", literal(rule.pop("required", [])), each(rule.pop("properties")), rest=rule)
        if rule
        else "undefined"
        for rule in (parts.pop("then"), parts.pop("else", None))
    ]
    return call("when", literal(name), literal(part.pop("const")), *branches, rest=parts | part)


def each(schemas: dict[str, Schema]) -> str:
    """Return schemas by name, each on a line of its own."""
    return "{" + "".join(f"\n  {name}: {form(part)}," for name, part in schemas.items()) + "}"


FORMS = {
    "null": lambda parts: "f.nothing",
    "integer": lambda parts: call("integer", *span(parts)),
    "number": lambda parts: call("number", *span(parts)),
    "string": text,
    "array": array,
    "object": members,
}


def literal(value: Any) -> str:
    return "undefined" if value is None else json.dumps(value)


def call(name: str, *arguments: str, rest: Schema | None = None) -> str:
    used = list(arguments)
    while used and used[-1] == "undefined":
        used.pop()
    return complete(f"f.{name}({', '.join(used)})", rest or {})


def complete(expression: str, rest: Schema) -> str:
    if rest:
        raise ValueError(f"forms.js has nothing for {', '.join(rest)}")
    return expression


def module(schema: Schema) -> str:
    """Return the module."""
    definitions = schema["$defs"]
    lines: dict[str, str] = {}

    def define(name: str) -> None:
        """Write a definition after those that it names."""
        if name not in lines:
            for used in references(definitions[name]):
                define(used)
            lines[name] = f"const {name} = {form(definitions[name])};\n"

    for name in definitions:
        define(name)
    document = {key: part for key, part in schema.items() if key != "$defs"}
    head = "// Written by tools/make_web.py from schedule.schema.json.\n\n"
    text = f'import * as f from "./forms.js";\n\n{"".join(lines.values())}'
    return f"{head}{text}export default {form(document)};\n"


def references(schema: Any) -> list[str]:
    """Return the definitions that a schema names."""
    if isinstance(schema, list):
        return [name for part in schema for name in references(part)]
    if not isinstance(schema, dict):
        return []
    here = [str(schema["$ref"]).removeprefix(REFERENCE)] if "$ref" in schema else []
    return here + references(list(schema.values()))
