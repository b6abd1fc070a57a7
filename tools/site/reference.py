"""The generated reference pages of the site: each function returns a page's Markdown.

C++ and JavaScript are read from the public header and the type declarations: the comments there are
the documentation, so the pages show them with the declarations.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HEADER = "runtime_glue/cpp/include/shadergen/shadergen.hpp"
TYPES = {
    "shadergen-web (WebGL 2)": "runtime_glue/web/shadergen.d.ts",
    "shadergen-web/webgpu": "runtime_glue/web/webgpu/index.d.ts",
    "shadergen-web/auto": "runtime_glue/web/auto.d.ts",
    "shadergen-web/picture-network": "runtime_glue/web/picture_network.d.ts",
}
SOURCES = {
    "onnx ai.onnx": "ONNX",
    "keras layer": "Keras layers",
    "pytorch": "PyTorch",
    "ir": "Operators of definitions",
    "formula": "Formulas",
}


def operators() -> str:
    """Return all operators, layers and functions by their sources, as in ``shadergen ops``."""
    from shadergen.compiler.vocabulary import entries

    parts = [
        "# Operators",
        "Everything that is implemented, as `shadergen ops NAME` finds it. PyTorch's names are "
        "listed with the ONNX operators that its exporter writes. "
        "[Supported models](../supported.md) explains the limits.",
    ]
    for source, found in groupby(entries(), key=lambda e: e.source):
        title = SOURCES.get(source, source.replace("onnx ", "ONNX domain ").capitalize())
        title = title.replace("Onnx", "ONNX")
        rows = (f"| `{_cell(e.name)}` | {_cell(e.summary)} |" for e in found)
        parts.append("\n".join([f"## {title}\n", "| name | description |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def python() -> str:
    """Return the Python interface: mkdocstrings fills the page from docstrings."""
    parts = [
        "# Python",
        "`import shadergen` gives the compiler's functions. Options of a compilation are keywords: "
        "those of the [command line](../cli.md#compile), with underscores.",
    ]
    for title, names in {
        "Compile and run": [
            "shadergen.compiler.face.compile_model",
            "shadergen.compiler.compiled_model.CompiledModel",
            "shadergen.compiler.face.verify",
            "shadergen.compiler.face.run",
            "shadergen.compiler.face.load",
            "shadergen.compiler.options.Options",
        ],
        "Errors": ["shadergen.errors.ShadergenError", "shadergen.errors.InternalError"],
        "Runtime for OpenGL ES": [
            "shadergen.runtime_glue.python.Runner",
            "shadergen.runtime_glue.python.HeadlessContext",
            "shadergen.runtime_glue.python.Build",
        ],
        "Runtime for WebGPU": ["shadergen.runtime_glue.python.webgpu.Runner"],
    }.items():
        parts += [f"## {title}", *(f"::: {name}" for name in names)]
    return "\n\n".join(parts) + "\n"


def cpp() -> str:
    """Return the manual at the top of the public header, and its declarations."""
    text = (ROOT / HEADER).read_text("utf-8")
    manual, rest = text.removeprefix("/*").split("*/", 1)
    body = rest.split("namespace shadergen {", 1)[1].split("}  // namespace", 1)[0]
    body = re.sub(r"^private:.*?(?=^};)", "", body, flags=re.MULTILINE | re.DOTALL)
    parts = [
        "# C++",
        "From [`shadergen.hpp`](../embedding.md#c), the only public header.",
        "## Manual",
    ]
    parts.append(_prose(manual, "cpp"))
    parts.append("## Declarations")
    for block in re.split(r"\n\n(?=// |(?:template|struct|class|enum|constexpr)\b)", body.strip()):
        if name := re.search(r"^(?:struct|class|enum class) (\w+)", block, re.MULTILINE):
            parts.append(f"### {name[1]}")
        parts.append(f"```cpp\n{block.strip()}\n```")
    return "\n\n".join(parts) + "\n"


def javascript() -> str:
    """Return the declarations of the packages' modules."""
    parts = [
        "# JavaScript",
        "The type declarations of the package. [Embedding](../embedding.md#web) shows its use.",
    ]
    declared = re.compile(
        r"^export (?:declare )?(?:class|interface|type|function|const) (\w+)", re.M
    )
    for module, path in TYPES.items():
        text = (ROOT / path).read_text("utf-8")
        parts.append(f"## {module}")
        for block in re.split(r"\n\n(?=/\*\*|export )", text):
            if name := declared.search(block):
                parts += [f"### {name[1]}", f"```ts\n{block.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def schema() -> str:
    """Return the members of the schedule and their types, from its JSON Schema."""
    whole = json.loads((ROOT / "runtime_glue" / "schedule.schema.json").read_text("utf-8"))
    parts = [
        "# JSON Schema of the schedule",
        f"{whole['description']} [The schedule](../schedule.md) gives the meaning of the members; "
        "this page lists their types and bounds.",
        _definition("schedule", whole),
        *(_definition(name, part) for name, part in whole["$defs"].items()),
    ]
    return "\n\n".join(parts) + "\n"


def _definition(name: str, part: dict[str, Any]) -> str:
    lines = [f"## {name}\n"]
    if (text := part.get("description")) and name != "schedule":
        lines.append(f"{text}\n")
    members = part.get("properties")
    if not members:
        return "\n".join([*lines, f"Type: {_type(part)}"])
    lines += ["| member | type | |", "| --- | --- | --- |"]
    for member, of in members.items():
        need = "" if member in part.get("required", ()) else "optional. "
        lines.append(
            f"| `{member}` | {_cell(_type(of))} | {need}{_cell(of.get('description', ''))} |"
        )
    return "\n".join(lines)


def _type(part: dict[str, Any]) -> str:
    """Return a type in words, with a link to the definition that it names."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return ", ".join(f"`{json.dumps(v)}`" for v in part["enum"])
    for key, word in (("oneOf", " or "), ("anyOf", " or ")):
        if key in part:
            return word.join(_type(p) for p in part[key])
    kind = part.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if kind == "array":
        least, most = part.get("minItems", 0), part.get("maxItems", "any number")
        number = least if least == most else f"{least} to {most}"
        return f"array of {number} x {_type(part.get('items', {}))}"
    bounds = [f"{w} {part[k]}" for k, w in (("minimum", "from"), ("maximum", "to")) if k in part]
    if "pattern" in part:
        bounds.append(f"`{part['pattern']}`")
    return " ".join([kind, *bounds])


def _cell(text: str) -> str:
    """Return text for a cell of a table; signs of Markdown outside code stay signs."""
    return (
        re.sub(r"[|<*_\[]", r"\\\g<0>", text.replace("\n", " "))
        if "[" not in text
        else (text.replace("|", "\\|").replace("<", "\\<"))
    )


def _prose(comment: str, language: str) -> str:
    """Return a comment as paragraphs; deeper indented ones are code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", comment.strip("\n")):
        lines = paragraph.split("\n")
        if all(line.startswith("       ") for line in lines):
            code = "\n".join(line[7:] for line in lines)
            parts.append(f"```{language}\n{code}\n```")
        else:
            parts.append(" ".join(line.strip() for line in lines))
    return "\n\n".join(parts)
