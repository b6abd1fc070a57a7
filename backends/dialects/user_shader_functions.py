"""Functions and macros that the passes of user shaders define: how values are stored and mixed."""

from __future__ import annotations

STRENGTH = "strength"  # of the network, where its result is mixed with the picture
KEPT = "kept"  # digits of a result: none in a halo of zeros
# Textures of passes hold 16-bit floats. Some GPUs (AMD's) and software drop the digits that do not
# fit: the errors of many layers then add up.
WHY_ROUNDED = """\
// The player stores 16-bit floats, and some GPUs cut off the digits that do not fit.
// So round to the nearest 16-bit float first.
"""
ROUNDED = f"""{WHY_ROUNDED}vec4 rounded_to_half(vec4 v) {{
    return uintBitsToFloat((floatBitsToUint(v) + 0x1000u) & 0xFFFFE000u);
}}"""
# The same, where a halo of zeros keeps no digits.
ROUNDED_OR_ZERO = f"""{WHY_ROUNDED}vec4 rounded_or_zero(vec4 v, uint {KEPT}) {{
    return uintBitsToFloat((floatBitsToUint(v) + 0x1000u) & {KEPT});
}}"""

# 16-bit types by name: what they are where a compiler has such types, as Vulkan's have, and
# elsewhere. Functions of GLSL take them from 4.50 on. Values of these types are stored as they are.
HALF_TYPES = {
    "f16": ("float16_t", "float"),
    "f16x2": ("f16vec2", "vec2"),
    "f16x3": ("f16vec3", "vec3"),
    "f16x4": ("f16vec4", "vec4"),
    "f16x4x4": ("f16mat4", "mat4"),
}
EXPLICIT = "GL_EXT_shader_explicit_arithmetic_types_float16"
HALVES = "\n".join(
    (
        f"#if defined({EXPLICIT}) && __VERSION__ >= 450",
        f"#extension {EXPLICIT} : enable",
        *(f"#define {name} {half}" for name, (half, _) in HALF_TYPES.items()),
        "#define stored(v) vec4(v)",
        f"#define stored_or_zero(v, {KEPT}) ({KEPT} == 0u ? vec4(0.0) : vec4(v))",
        "#else",
        *(f"#define {name} {full}" for name, (_, full) in HALF_TYPES.items()),
        "#define stored(v) rounded_to_half(v)",
        f"#define stored_or_zero(v, {KEPT}) rounded_or_zero(v, {KEPT})",
        "#endif",
    )
)

# Values of split textures: what the rounded value lacks is stored 2048 times as large, which keeps
# it above the smallest 16-bit floats.
REST = """// Returns the error of rounding v to 16 bits, times 2048.
vec4 rest(vec4 v) { return rounded_to_half((v - rounded_to_half(v)) * 2048.0); }"""
REST_OR_ZERO = f"""// Returns the error of rounding v to 16 bits, times 2048.
vec4 rest_or_zero(vec4 v, uint {KEPT}) {{
    return rounded_or_zero((v - rounded_or_zero(v, {KEPT})) * 2048.0, {KEPT});
}}"""
JOINED = """// Returns a rounded value plus its rounding error, which is stored times 2048.
vec4 joined(vec4 rounded, vec4 rest) { return rounded + rest * 0.00048828125; }"""


def strength_definition(value: float, live: bool) -> str:
    """Give ``STRENGTH`` a value, unless it is live and the player did so for ``//!PARAM``."""
    define = f"#define {STRENGTH} {float(value)}"
    return f"#ifndef {STRENGTH}\n{define}\n#endif" if live else define
