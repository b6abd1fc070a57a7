"""The emitted GLSL keeps clear of driver faults, as docs/driver-faults.md says.

A check looks for one construct in a shader's text or in its program. All checks go over all
shaders, and each is shown a shader that it must refuse.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from support import ROOT
from support.kernel_programs import schedules, shaders

from shadergen.backends.devices import DEVICES
from shadergen.backends.dialects.glsl_es import print_expression, print_program, print_vertex
from shadergen.backends.kernels import FAMILIES, family_of
from shadergen.backends.kernels.loop_nest import LOOP_NEST
from shadergen.backends.shader.constructors import construct, filled, intrinsic, ivec2
from shadergen.backends.shader.expressions import (
    Binary,
    Construct,
    Intrinsic,
    Invoke,
    Texel,
    Variable,
)
from shadergen.backends.shader.expressions import walk as parts
from shadergen.backends.shader.formulas import PRIMITIVE, Formulas
from shadergen.backends.shader.operations import COMPARISONS
from shadergen.backends.shader.program import Function, Program, TextureBinding
from shadergen.backends.shader.statements import Body, walk
from shadergen.backends.shader.types import BOOL, INT, IVEC2, MAT4, VEC4, Type
from shadergen.ir.expr import Call, Var
from shadergen.ir.formula_parser import parse
from shadergen.ir.formulas import FORMULAS
from shadergen.ir.primitives import PRIMITIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shadergen.backends.shader.expressions import Expression

# Words reserved by GLSL ES 3.20 that an operator, a model or its author could come up with.
RESERVED = {
    "active", "asm", "attribute", "cast", "class", "common", "default", "double", "enum", "extern",
    "external", "filter", "fixed", "goto", "half", "input", "interface", "inline", "long",
    "namespace", "noinline", "noperspective", "output", "partition", "patch", "public", "resource",
    "short", "sizeof", "static", "subroutine", "superp", "template", "this", "typedef", "union",
    "unsigned", "using", "varying",
}  # fmt: skip
TYPE = r"(?:float|int|uint|bool|[ibu]?vec[234]|mat[234](?:x[234])?)"
LONGEST = 256  # characters of a name in WebGL 1; WebGL 2 takes 1024


def code(text: str) -> str:
    """Return a shader without its comments."""
    return re.sub(r"//.*", "", text)


def found(pattern: str) -> Callable[[str], Iterator[str]]:
    """Return a check that finds what a pattern matches."""
    return lambda text: (m[0].strip() for m in re.finditer(pattern, code(text), re.MULTILINE))


def calls(text: str, name: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of a function."""
    for m in re.finditer(rf"\b{name}\(", code(text)):
        depth, start, arguments = 1, m.end(), []
        for k in range(m.end(), len(code(text))):
            sign = code(text)[k]
            depth += (sign in "([") - (sign in ")]")
            if depth == 0 or (depth == 1 and sign == ","):
                arguments.append(code(text)[start:k].strip())
                start = k + 1
            if depth == 0:
                break
        yield arguments


def loops(text: str) -> Iterator[tuple[str, str]]:
    """Yield the head and the body of each loop."""
    text = code(text)
    for m in re.finditer(r"\bfor \((.*)\) \{", text):
        depth, k = 1, m.end()
        while depth:
            depth += (text[k] == "{") - (text[k] == "}")
            k += 1
        yield m[1], text[m.end() : k]


def irregular_loops(text: str) -> Iterator[str]:
    """A loop counts ints up to a constant or a uniform, and nothing leaves it early."""
    head = r"int (\w+) = \d+; \1 < (\d+|u_\w+); (\+\+\1|\1 \+= \d+)"
    for loop, body in loops(text):
        if not re.fullmatch(head, loop):
            yield loop
        yield from re.findall(r"\b(?:return|break|continue)\b", body)


def arrays_beside_constants(text: str) -> Iterator[str]:
    """Arrays are global constants or members of buffers."""
    for line in code(text).splitlines():
        if re.search(rf"\b{TYPE} \w+\[", line) and not re.match(r"const |layout\(std\d+", line):
            yield line.strip()


def indexed_values(text: str) -> Iterator[str]:
    """Brackets follow names of arrays, or hold a number: no variable chooses a component."""
    arrays = set(re.findall(rf"\b{TYPE} (\w+)\[", code(text)))
    for m in re.finditer(r"([\w.)]+)\[(?!\d+\])", code(text)):
        if m[1] not in arrays and not re.fullmatch(TYPE, m[1]):
            yield m[0]


def float_clamps_of_ints(text: str) -> Iterator[str]:
    whole = r"ivec|(?<![\w.])\d+(?![\w.])|textureSize"
    return (str(a) for a in calls(text, "clamp") if any(re.search(whole, b) for b in a[1:]))


def negated_angles(text: str) -> Iterator[str]:
    second = (a[1] for a in calls(text, "atan") if len(a) == 2)
    return (angle for angle in second if re.match(r"-\s*[A-Za-z_(]", angle))


def powers_of_anything(text: str) -> Iterator[str]:
    return (a[0] for a in calls(text, "pow") if not a[0].startswith("abs("))


def unset_targets(text: str) -> Iterator[str]:
    """Each target is a vec4 with a location, written once, unconditionally, and not read."""
    text = code(text)
    for line in re.findall(r"^.*\bout \w+ \w+;$", text, re.MULTILINE):
        declared = re.fullmatch(r"layout\(location = (\d+)\) out vec4 target_(\d+);", line)
        if declared is None or declared[1] != declared[2]:
            yield line
            continue
        name = f"target_{declared[1]}"
        writes = re.findall(rf"^ {{4}}{name} = ", text, re.MULTILINE)
        if len(writes) != 1 or len(re.findall(rf"\b{name}\b", text)) != 2:
            yield name


def missing_precisions(text: str) -> Iterator[str]:
    """Ints are highp; samplers are as precise as floats."""
    floats = re.search(r"^precision (\w+) float;", text, re.MULTILINE)
    yield from [] if floats else ["float"]
    wanted = {"int": "highp"} | dict.fromkeys(
        ("sampler2D", "sampler2DArray"), floats[1] if floats else ""
    )
    for kind, precision in wanted.items():
        if f"precision {precision} {kind};" not in text:
            yield kind
    yield from found(r"\blowp\b.*")(text)
    yield from found(r"^.*uniform (?!highp)(?:\w+ )?samplerExternalOES.*")(text)


def bare_images(text: str) -> Iterator[str]:
    """An image has a format, a binding of its own, a precision, and is read or written."""
    lines = re.findall(r"^.*\bimage2D(?:Array)? \w+;", text, re.MULTILINE)
    shape = (
        r"layout\(\w+, binding = (\d+)\) (read|write)only uniform (high|medium)p image\w+ (\w+);"
    )
    matched = [(line, re.fullmatch(shape, line)) for line in lines]
    yield from (line for line, m in matched if m is None)
    seen = [m[1] for _, m in matched if m]
    yield from {b for b in seen if seen.count(b) > 1}


def mixed_images(text: str) -> Iterator[str]:
    """What is stored is not loaded."""
    stored = {a[0] for a in calls(text, "imageStore")}
    return iter(stored & {a[0] for a in calls(text, "imageLoad")})


def odd_names(text: str) -> Iterator[str]:
    for name in set(re.findall(r"(?<![\w#])[A-Za-z_]\w*", code(text).partition("\n")[2])):
        reserved = name in RESERVED or name.startswith(("webgl_", "_webgl_"))
        if reserved or "__" in name or len(name) > LONGEST:
            yield name


def many_uniforms(text: str) -> Iterator[str]:
    """A fragment shader of OpenGL ES 3.0 has room for 224; drivers may round ints up to vectors."""
    names = found(r"^uniform int \w+;")(text)
    return iter(list(names)[64:])


def compared_matrices(e: Expression) -> bool:
    return isinstance(e, Binary) and e.operator in COMPARISONS and e.left.type.is_matrix


def costly_conditions(e: Expression) -> bool:
    """Both sides of && and || may be computed: they read no texture and call nothing."""
    return (
        isinstance(e, Binary)
        and e.operator in ("&&", "||")
        and any(isinstance(part, (Texel, Invoke)) for part in parts(*e.operands))
    )


def ints_of_bools(e: Expression) -> bool:
    kinds = ("int", "uint")
    return (
        isinstance(e, Construct)
        and e.type.scalar in kinds
        and any(part.type.scalar == "bool" for part in e.parts)
    )


def sizes_of_ints(e: Expression) -> bool:
    return isinstance(e, Intrinsic) and e.name in ("abs", "sign") and e.type.scalar == "int"


def unequal_matrices(e: Expression) -> bool:
    return e.type.is_matrix and (e.type.lanes, e.type.columns) != (4, 4)


# A check, and a line that it must refuse.
TEXT: dict[str, tuple[Callable[[str], Iterator[str]], str]] = {
    "structures": (found(r"\bstruct\b.*"), "struct Size { int width; };"),
    "arrays beside constants": (arrays_beside_constants, "    float values[3];"),
    "indexed components": (indexed_values, "    float y = v[i];"),
    "early ends of loops": (
        irregular_loops,
        "for (int i = 0; i < 3; ++i) {\n    if (i > u_end) break;\n}",
    ),
    "bounds that vary": (irregular_loops, "for (int i = 0; i < end; ++i) {\n}"),
    "while, do and switch": (
        found(r"\b(while|do|switch|goto)\b"),
        "    do { ++i; } while (i < 3);",
    ),
    "discarded pixels": (found(r"\bdiscard\b"), "    if (o.x > 3) discard;"),
    "offsets of fetches": (
        found(r"\btexture\w*Offset\(|\btexelFetchOffset\("),
        "    v = texelFetchOffset(u_x, o, 0, ivec2(1, 0));",
    ),
    "levels of detail": (
        lambda text: (str(a) for a in calls(text, "texelFetch") if a[-1] != "0"),
        "    v = texelFetch(u_x, o, 1);",
    ),
    "derivatives": (found(r"\b(dFdx|dFdy|fwidth)\("), "    v = dFdx(v);"),
    "isnan and isinf": (found(r"\bis(nan|inf)\("), "    bool b = isnan(x);"),
    "clamped ints": (float_clamps_of_ints, "    o = clamp(p, ivec2(0), ivec2(3, 4) - 1);"),
    "negated angles": (negated_angles, "    v = atan(y, -x);"),
    "powers of negative numbers": (powers_of_anything, "    v = pow(x, y);"),
    "targets left unset": (
        unset_targets,
        "layout(location = 0) out vec4 target_0;\nvoid main() {\n    if (c) target_0 = v;\n}",
    ),
    "targets without a location": (unset_targets, "out vec4 target_0;"),
    "targets of other types": (unset_targets, "layout(location = 0) out vec2 target_0;"),
    "precisions": (missing_precisions, "precision highp float;\nprecision mediump int;"),
    "samplers without precision": (
        missing_precisions,
        "precision highp float;\nprecision highp int;\nprecision highp sampler2D;",
    ),
    "images without a format": (bare_images, "uniform highp image2D u_result;"),
    "images stored and loaded": (
        mixed_images,
        "    imageStore(u_a, o, imageLoad(u_a, o));",
    ),
    "barriers and shared memory": (
        found(r"\b(\w*[bB]arrier|shared|coherent|volatile|atomic\w*|imageAtomic\w*)\b"),
        "    barrier();",
    ),
    "assigned components": (
        found(r"^\s*\w+(\.[xyzwrgbastpq]+|\[[^]]*\])+ [-+*/]?= .*"),
        "    v.x = 1.0;",
    ),
    "assignments in expressions": (
        found(r"^(?!\s*for ).*[^=<>!]=[^=].*[^=<>!]=[^=].*"),
        "    float a = b = c;",
    ),
    "samplers as parameters": (
        found(r"\w+ \w+\([^)]*\b(sampler|image)\w+ \w+.*"),
        "vec4 fetch(sampler2D s, ivec2 p) {",
    ),
    "constant or inout parameters": (
        found(r"^\w+ \w+\([^)]*\b(const|inout) .*"),
        "vec4 twice(const vec4 x) {",
    ),
    "other uses of gl_FragCoord": (
        lambda text: found(r"(?<!ivec2\()gl_FragCoord.*|gl_FragCoord(?!\.xy\)).*")(text),
        "    float depth = gl_FragCoord.z;",
    ),
    "built-in outputs": (
        found(r"\bgl_(FragDepth|PointSize|FragColor|FragData|ClipDistance)\b"),
        "    gl_FragDepth = 1.0;",
    ),
    "packing": (found(r"\b(un)?pack[USH]\w+\(|\b(ldexp|frexp|fract)\("), "    x = fract(x);"),
    "qualifiers of interfaces": (
        found(r"\b(invariant|centroid|flat|smooth|precise|row_major)\b"),
        "invariant gl_Position;",
    ),
    "reserved names": (odd_names, "\n    vec4 filter = v;"),
    "many uniforms": (many_uniforms, "\n".join(f"uniform int u_{k};" for k in range(65))),
}
M, B, P = Variable("m", MAT4), Variable("b", BOOL), Variable("p", IVEC2)
PICTURE = TextureBinding("u_x", "2d")
PROGRAM: dict[str, tuple[Callable[[Expression], bool], Expression]] = {
    "compared matrices": (compared_matrices, M.equals(M)),
    "texels in conditions": (
        costly_conditions,
        Binary("&&", B, Texel(PICTURE, P).x > 0.0),
    ),
    "ints of bools": (ints_of_bools, construct(INT, B)),
    "abs of ints": (sizes_of_ints, intrinsic("abs", Variable("i", INT))),
    "matrices of other sizes": (unequal_matrices, Variable("n", Type("float", 2, 3))),
}


@cache
def formula_shaders() -> tuple[tuple[str, str], ...]:
    """Return a shader of each formula of the library and of each primitive, by name."""
    counts = {name: p.arity for name, p in PRIMITIVES.items() if name not in ("idiv", "imod")}
    counts |= {name: len(d.parameters) for name, d in FORMULAS.items()}
    made = []
    for name, count in counts.items():
        names = [f"x{k}" for k in range(count)]
        called = Call(name, tuple(map(Var, names)))
        function = Formulas("highp").function("epilogue", called, {n: n for n in names})
        made.append((name, print_program(program_of(function), 300).text))
    return tuple(made)


@cache
def golden_shaders() -> tuple[tuple[str, str], ...]:
    """Return the draws and dispatches of the builds in tests/golden, by name."""
    made = []
    for path in sorted((ROOT / "tests" / "golden" / "builds").glob("*.glsl")):
        for part in re.split(r"^//// ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            name, _, text = part.partition("\n")
            made.append((f"{path.stem} {name}", text))
    return tuple(made)


def program_of(function: Function) -> Program:
    """Return a program that applies a function to numbers."""
    main = Body()
    main.write(0, function(*(filled(1.0, v.type) for v in function.parameters)))
    return Program("fragment", "highp", [], [], [], [], main.statements, targets=1)


def expressions(program: Program) -> Iterator[Expression]:
    bodies = [program.main, *(f.body for f in program.functions)]
    return (e for body in bodies for s in walk(body) for e in parts(*s.expressions))


@pytest.mark.parametrize("check", TEXT)
def test_shaders_are_free_of(check: str) -> None:
    find, _ = TEXT[check]
    named = [(str(s), s.text) for s in shaders()]
    named += [*formula_shaders(), *golden_shaders()]
    assert not {(name, bad) for name, text in named for bad in find(text)}


@pytest.mark.parametrize("check", TEXT)
def test_the_check_refuses_a_shader_with(check: str) -> None:
    find, wrong = TEXT[check]
    assert list(find(wrong))


@pytest.mark.parametrize("check", PROGRAM)
def test_programs_are_free_of(check: str) -> None:
    meets, wrong = PROGRAM[check]
    assert meets(wrong)
    assert not {
        (str(s), print_expression(e))
        for s in shaders()
        for e in expressions(s.gpu_pass.program)
        if meets(e)
    }


def test_the_shaders_come_from_every_kernel_family_and_stage() -> None:
    seen = {family_of(s.gpu_pass.node) for s in shaders()}
    assert seen == {*FAMILIES, LOOP_NEST}
    assert {s.gpu_pass.program.stage for s in shaders()} == {"fragment", "compute"}
    kinds = {b.kind for s in shaders() for b in s.gpu_pass.program.textures}
    assert kinds >= {"2d", "array"}
    assert len(formula_shaders()) > len(PRIMITIVE)
    assert len(golden_shaders()) > 10


def test_the_vertex_shader_compares_no_vertex_number_and_always_sets_the_position() -> None:
    """Some Adreno drivers crash where gl_VertexID is compared; some GPUs need gl_Position."""
    for version in (300, 310, 320):
        text = code(print_vertex(version))
        assert not re.search(r"gl_VertexID\s*[=<>!]=?|\?|\bif\b", text)
        assert re.findall(r"^    gl_Position = ", text, re.MULTILINE) == ["    gl_Position = "]


@pytest.mark.parametrize("vertex", range(3))
def test_the_triangle_covers_the_viewport(vertex: int) -> None:
    """The arithmetic of the vertex shader, done in Python."""
    (corner,) = re.findall(r"vec2 corner = vec2\((.*), (.*)\);", print_vertex(300))
    (scaled,) = re.findall(r"gl_Position = vec4\((.*), 0\.0, 1\.0\);", print_vertex(300))
    corners = [eval(number, {"gl_VertexID": vertex}) for number in corner]
    got = tuple(eval(scaled, {"corner": number}) for number in corners)
    assert got == [(-1.0, -1.0), (3.0, -1.0), (-1.0, 3.0)][vertex]


def test_ints_are_limited_by_min_and_max() -> None:
    """Adreno drivers are suspected of a wrong clamp of ints."""
    limited = intrinsic("clamp", P, 0, ivec2(3, Variable("n", INT)))
    assert print_expression(limited) == "min(max(p, ivec2(0)), ivec2(3, n))"
    assert print_expression(intrinsic("clamp", Variable("v", VEC4), 0.0, 1.0)) == (
        "clamp(v, 0.0, 1.0)"
    )


def test_the_angle_of_a_negated_number_has_a_product() -> None:
    """Intel's compiler takes the second operand of atan as an int where a minus begins it."""
    x, y = Variable("x", VEC4), Variable("y", VEC4)
    assert print_expression(intrinsic("atan2", y, -x)) == "atan(y, -1.0 * x)"
    assert print_expression(intrinsic("atan2", y, -(x + y))) == "atan(y, -1.0 * (x + y))"
    assert print_expression(intrinsic("atan2", -y, x)) == "atan(-y, x)"
    angle = Formulas("highp").expression(parse("acos(-x)"), {"x": x})
    assert print_expression(angle).endswith(", -1.0 * x)")


def test_the_page_says_how_many_faults_it_lists() -> None:
    page = (ROOT / "docs" / "driver-faults.md").read_text("utf-8")
    tables = [t for t in page.split("\n## ") if t.startswith(("Shaders", "Runtimes"))]
    count = sum(len(re.findall(r"^\| ", t, re.MULTILINE)) - 2 for t in tables)
    assert f"lists {count} published faults" in " ".join(page.split())


def test_external_samplers_state_their_precision() -> None:
    """Android's emulator has no default precision for them."""
    frame = TextureBinding("u_x", "external", matrix="u_x_matrix")
    program = Program("fragment", "mediump", [], [frame], [], [], [], targets=0)
    assert "uniform highp samplerExternalOES u_x;" in print_program(program, 300).text


def feedback(made: dict[str, Any], gpu_pass: dict[str, Any]) -> set[tuple[Any, ...]]:
    """Return the GL textures that a pass reads and writes; of an array any layer counts."""
    textures = {t["name"]: t for t in made["textures"]}

    def places(key: str) -> set[tuple[Any, ...]]:
        named = [(p, textures[p["texture"]]) for p in gpu_pass[key] if "texture" in p]
        return {
            (t["name"] if t.get("slot") is None else t["slot"],
             None if t["kind"] == "array" else p.get("layer"))
            for p, t in named
        }  # fmt: skip

    return places("reads") & places("writes")


@pytest.mark.parametrize(("kind", "meets"), [("array", True), ("2d", False)])
def test_feedback_is_found_by_slot_and_layer(kind: str, meets: bool) -> None:
    made = {"textures": [{"name": name, "kind": kind, "slot": 0} for name in ("a", "b")]}
    reads, writes = {"texture": "a", "layer": 0}, {"texture": "b", "layer": 1}
    assert bool(feedback(made, {"reads": [reads], "writes": [writes]})) == meets
    assert feedback(made, {"reads": [writes], "writes": [writes]})


def test_no_pass_reads_what_it_writes() -> None:
    """Feedback between a texture and the framebuffer or an image is undefined."""
    passes = [(made, gpu_pass) for made in schedules() for gpu_pass in made["passes"]]
    assert len(passes) > 500
    assert not [gpu_pass["name"] for made, gpu_pass in passes if feedback(made, gpu_pass)]


def test_profiles_stay_within_what_drivers_have_right() -> None:
    """Adreno 540 has room for 16 KiB in a block, old Mali GPUs for 256 MiB in storage."""
    for name in ("gles30", "gles31-mobile", "webgl2-min"):
        limits = DEVICES[name].limits
        assert limits.uniform_block_size <= 1 << 14
        assert limits.storage_block_size < 1 << 28
        assert limits.texture_size <= 4096
        assert limits.array_texture_layers <= 1024


@pytest.mark.parametrize(
    "call",
    [
        r"[bB]lit[fF]ramebuffer\(", r"[iI]nvalidate\w*Framebuffer\(",
        r"[gG]enerateMipmap\(", r"[cC]opyTex(Sub)?Image\w*\(", r"Instanced\(", r"BASE_LEVEL",
        r"\b(gl\.)?(glC|C|c)lear\(\s*(gl|GL)", r"[rR]enderbufferStorage\w*\(",
        r"BindFragDataLocation", r"MapBuffer", r"TransformFeedback\(",
    ],
)  # fmt: skip
def test_no_runtime_calls(call: str) -> None:
    """C++ declares all that it loads in one table, which is not looked at."""
    folder = ROOT / "runtime_glue"
    sources = [p for kind in ("py", "cpp", "js") for p in folder.rglob(f"*.{kind}")]
    assert len(sources) > 40
    assert not [(p.name, m[0]) for p in sources for m in re.finditer(call, p.read_text("utf-8"))]
