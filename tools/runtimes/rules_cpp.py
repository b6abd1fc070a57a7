"""The rules of a schedule in C++.

A function of rules returns whether they hold, and else an error. What they are written in is in
rules.hpp and schedule.hpp.
"""

from __future__ import annotations

import ast
from typing import ClassVar

from .rules import MAPS, Language, unknown

TYPES = {
    "Build": "const Schedule&",
    "GpuPass": "const Pass&",
    "Place": "const Place&",
    "Port": "const Port&",
    "Range": "const Range&",
    "Ref": "const Ref&",
    "Sequence[Port]": "const List<Port>&",
    "Texture": "const Texture&",
    "bool": "bool",
    "int": "std::int64_t",
    "list[int]": "List<std::int64_t>",
    "list[str]": "List<std::string_view>",
    "set[Layer]": "Set",
    "set[Ref]": "Set",
    "Use": "Limits",
}
# words of the schedule that are more than text here: how they are compared and how they are shown
WORDS = {
    ("dtype", "float32"): "DType::float32",
    ("encoding", "float"): "Encoding::plain",
    ("encoding", "unorm8"): "Encoding::unorm8",
    ("encoding", "y2rg"): "Encoding::y2rg",
    ("encoding", "y2rg_half"): "Encoding::y2rg_half",
    ("format", "rgba8"): 'format_of("rgba8")',
}
SHOWN = {"dtype": "name_of({})", "encoding": "name_of({})", "format": "{}->name"}


class Cpp(Language):
    """Members of the schedule are those of schedule.hpp, all else is of rules.hpp."""

    done = "return true;"
    sayings: ClassVar[dict[str, str]] = {
        "bits": "{}.format->bits()",
        "bytes": "{}.bytes()",
        "color_bits": "{}.color_bits()",
        "components": "{}.format->components",
        "has_barriers": "{}.barriers != 0",
        "has_images": "{}.format->image",
        "is_image": "{}.is_image()",
        "requires": "{}.required",
    }

    def name(self, name: str) -> str:
        return name.lower().lstrip("_")

    def constant(self, name: str, value: str) -> None:
        self.put(0, f"constexpr std::int64_t {self.name(name)} = {value};")

    def function(self, node: ast.FunctionDef) -> None:
        self.put(0, f"\n{self.head(node)} {{")
        self.limits: set[str] = set()  # variables that stand for names of limits
        self.block(node.body, 1)
        self.put(1, self.done)
        self.put(0, "}")

    def head(self, node: ast.FunctionDef) -> str:
        arguments = []
        for argument in node.args.args:
            assert argument.annotation
            kind = TYPES[ast.unparse(argument.annotation)]
            arguments.append(f"{kind}{'&' if kind == 'Set' else ''} {argument.arg}")
        return f"bool {self.name(node.name)}({', '.join([*arguments, 'Error& error'])})"

    # messages and places

    def string(self, value: str) -> str:
        return value  # a limit

    def message(self, node: ast.expr) -> str:
        """Return a message with its words, as two arguments."""
        text, words = "", []
        for part in node.values if isinstance(node, ast.JoinedStr) else [node]:
            match part:
                case ast.Constant(str(value)):
                    text += value
                case ast.FormattedValue(value, conversion):
                    text += "'{}'" if conversion == ord("r") else "{}"
                    words.append(self.shown(value))
        return f'"{text}", {{{", ".join(words)}}}'

    def shown(self, node: ast.expr) -> str:
        text = self.expression(node)
        if isinstance(node, ast.Name) and node.id in self.limits:
            return f"limit_name({text})"
        name = node.attr if isinstance(node, ast.Attribute) else ""
        return SHOWN.get(name, "{}").format(text)

    def place(self, node: ast.expr) -> list[str]:
        """Return the arguments of a place: what it is in, the member, an index."""
        match node:
            case ast.Constant(str(value)):
                return [f'"{value}"']
            case ast.JoinedStr([ast.FormattedValue(outer), ast.Constant(member)]):
                return [self.expression(outer), f'"{member[1:]}"']
            case ast.JoinedStr([ast.Constant(outer), ast.FormattedValue(member)]):
                return [f'"{outer[:-1]}"', self.shown(member)]
            case ast.JoinedStr([ast.Constant(member), ast.FormattedValue(i), ast.Constant("]")]):
                return [f'"{member[:-1]}"', self.expression(i)]
            case ast.JoinedStr([ast.FormattedValue(outer), *rest]) if rest[-1].value == "]":
                member = rest[0].value[1:-1]
                index = self.expression(rest[1].value)
                return [self.expression(outer), f'"{member}"' if member else "nullptr", index]
        return [self.expression(node)]

    def template(self, node: ast.JoinedStr) -> str:
        return f"Place({', '.join(self.place(node))})"

    def refuse(self, what: ast.expr, place: ast.expr) -> str:
        parts = self.place(place)
        where = ", ".join(parts) if len(parts) < 3 else self.expression(place)
        return f"return refuse(error, {self.message(what)}, {where});"

    # statements

    def check(self, name: str, arguments: list[ast.expr]) -> str:
        if name not in self.own:
            return f"{name}({', '.join(map(self.expression, arguments))});"
        given = [
            ", ".join(self.place(a)) if isinstance(a, ast.Constant) else self.expression(a)
            for a in arguments
        ]
        return f"if (!{self.name(name)}({', '.join([*given, 'error'])})) return false;"

    def key(self, node: ast.expr) -> str:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return f"key({', '.join(map(self.expression, parts))})"

    def add(self, name: str, item: ast.expr) -> str:
        if name in self.lists:
            return f"{name}.push_back({self.expression(item)});"
        return f"{name}.add({self.key(item)});"

    def variable(self, name: str, kind: str, value: ast.expr | None, depth: int) -> None:
        text = f" = {self.expression(value)}" if name in self.changing and value else ""
        self.put(depth, f"{TYPES[kind]} {name}{text or ('{}' if kind == 'Use' else '')};")

    def assign(self, target: ast.expr, value: ast.expr, depth: int) -> None:
        match target, value:
            case ast.Tuple(parts), _:
                names = ", ".join(self.expression(part) for part in parts)
                self.put(depth, f"const auto [{names}] = {self.expression(value)};")
            case ast.Name(name), ast.JoinedStr([ast.Constant(), _, ast.Constant(), *more]) if more:
                self.put(depth, f"const std::string {name}_text = say({self.message(value)});")
                self.put(depth, f"const Place {name}({name}_text.c_str());")
            case ast.Name(name), ast.JoinedStr():
                self.put(depth, f"const Place {name}({', '.join(self.place(value))});")
            case ast.Name(name), ast.Subscript(ast.Attribute(_, of)) if of in MAPS:
                self.put(depth, f"const auto& {name} = {self.expression(value)};")
            case ast.Name(name), _:
                kind = "" if name in self.changing else "const auto "
                self.put(depth, f"{kind}{name} = {self.expression(value)};")

    def loop(self, node: ast.For, depth: int) -> None:
        match node.target, node.iter:
            case ast.Tuple([ast.Name(i), ast.Name(item)]), ast.Call(ast.Name("enumerate"), [of]):
                items = self.items(of)
                self.put(depth, f"for (std::size_t {i} = 0; {i} < {items}.size(); ++{i}) {{")
                self.put(depth + 1, f"const auto& {item} = {items}[{i}];")
            case ast.Tuple([ast.Name(a), ast.Name(b)]), ast.Call(ast.Name("pairwise"), [of]):
                self.put(depth, f"const auto items = {self.expression(of)};")
                self.put(depth, "for (std::size_t i = 1; i < items.size(); ++i) {")
                self.put(depth + 1, f"const auto &{a} = *items[i - 1], &{b} = *items[i];")
            case ast.Tuple([ast.Name(i), ast.Name(item)]), ast.Call(ast.Attribute(of, "items")):
                self.limits.add(i)
                self.put(depth, f"for (std::size_t {i} = 0; {i} < limit_count; ++{i}) {{")
                self.put(depth + 1, f"const auto {item} = {self.expression(of)}[{i}];")
            case ast.Name(i), ast.Call(ast.Name("range"), [*low, high]):
                first = self.expression(low[0]) if low else "0"
                test = f"{i} < {self.expression(high)}"
                self.put(depth, f"for (std::int64_t {i} = {first}; {test}; ++{i}) {{")
            case ast.Name(item), _:
                self.put(depth, f"for (const auto& {item} : {self.items(node.iter)}) {{")
            case _:
                raise unknown(node)

    # expressions

    def values(self, of: str) -> str:
        return of

    def look_up(self, of: str, key: str) -> str:
        return f"{of}[at({key})]"

    def has(self, of: ast.expr, item: ast.expr) -> str:
        if isinstance(of, ast.Attribute) or of.id in self.lists:
            return f"has({self.expression(of)}, {self.expression(item)})"
        return f"{self.expression(of)}.has({self.key(item)})"

    def is_none(self, value: str) -> str:
        return f"is_none({value})"

    def equal(self, left: ast.expr, is_equal: bool, right: ast.expr) -> str:
        match left, right:
            case ast.Attribute(_, name), ast.Constant(str(word)):
                other = WORDS[name, word]
            case _:
                other = self.inner(right)
        return f"{self.inner(left)} {'==' if is_equal else '!='} {other}"

    def quotient(self, left: str, right: str) -> str:
        return f"{left} / {right}"

    def over(self, name: str, item: str, items: str, value: ast.expr) -> str:
        function = "any" if name == "any" else "count"
        return (
            f"{function}({items}, [&](const auto& {item}) {{ return {self.expression(value)}; }})"
        )

    def call(self, name: str, arguments: list[str]) -> str:
        if name in ("min", "max"):
            name = f"std::{name}<std::int64_t>"
        return f"{'length' if name == 'len' else name}({', '.join(arguments)})"


def module(tree: ast.Module) -> str:
    """Return the source file."""
    rules = Cpp(tree)
    heads = [rules.head(node) for node in tree.body if isinstance(node, ast.FunctionDef)]
    lines = ["// Written by tools/make_web.py from python/rules.py.", "// clang-format off", ""]
    # not static, lest compilers make one function of all, whose large frame takes more code
    lines += ['#include "rules.hpp"', "", "namespace shadergen::rules {", ""]
    lines += [f"{head};" for head in heads]
    return "\n".join([*lines, "", *rules.lines, "", "}  // namespace shadergen::rules", ""])
