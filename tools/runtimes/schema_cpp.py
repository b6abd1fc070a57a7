"""The schedule's JSON Schema as tables of C++, for the C++ runtime.

forms.hpp says what a form is, form.cpp checks one. What the schema uses of JSON Schema beyond
them is refused here.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

FOR_PEOPLE = ("$schema", "title", "description")
REFERENCE = "#/$defs/"
FLOAT32 = 3.4028234663852886e38
LONGEST_TEXT = 1 << 26  # bytes of the largest schedule
# what form.cpp checks of a text, its shortest and its longest; the version has its own check
PATTERNS = {
    None: ("any", 0, LONGEST_TEXT),
    "^[0-9]{1,4}\\.[0-9]{1,4}$": ("any", 3, 9),
    "^[A-Za-z_][A-Za-z0-9_]*$": ("identifier", 1, LONGEST_TEXT),
    "^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$": ("path", 1, LONGEST_TEXT),
    "^[0-9a-f]{64}$": ("sha256", 64, 64),
    "^[a-z_][a-z0-9_]*$": ("parameter", 1, LONGEST_TEXT),
    "^[a-z0-9?* ]+$": ("renderer", 1, LONGEST_TEXT),
}
FLAGS = ("is_nullable", "is_dynamic", "is_unique", "is_exclusive")
NUMBERS = ("low", "high", "items", "second", "first", "count")
PARAMETER = {"enum": ["min", "max"]}  # what no parameter is called
TERM = {"$ref": f"{REFERENCE}term"}


class Tables:
    """Forms by what they say, so that equal ones are one, and what they refer to."""

    def __init__(self, definitions: Schema) -> None:
        self.definitions = definitions
        self.forms: dict[str, int] = {}
        self.members: list[str] = []
        self.bounds: list[int] = []
        self.letters: dict[str, int] = {}

    def form(self, schema: Schema) -> int:
        """Return the index of a schema's form."""
        parts = {key: part for key, part in schema.items() if key not in FOR_PEOPLE}
        if "$ref" in parts:
            target = self.definitions[parts.pop("$ref").removeprefix(REFERENCE)]
            return self.form(target | parts)
        if parts == {"not": {}}:
            return self.add("nothing", {})
        if "const" in parts:
            parts["enum"] = [parts.pop("const")]
        if "enum" in parts:
            return self.choice(parts)
        types = parts.pop("type")
        types = [types] if isinstance(types, str) else types
        if types == ["integer", "array"]:
            self.take_terms(parts)
            return self.integer(parts, is_dynamic=True)
        kinds = {"string": self.text, "array": self.array, "object": self.object}
        kinds |= {"integer": self.integer, "number": self.number}
        if types[1:] not in ([], ["null"]):
            raise ValueError(f"forms.hpp has nothing for the types {types}")
        return kinds[types[0]](parts, **({"is_nullable": True} if types[1:] else {}))

    def add(self, kind: str, rest: Schema, pattern: str = "any", **values: int) -> int:
        """Add a form, of which the members of its struct are given that are not zero."""
        if rest:
            raise ValueError(f"forms.hpp has nothing for {', '.join(rest)}")
        flags = [str(values.pop(name, False)).lower() for name in FLAGS]
        numbers = [str(values.pop(name, 0)) for name in NUMBERS]
        assert not values, values
        text = ", ".join([f"Kind::{kind}", f"Pattern::{pattern}", *flags, *numbers])
        return self.forms.setdefault(text, len(self.forms))

    def bound(self, value: int) -> int:
        """Return where a value stands in the list of bounds."""
        return place(self.bounds, [value])

    def spell(self, name: str) -> int:
        """Return where a name starts in the list of letters."""
        size = sum(len(known) + 1 for known in self.letters)
        return self.letters.setdefault(name, size)

    def have(self, members: list[tuple[str, int, bool]]) -> dict[str, int]:
        """Add members, each a name, its form and whether it is needed."""
        rows = [f"{self.spell(name)}, {form}, {str(need).lower()}" for name, form, need in members]
        return {"first": place(self.members, rows), "count": len(members)}

    def choice(self, parts: Schema) -> int:
        words = parts.pop("enum")
        kind = "word" if all(isinstance(word, str) for word in words) else "whole"
        return self.add(kind, parts, **self.have([(str(word), 0, True) for word in words]))

    def integer(self, parts: Schema, **flags: bool) -> int:
        low, high = (self.bound(parts.pop(key)) for key in ("minimum", "maximum"))
        return self.add("integer", parts, low=low, high=high, **flags)

    def number(self, parts: Schema) -> int:
        span = [parts.pop(key, None) for key in ("minimum", "maximum")]
        kinds = {(None, None): "number", (-FLOAT32, FLOAT32): "small_real"}
        return self.add(kinds[tuple(span)], parts)

    def text(self, parts: Schema) -> int:
        pattern, least, most = PATTERNS[parts.pop("pattern", None)]
        if pattern == "parameter" and parts.pop("not") != PARAMETER:
            raise ValueError("form.cpp knows other words that are no parameters")
        low = self.bound(max(least, parts.pop("minLength", 0)))
        high = self.bound(min(most, parts.pop("maxLength", most)))
        return self.add("text", parts, pattern=pattern, low=low, high=high)

    def take_terms(self, parts: Schema) -> None:
        known = {"items": TERM, "minItems": 1, "maxItems": 4096}
        if any(parts.pop(key) != value for key, value in known.items()):
            raise ValueError("form.cpp knows expressions of 1 to 4096 terms")

    def array(self, parts: Schema, **flags: bool) -> int:
        if parts.get("items") == TERM:
            self.take_terms(parts)
            return self.add("expression", parts)
        low, high = parts.pop("minItems"), parts.pop("maxItems")
        bounds = {"low": self.bound(low), "high": self.bound(high)}
        if items := parts.pop("prefixItems", None):
            first, second = map(self.form, items)
            return self.add("pair", parts, **bounds, items=first, second=second)
        flags["is_unique"] = parts.pop("uniqueItems", False)
        return self.add("array", parts, **bounds, items=self.form(parts.pop("items")), **flags)

    def object(self, parts: Schema, **flags: bool) -> int:
        conditions = parts.pop("allOf", [])
        if conditions:
            return self.either(parts, conditions)
        if parts.pop("additionalProperties") is not False:
            raise ValueError("forms.hpp has nothing for an object that takes any members")
        needed, forms = parts.pop("required"), parts.pop("properties")
        exclusive = [name for choice in parts.pop("oneOf", ()) for name in choice["required"]]
        if exclusive and list(forms)[:2] != exclusive:
            raise ValueError("forms.hpp has exclusive members first")
        members = [(name, self.form(part), name in needed) for name, part in forms.items()]
        return self.add(
            "object", parts, **self.have(members), is_exclusive=bool(exclusive), **flags
        )

    def either(self, parts: Schema, conditions: list[Schema]) -> int:
        """Add the form of an object whose other members depend on a word in one of them."""
        [name] = {name for condition in conditions for name in condition["if"]["properties"]}
        words = parts["properties"][name]
        choices = []
        for word in words["enum"]:
            branch = parts | {"type": "object"}
            for condition in conditions:
                holds = condition["if"]["properties"][name]["const"] == word
                branch = overlaid(branch, condition.get("then" if holds else "else", {}))
            choices.append((name, self.form(branch), True))
        return self.add("either", {}, items=self.form(words), **self.have(choices))


def place(items: list[Any], run: list[Any]) -> int:
    """Return where items follow one another in a list, to whose end they are added if need be."""
    for i in range(len(items)):
        if items[i : i + len(run)] == run:
            return i
    items += run
    return len(items) - len(run)


def overlaid(schema: Schema, more: Schema) -> Schema:
    """Return a schema of an object that keeps another one's rules, too."""
    result = schema | {"properties": dict(schema["properties"])}
    result["required"] = [*schema["required"], *more.get("required", ())]
    for name, part in more.get("properties", {}).items():
        known = result["properties"].get(name, {})
        result["properties"][name] = part if "not" in part else known | part
    return result


def module(schema: Schema) -> str:
    """Return the header."""
    definitions = schema["$defs"]
    tables = Tables(definitions)
    limits = definitions["requires"]["properties"]["limits"]
    roots = {
        "schedule": {key: part for key, part in schema.items() if key != "$defs"},
        "sizes": definitions["sizes"],
        "limits": limits,
        "integer": definitions["integer"],
    }
    found = {name: tables.form(part) for name, part in roots.items()}
    lines = ["// Written by tools/make_web.py from schedule.schema.json.", ""]
    lines += ["#ifndef SHADERGEN_SCHEMA_HPP", "#define SHADERGEN_SCHEMA_HPP", ""]
    lines += ['#include "forms.hpp"', "", "namespace shadergen::forms {", ""]
    lines[1:1] = ["// clang-format off"]
    lines += [f"constexpr Id {name}_form = {index};" for name, index in found.items()]
    lines += ["", "constexpr Form table[] = {", *(f"    {{{f}}}," for f in tables.forms), "};"]
    lines += [
        "",
        "constexpr Member members[] = {",
        *(f"    {{{m}}}," for m in tables.members),
        "};",
    ]
    lines += [
        "",
        "constexpr std::int64_t bounds[] = {",
        *(f"    {b}," for b in tables.bounds),
        "};",
    ]
    names = [f'    "{name}\\0"' for name in tables.letters]
    lines += ["", "constexpr char letters[] =", "\n".join(names) + ";"]
    lines += ["", "}  // namespace shadergen::forms", ""]
    words = "".join(f"    {name},\n" for name in (*limits["properties"], "limit_count"))
    enum = f"enum Limit : std::size_t {{\n{words}}};"
    lines += ["namespace shadergen {", "", enum, "", "}  // namespace shadergen", "", "#endif", ""]
    if max(len(tables.forms), len(tables.members), len(tables.bounds)) > 256:
        raise ValueError("forms.hpp counts in bytes")
    return "\n".join(lines)
