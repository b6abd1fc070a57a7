"""Device profiles: whose GPUs they are, and costs that decisions can rely on."""

from __future__ import annotations

from math import isfinite

import pytest
from support.renderers import STRINGS

from shadergen.backends.devices import DEVICES, named_profile
from shadergen.backends.devices.families import FAMILIES
from shadergen.passes.placement.costs import PRICES, are_known, gain_from_half

NAMES = [(name, profile) for profile, names in STRINGS.items() for name in names]


@pytest.mark.parametrize(("renderer", "profile"), NAMES)
def test_a_renderer_is_of_one_family_or_of_none(renderer, profile):
    found = [name for name, device in FAMILIES.items() if device.recognises(renderer)]
    assert found == [profile] * bool(profile)
    assert named_profile(renderer) == profile


def test_software_rasterisers_are_recognised_behind_other_layers_too():
    assert named_profile("llvmpipe (LLVM 15.0.6, 256 bits)") == "llvmpipe"
    assert named_profile("zink Vulkan 1.3(llvmpipe (LLVM 15.0.6, 256 bits))") == "llvmpipe"
    assert named_profile("softpipe") == ""


def test_every_family_of_gpus_has_names_that_it_is_known_by():
    assert set(FAMILIES) == set(STRINGS) - {""}


@pytest.mark.parametrize("name", FAMILIES)
def test_costs_of_gpus_are_of_units_that_work_side_by_side(name):
    (costs,) = FAMILIES[name].costs
    arithmetic, *_, memory = costs.units
    assert all(isfinite(getattr(u, p)) and getattr(u, p) >= 0 for u in costs.units for p in PRICES)
    assert arithmetic.multiply > 0 and memory.store > memory.store_half > 0
    assert are_known((costs,)) and not are_known(DEVICES["gles30"].costs)


def test_16_bit_arithmetic_is_faster_on_phones_and_in_profiles_that_include_them():
    gaining = {name for name, device in DEVICES.items() if gain_from_half(device.costs)}
    phones = {"mali-bifrost", "mali-valhall", "adreno-6xx", "adreno-7xx"}
    assert phones | {"gles30", "gles31-mobile", "webgl2-min", "gles30-min"} <= gaining
    others = {
        "amd-rdna",
        "nvidia",
        "intel-gen12",
        "videocore-6",
        "apple",
        "llvmpipe",
        "swiftshader",
    }
    assert not others & gaining
