"""The rules of runtime_glue/python/rules.py in C++ and JavaScript.

They keep to little of Python: functions that return nothing but may refuse; `for` over lists, with
`enumerate`, `range`, `pairwise` and `items`; `if`, `return`, `continue`; lists and sets that grow;
of generators `any`, `sum` of truths, and sets. A variable that changes is declared with its type.
Members of the schedule are attributes, and so is what each runtime derives from them (`is_array`).
What else the rules use is refused here.
"""

from __future__ import annotations

import ast
from typing import Any, ClassVar

MAPS = ("textures", "buffers")  # members of a build in which a name is looked up
WORDS = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.And: "&&", ast.Or: "||"},
    **{ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<=", ast.Not: "!", ast.USub: "-"},
}
COMPOUND = (ast.BoolOp, ast.BinOp, ast.IfExp, ast.Compare)


def unknown(node: ast.AST) -> ValueError:
    return ValueError(f"tools/runtimes/rules.py has nothing for {ast.unparse(node)}")


class Language:
    """The common part of the languages; subclasses print the parts that differ."""

    indent = "    "
    # members that a schedule does not have, or not so: how to get them from what is put for {}
    sayings: ClassVar[dict[str, str]] = {}

    def __init__(self, tree: ast.Module) -> None:
        self.lines: list[str] = []
        self.used: set[str] = set()  # functions that are not the rules' own
        self.own = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.own |= {n.targets[0].id for n in tree.body if isinstance(n, ast.Assign)}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                self.constant(node.targets[0].id, self.expression(node.value))
            elif isinstance(node, ast.FunctionDef):
                self.lists: set[str] = set()
                self.sets: set[str] = set()
                self.changing: set[str] = set()
                self.function(node)

    def put(self, depth: int, text: str) -> None:
        self.lines.append(self.indent * depth + text)

    # statements

    def block(self, body: list[ast.stmt], depth: int) -> None:
        for node in body:
            self.statement(node, depth)

    def statement(self, node: ast.stmt, depth: int) -> None:
        match node:
            case ast.Expr(ast.Constant()):
                pass  # a docstring
            case ast.If():
                self.condition(node, depth, "if")
            case ast.For():
                self.loop(node, depth)
                self.block(node.body, depth + 1)
                self.put(depth, "}")
            case ast.Return(None):
                self.put(depth, self.done)
            case ast.Continue():
                self.put(depth, "continue;")
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "add" | "append"), [item])):
                self.put(depth, self.add(name, item))
            case ast.Expr(ast.Call(ast.Name("refuse"), [what, place])):
                self.put(depth, self.refuse(what, place))
            case ast.Expr(ast.Call(ast.Name(name), arguments)):
                self.put(depth, self.check(name, arguments))
            case ast.AnnAssign(ast.Name(name), kind, value):
                self.declare(name, ast.unparse(kind), value, depth)
            case ast.Assign([target], value):
                self.assign(target, value, depth)
            case _:
                raise unknown(node)

    def condition(self, node: ast.If, depth: int, word: str) -> None:
        self.put(depth, f"{word} ({self.expression(node.test)}) {{")
        self.block(node.body, depth + 1)
        match node.orelse:
            case [ast.If() as other]:
                return self.condition(other, depth, "} else if")
            case [_, *_]:
                self.put(depth, "} else {")
                self.block(node.orelse, depth + 1)
        self.put(depth, "}")
        return None

    def declare(self, name: str, kind: str, value: ast.expr | None, depth: int) -> None:
        if kind.startswith("list"):
            self.lists.add(name)
        elif kind.startswith("set"):
            self.sets.add(name)
        elif kind == "int":
            self.changing.add(name)
        self.variable(name, kind, value, depth)
        if isinstance(value, ast.SetComp):
            [part] = value.generators
            each = ast.For(part.target, part.iter)
            self.loop(each, depth)
            body: Any = self.add(name, value.elt)
            for test in part.ifs:
                body = f"if ({self.expression(test)}) {body}"
            self.put(depth + 1, body)
            self.put(depth, "}")

    # expressions

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Name(name):
                return self.function_name(name) if name.isupper() else self.name(name)
            case ast.Constant(str(value)):
                return self.string(value)
            case ast.Constant(value):
                return str(value)
            case ast.JoinedStr():
                return self.template(node)
            case ast.Attribute(of, name):
                return self.attribute(self.expression(of), name)
            case ast.BoolOp(operator, values):
                return f" {WORDS[type(operator)]} ".join(map(self.inner, values))
            case ast.UnaryOp(operator, operand):
                return WORDS[type(operator)] + self.inner(operand)
            case ast.BinOp(left, ast.LShift(), right):
                return str(ast.literal_eval(left) << ast.literal_eval(right))
            case ast.BinOp(left, ast.FloorDiv(), right):
                return self.quotient(self.inner(left), self.inner(right))
            case ast.BinOp(left, operator, right):
                return f"{self.inner(left)} {WORDS[type(operator)]} {self.inner(right)}"
            case ast.IfExp(test, body, other):
                return f"{self.inner(test)} ? {self.inner(body)} : {self.inner(other)}"
            case ast.Compare(left, [operator], [right]):
                return self.compare(left, operator, right)
            case ast.Subscript(ast.Attribute(_, name) as of, key) if name in MAPS:
                return self.look_up(self.expression(of), self.expression(key))
            case ast.Subscript(of, key):
                return f"{self.expression(of)}[{self.expression(key)}]"
            case ast.Call(ast.Name("isinstance"), [of, ast.Name(kind)]):
                found = self.attribute(self.expression(of), "is_compute")
                return found if kind == "ComputePass" else f"!{found}"
            case ast.Call(ast.Name("any" | "sum" as name), [ast.GeneratorExp(value, [part])]):
                return self.over(name, part.target.id, self.items(part.iter), value)
            case ast.Call(ast.Name(name), arguments):
                return self.call(name, [self.expression(a) for a in arguments])
        raise unknown(node)

    def inner(self, node: ast.expr) -> str:
        """Return an expression, in brackets if operator precedence requires them."""
        text = self.expression(node)
        return f"({text})" if isinstance(node, COMPOUND) and " " in text else text

    def compare(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> str:
        match operator:
            case ast.In():
                return self.has(right, left)
            case ast.NotIn():
                return f"!{self.has(right, left)}"
            case ast.Is():
                return self.is_none(self.expression(left))
            case ast.IsNot():
                return f"!{self.is_none(self.expression(left))}"
            case ast.Eq() | ast.NotEq():
                return self.equal(left, isinstance(operator, ast.Eq), right)
        return f"{self.inner(left)} {WORDS[type(operator)]} {self.inner(right)}"

    def attribute(self, of: str, name: str) -> str:
        if name not in self.sayings:
            return f"{of}.{name}"
        text = self.sayings[name].format(of)
        return f"({text})" if " " in text else text

    def items(self, node: ast.expr) -> str:
        """Return the items of a loop."""
        match node:
            case ast.Call(ast.Attribute(of, "values"), []):
                return self.values(self.expression(of))
        return self.expression(node)

    def function_name(self, name: str) -> str:
        """Return the name of a function or constant, and note it where another file has it."""
        if name not in self.own:
            self.used.add(name)
        return self.name(name)
