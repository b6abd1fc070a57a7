"""Write the generated tables of the documents.

    python tools/make_docs.py            rewrite them
    python tools/make_docs.py --check    exit with 1 when one is out of date

A document marks such a part with <!-- generated: NAME --> and <!-- end of NAME -->; ``PARTS`` says
where each comes from. tests/project/test_docs.py runs the check.
"""

from __future__ import annotations

import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shadergen.backends.devices import DEFAULT_DEVICE, DEVICES
from shadergen.backends.devices.families import FAMILIES as GPUS
from shadergen.backends.devices.families import FITTED
from shadergen.backends.devices.gpus import GPUS as RATES
from shadergen.backends.dialects.glsl_es import print_expression
from shadergen.backends.shader.expressions import Variable
from shadergen.backends.shader.formulas import Formulas
from shadergen.backends.shader.types import VEC4
from shadergen.compiler.cli import cli
from shadergen.compiler.cli.help import groups
from shadergen.compiler.definitions import CALLABLE
from shadergen.compiler.frontends.keras.layers.named_activations import ACTIVATIONS, OVER_AN_AXIS
from shadergen.compiler.frontends.keras.layers.table import LAYERS
from shadergen.compiler.frontends.keras.ops.table import OPERATIONS
from shadergen.compiler.frontends.onnx.folding.by_numpy import COMPUTED
from shadergen.compiler.frontends.onnx.folding.by_onnx_reference import EVALUATED
from shadergen.compiler.frontends.onnx.ops.table import DOMAINS
from shadergen.errors import CODES, CURES
from shadergen.ir.expr import Call, Num, Var, number_text, to_text
from shadergen.ir.formulas import FORMULAS, body, signature
from shadergen.ir.primitives import PRIMITIVES
from shadergen.passes.placement.target import Limits
from shadergen.runtime_glue.python.device import LIMITS as GL_LIMITS
from shadergen.runtime_glue.python.pixels import FORMATS
from shadergen.runtime_glue.python.textures import GL_COMPONENTS, GL_TYPES
from shadergen.runtime_glue.python.webgpu.device import LIMITS as WEBGPU_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROOT = Path(__file__).resolve().parents[1]
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
FAMILIES = {
    "SG01": "Reading a model file",
    "SG02": "Understanding a model",
    "SG03": "Options and definitions",
    "SG04": "Fitting a device",
    "SG05": "Writing and reading a build",
    "SG06": "Running on GL or WebGPU",
    "SG07": "Verifying",
}
INDEX_ONLY = {"idiv", "imod"}
WRITTEN_AS_SIGNS = {"add", "sub", "mul", "div", "neg", "lt", "le", "eq"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines
    )


def code(text: str) -> str:
    return f"`{text}`"


def names(known: Iterable[str]) -> str:
    return ", ".join(map(code, known))


def errors() -> str:
    parts = []
    for family, title in FAMILIES.items():
        rows = [(code(c), text, CURES[c]) for c, text in CODES.items() if c.startswith(family)]
        parts.append(f"## {title}\n\n{table(('code', 'cause', 'what usually helps'), rows)}")
    missing = [c for c in CODES if c[:4] not in FAMILIES]
    if missing:
        raise SystemExit(f"tools/make_docs.py has no family for {missing}")
    return "\n\n".join(parts)


def primitives() -> str:
    rows = []
    for name, primitive in PRIMITIVES.items():
        letters = "abc"[: primitive.arity] if primitive.arity > 1 else "x"
        call = Call(name, tuple(map(Var, letters)))
        if name in INDEX_ONLY:
            glsl = "none: for the compiler's index maps"
        else:
            names = {v: Variable(v, VEC4) for v in letters}
            glsl = code(print_expression(Formulas("highp").expression(call, names)))
        sign = code(to_text(call)) if name in WRITTEN_AS_SIGNS else ""
        rows.append((code(f"{name}({', '.join(letters)})"), sign, glsl))
    return table(("primitive", "may be written", "in GLSL, highp"), rows)


def formulas() -> str:
    rows = [(code(signature(name)), code(body(name))) for name in FORMULAS]
    return table(("formula", "body"), rows)


def operators() -> str:
    rows = []
    for name, op in sorted(CALLABLE.items()):
        attributes = []
        for f in fields(op):  # type: ignore[arg-type]
            default = "" if f.default is MISSING else f"={_default(f.default)}"
            attributes.append(f"{f.name}{default}")
        summary = _summary(op)
        rows.append((code(name), summary, names(attributes) or "none"))
    return table(("operator", "does", "attributes"), rows)


def _summary(op: type) -> str:
    """Return the first line of an operator's docstring, as Markdown."""
    line = (op.__doc__ or "").partition("\n")[0].rstrip(".").replace("``", "`")
    return re.sub(r":class:`(\w+)`", r"`\1`", line)


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, (Num, Var, Call)):
        return to_text(value)
    if value is None:
        return "none"
    return f'"{value}"' if isinstance(value, str) else number_text(value)


def families() -> str:
    """Return what is known of each family of GPUs."""
    rows = []
    for name, device in GPUS.items():
        like = "gles32-desktop" if device.limits == DEVICES["gles32-desktop"].limits else ""
        like = like or ("gles31-mobile" if device.glsl >= 310 else "gles30")
        fitted = "fitted" if device.costs[0] in FITTED else "from documentation"
        registers = str(device.costs[0].registers or "no limit")
        rows.append((code(name), device.gpu, code(like), registers, fitted))
    heads = ("profile", "times for", "limits of", "registers", "costs")
    return table(heads, rows)


def rates() -> str:
    rows = [
        (
            name,
            gpu.system,
            code(gpu.family),
            f"{gpu.gigahertz * 1e3:g}",
            str(gpu.lanes),
            str(gpu.texels),
            str(gpu.texel_bytes),
            str(gpu.pixels),
            f"{gpu.gigabytes:g}",
        )
        for name, gpu in RATES.items()
    ]
    heads = ("GPU", "system", "profile", "MHz", "multiply-adds a clock", "texels a clock")
    return table((*heads, "bytes of a texel", "pixels a clock", "GB/s"), rows)


def devices() -> str:
    classes = {name: p for name, p in DEVICES.items() if name not in GPUS}
    profiles = classes.values()
    rows = [
        ("shaders", *("WGSL" if p.wgsl else f"GLSL ES {p.glsl}" for p in profiles)),
        (
            "textures are read by",
            *(f"`--fetch {p.fetch}`" for p in profiles),
        ),
    ]
    for field in fields(Limits):
        values = (str(getattr(p.limits, field.name)) for p in profiles)
        rows.append((field.name.replace("_", " "), *values))
    heads = (code(n) + (" (default)" if n == DEFAULT_DEVICE else "") for n in classes)
    return table(("", *heads), rows)


def limits() -> str:
    """Return the names of each limit on OpenGL ES and WebGPU."""
    beside = {
        "draw_buffers": ", at most `maxColorAttachmentBytesPerSample` / 16",
        "uniform_blocks": " - 1 (one is kept for the buffer of `uniforms`)",
        "compute_uniform_blocks": " - 1 (one is kept for the buffer of `uniforms`)",
    }
    rows = []
    for field in fields(Limits):
        key = WEBGPU_LIMITS.get(field.name)
        webgpu = f"{code(_camel_case(key))}{beside.get(field.name, '')}" if key else "none"
        rows.append((code(field.name), code(GL_LIMITS[field.name][0]), webgpu))
    return table(("`limits`", "OpenGL ES", "WebGPU"), rows)


def texture_formats() -> str:
    """Return what GL calls each format of a texture."""
    rows = []
    for name, form in FORMATS.items():
        layout, type_ = GL_COMPONENTS[form.components], GL_TYPES[name.lstrip("rgba")]
        internal = f"GL_{name.upper()}"
        rows.append((code(name), code(internal), code(layout), code(type_), str(form.bytes)))
    heads = (code("format"), "internal format", "format of uploads", "type", "bytes of a texel")
    return table(heads, rows)


def _camel_case(key: str) -> str:
    """Return WebGPU's spelling of a limit that the package wgpu spells with hyphens."""
    first, *rest = key.split("-")
    return first + "".join(w.upper() if w[0].isdigit() else w.title() for w in rest)


def options(command: str) -> Callable[[], str]:
    """Return what writes the tables of a command's options, a table for each group.

    Options that mean the same as those of compile are only named.
    """

    def part() -> str:
        explained = [] if command == "compile" else [_row(p) for p in _shown("compile")]
        shown = [p for p in _shown(command) if _row(p) not in explained]
        context = click.Context(cli.commands[command])
        parts = []
        for title, group in groups(cli.commands[command], context):
            rows = [_row(p) for p in group if p in shown]
            if rows:
                head = f"**{title}**\n\n" if command == "compile" else ""
                parts.append(head + table(("option", "value", "meaning"), rows))
        if command != "compile":
            parts = [_joined(parts)] if parts else []
            same = [p.opts[-1] for p in _shown(command) if p not in shown]
            if same:
                parts.append(f"As for [`compile`](#compile): {names(same)}.")
        return "\n\n".join(parts)

    return part


def _shown(command: str) -> list[click.Option]:
    """Return the options of a command that its documentation explains."""
    options = (p for p in cli.commands[command].params if isinstance(p, click.Option))
    return [p for p in options if not p.hidden and p.name != "help_all"]


def _row(p: click.Option) -> tuple[str, str, str]:
    value = "" if p.metavar else names(getattr(p.type, "choices", ()))
    if not value and not p.is_flag:
        value = code(p.metavar or p.type.name.upper())
    if isinstance(p.show_default, str):
        value += f"; default: {p.show_default}"
    elif p.show_default and p.default is not None:
        value += f"; default {code(str(p.default))}"
    return names(reversed(p.opts)), value, p.help or ""


def _joined(tables: Sequence[str]) -> str:
    """Return tables with the same head as one."""
    first, *others = tables
    return "\n".join((first, *(row for t in others for row in t.split("\n")[2:])))


PARTS: dict[str, Callable[[], str]] = {
    "errors": errors,
    "primitives": primitives,
    "formulas": formulas,
    "operators": operators,
    "devices": devices,
    "families": families,
    "limits": limits,
    "rates": rates,
    "texture_formats": texture_formats,
    **{f"options_{name}": options(name) for name in cli.commands},
    "keras_layers": lambda: names(sorted(LAYERS)),
    "keras_activations": lambda: names(sorted((*ACTIVATIONS, *OVER_AN_AXIS))),
    "keras_operations": lambda: names(sorted(OPERATIONS)),
    "onnx_operators": lambda: names(sorted(DOMAINS[""])),
    "onnx_computed": lambda: names(sorted({*COMPUTED, *EVALUATED} - set(DOMAINS[""]))),
    "onnx_machine_learning": lambda: names(sorted(DOMAINS["ai.onnx.ml"])),
    "onnx_microsoft": lambda: names(sorted(DOMAINS["com.microsoft"])),
}


def updated(text: str) -> str:
    """Return a document with its generated parts as they should be."""
    return PART.sub(lambda m: f"{m[1]}\n{PARTS[m[2]]()}\n\n{m[3]}", text)


def documents() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = [p for p in documents() if updated(p.read_text("utf-8")) != p.read_text("utf-8")]
    for path in stale:
        click.echo(f"{path.relative_to(ROOT)} {'is out of date' if check else 'is rewritten'}")
        if not check:
            path.write_text(updated(path.read_text("utf-8")), "utf-8")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
