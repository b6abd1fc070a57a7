"""The rules of a schedule in JavaScript."""

from __future__ import annotations

import ast
from typing import ClassVar

from .rules import Language, unknown


class JavaScript(Language):
    """Members of the schedule are those of the document, all else functions of parts.js."""

    indent = "  "
    sayings: ClassVar[dict[str, str]] = {
        "bits": "parseInt(formatOf({}).type)",
        "bytes": "bytes({})",
        "color_bits": "COLOR_BITS[{}.color_buffer]",
        "components": "formatOf({}).components",
        "has_barriers": "{}.barriers.length > 0",
        "has_images": "/^rgba|^r32f/.test({}.format)",
        "is_array": "isArray({})",
        "is_compute": '{}.stage === "compute"',
        "is_external": '{}.kind === "external"',
        "is_image": "{}.uniform === undefined",
        "is_planes": '{}.packing === "planes"',
        "is_storage": '{}.kind === "storage"',
        "range": "{}",
    }
    done = "return;"

    def name(self, name: str) -> str:
        first, *rest = name.lstrip("_").split("_")
        return name if name.isupper() else first + "".join(word.capitalize() for word in rest)

    def constant(self, name: str, value: str) -> None:
        self.put(0, f"const {name} = {value};")

    def function(self, node: ast.FunctionDef) -> None:
        arguments = ", ".join(self.name(a.arg) for a in node.args.args)
        export = "" if node.name.startswith("_") else "export "
        self.put(0, f"\n{export}function {self.name(node.name)}({arguments}) {{")
        self.block(node.body, 1)
        self.put(0, "}")

    def string(self, value: str) -> str:
        return f'"{value}"'

    def template(self, node: ast.JoinedStr) -> str:
        return f"`{''.join(map(self.part, node.values))}`"

    def part(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(str(value)):
                return value
            case ast.FormattedValue(value, conversion):
                shown = f"${{{self.expression(value)}}}"
                return f"'{shown}'" if conversion == ord("r") else shown
        raise unknown(node)

    def refuse(self, what: ast.expr, place: ast.expr) -> str:
        return self.check("refuse", [what, place])

    def check(self, name: str, arguments: list[ast.expr]) -> str:
        return f"{self.function_name(name)}({', '.join(map(self.expression, arguments))});"

    def key(self, node: ast.expr) -> str:
        if isinstance(node, ast.Tuple):
            return f"`{' '.join(f'${{{self.expression(item)}}}' for item in node.elts)}`"
        return self.expression(node)

    def add(self, name: str, item: ast.expr) -> str:
        word = "push" if name in self.lists else "add"
        return f"{self.name(name)}.{word}({self.key(item)});"

    def variable(self, name: str, kind: str, value: ast.expr | None, depth: int) -> None:
        if kind.startswith("set"):
            text = "new Set()"
        else:
            text = ast.unparse(value) if isinstance(value, ast.List | ast.Dict) else ""
        word = "let" if name in self.changing else "const"
        self.put(depth, f"{word} {self.name(name)} = {text or self.expression(value)};")

    def assign(self, target: ast.expr, value: ast.expr, depth: int) -> None:
        match target:
            case ast.Tuple(parts):
                names = f"const [{', '.join(self.expression(part) for part in parts)}]"
            case ast.Name(name):
                names = self.name(name) if name in self.changing else f"const {self.name(name)}"
        self.put(depth, f"{names} = {self.expression(value)};")

    def loop(self, node: ast.For, depth: int) -> None:
        match node.iter:
            case ast.Call(ast.Name("enumerate"), [of]):
                text = f"{self.listed(self.items(of))}.entries()"
            case ast.Call(ast.Name("range"), [*low, high]):
                name = self.expression(node.target)
                first = self.expression(low[0]) if low else "0"
                text = f"let {name} = {first}; {name} < {self.expression(high)}; {name}++"
                return self.put(depth, f"for ({text}) {{")
            case ast.Call(ast.Attribute(of, "items"), []):
                text = f"Object.entries({self.expression(of)})"
            case _:
                text = self.items(node.iter)
        names = self.expression(node.target) if isinstance(node.target, ast.Name) else ""
        if isinstance(node.target, ast.Tuple):
            names = f"[{', '.join(map(self.expression, node.target.elts))}]"
        return self.put(depth, f"for (const {names} of {text}) {{")

    def values(self, of: str) -> str:
        return f"{of}.values()"

    def look_up(self, of: str, key: str) -> str:
        return f"{of}.get({key})"

    def has(self, of: ast.expr, item: ast.expr) -> str:
        word = "includes" if isinstance(of, ast.Name) and of.id in self.lists else "has"
        return f"{self.expression(of)}.{word}({self.key(item)})"

    def is_none(self, value: str) -> str:
        return f"({value} == null)"

    def equal(self, left: ast.expr, is_equal: bool, right: ast.expr) -> str:
        return f"{self.inner(left)} {'===' if is_equal else '!=='} {self.inner(right)}"

    def quotient(self, left: str, right: str) -> str:
        return f"Math.floor({left} / {right})"

    def over(self, name: str, item: str, items: str, value: ast.expr) -> str:
        found = f"(({self.name(item)}) => {self.expression(value)})"
        items = self.listed(items)
        return f"{items}.some{found}" if name == "any" else f"{items}.filter{found}.length"

    def listed(self, items: str) -> str:
        """Return an array of what an iterator gives."""
        return f"[...{items}]" if items.endswith(".values()") else items

    def call(self, name: str, arguments: list[str]) -> str:
        if name == "len":
            return f"{arguments[0]}.{'size' if arguments[0] in self.sets else 'length'}"
        if name in ("min", "max"):
            return f"Math.{name}({', '.join(arguments)})"
        return f"{self.function_name(name)}({', '.join(arguments)})"


def module(tree: ast.Module) -> str:
    """Return the module."""
    rules = JavaScript(tree)
    rules.used |= {"COLOR_BITS", "bytes", "formatOf", "is_array"}  # in the sayings
    head = "// Written by tools/make_web.py from python/rules.py.\n\n"
    names = ", ".join(sorted(map(rules.name, rules.used)))
    return "\n".join([f'{head}import {{ {names} }} from "./parts.js";\n', *rules.lines, ""])
