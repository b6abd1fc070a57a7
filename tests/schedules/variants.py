"""The fixture build with variants, and faults in them that only a device brings to light."""

from __future__ import annotations

import copy
from typing import Any

from .faults import REMOVED, Spoiled
from .fixed import small
from .members import Json, weights_member, weights_of

SOFTWARE = ["llvmpipe*", "softpipe", "swiftshader*"]
# name: (the square root of what it multiplies by, its limit of texture units, renderers, others)
VARIANTS: dict[str, tuple[float, int, list[str], list[str]]] = {
    "beyond": (5.0, 200, ["mali g7?*", "adreno 6??*", *SOFTWARE], []),  # of any GL's limits
    "mali": (3.0, 1, ["mali g7?*", "mali g??"], ["or similar", "mali g5?"]),
    "software": (0.5, 1, SOFTWARE, []),
}
# renderer: the variant for it; "" is the generic build, which multiplies by 4
PICKED = {
    "Mali-G78": "mali",
    "mali_g76 MC4": "mali",
    "ANGLE (ARM, Mali-G72 MP18, OpenGl ES 3.2)": "mali",
    "Mali(TM)-G77(R) r1p0": "mali",
    "Mali-G72, or similar": "",
    "Mali-G52 MC2": "",
    "Mali-G710": "mali",
    "Mali-G610": "",
    "Mali-T880": "",
    "Mali": "",
    "XMali-G78": "",
    "Adreno (TM) 640": "",  # of which "beyond" requires too much
    "llvmpipe (LLVM 15.0.6, 256 bits)": "software",
    "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)), SwiftShader driver)": "software",
    "\u212aMali-G78": "mali",  # the sign of kelvins is no letter k, and no letter at all
    "M\u0131ali-G78": "",
    "": "",
    "(R) (TM)": "",
}


def good_variants() -> tuple[Json, dict[str, Any]]:
    """Return the build of small with variants; schedules among the files are JSON yet."""
    schedule, files = small()
    entries = []
    for name, (factor, units, renderers, others) in VARIANTS.items():
        place = f"variants/{name}.json"
        weights = weights_of(*[factor] * 4)
        variant = copy.deepcopy(schedule)
        variant["weights"] = weights_member(weights) | {"file": f"weights.{name}.bin"}
        variant["requires"]["limits"]["texture_units"] = units
        files |= {place: variant, variant["weights"]["file"]: weights}
        entries.append({"name": name, "schedule": place, "renderers": renderers, "others": others})
    return schedule | {"version": "5.4", "variants": entries}, files


# faults that every loading finds: as in faults.py, of good_variants
SPOILED_VARIANTS: Spoiled = {
    "no_variants": ("SG0503", ("variants",), []),
    "variants_as_object": ("SG0503", ("variants",), {"name": "mali"}),
    "variant_without_renderers": ("SG0503", ("variants", 1, "renderers"), REMOVED),
    "variant_of_unknown_member": ("SG0503", ("variants", 1, "shader"), "a.frag"),
    "variant_without_name": ("SG0503", ("variants", 1, "name"), ""),
    "variant_at_root": ("SG0503", ("variants", 1, "schedule"), "/etc/passwd"),
    "pattern_in_capitals": ("SG0503", ("variants", 1, "renderers", 0), "Mali"),
    "pattern_as_expression": ("SG0503", ("variants", 1, "renderers", 0), "(a+)+$"),
    "pattern_of_nothing": ("SG0503", ("variants", 1, "others", 0), ""),
    "pattern_too_long": ("SG0503", ("variants", 1, "others", 0), "*a" * 200),
}

# name: (error code, file, path into it, new value); found when "mali" is picked
SPOILED_PICKED: dict[str, tuple[str, str, tuple[str | int, ...], Any]] = {
    "variant_in_parent": (
        *("SG0503", "schedule.json", ("variants", 1, "schedule")),
        "../../good_variants/variants/mali.json",
    ),
    "variant_missing": ("SG0505", "schedule.json", ("variants", 1, "schedule"), "absent.json"),
    "variant_as_folder": ("SG0505", "schedule.json", ("variants", 1, "schedule"), "variants"),
    "variant_as_weights": ("SG0503", "schedule.json", ("variants", 1, "schedule"), "weights.bin"),
    "variant_as_itself": ("SG0503", "schedule.json", ("variants", 1, "schedule"), "schedule.json"),
    "variant_of_variants": (
        *("SG0503", "variants/mali.json", ("variants",)),
        [{"name": "a", "schedule": "schedule.json", "renderers": ["*"], "others": []}],
    ),
    "variant_of_other_format": ("SG0502", "variants/mali.json", ("format",), "other"),
    "variant_newer_major": ("SG0504", "variants/mali.json", ("version",), "6.0"),
    "variant_unknown_member": ("SG0503", "variants/mali.json", ("colour",), "red"),
    "variant_breaking_a_rule": ("SG0503", "variants/mali.json", ("textures", 2, "slot"), 0),
    "variant_without_shader": (
        *("SG0505", "variants/mali.json", ("passes", 0, "shader")),
        "shaders/absent.frag",
    ),
    "variant_of_other_weights": (
        *("SG0505", "variants/mali.json", ("weights", "file")),
        "weights.bin",
    ),
}
