"""The estimates in docs/players.md are those of ``shadergen inspect --target mpv``."""

from __future__ import annotations

import re
import shlex

import pytest
from support import ROOT

TABLE = re.compile(r"^\| network \| options \|.*\n\|[- |]+\n((?:\|.*\n)+)", re.MULTILINE)
NETWORKS = {
    "espcn": "espcn/espcn_x2.h5",
    "upscale": "networks/upscale/upscale.onnx",
    "denoise": "networks/denoise/denoise.onnx",
}
FAMILIES = {  # in the order of the columns
    "GeForce RTX 3060": "nvidia",
    "Van Gogh": "amd-rdna",
    "Iris Xe (96 units)": "intel-gen12",
    "Adreno 740": "adreno-7xx",
}


def rows() -> list[list[str]]:
    found = TABLE.search((ROOT / "docs" / "players.md").read_text("utf-8"))
    assert found is not None
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in found[1].splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}, {row[1].strip('`')}")
def test_estimates_are_those_of_inspect(shadergen, row: list[str]) -> None:
    network, options, macs, passes, *times = row
    options = options.strip("`") if options != "none" else ""
    numbers, multiplied = set(), set()
    for (gpu, family), shown in zip(FAMILIES.items(), times, strict=True):
        given = shlex.split(options.replace("FAMILY", family))
        given += [] if "--device" in given else ["--device", "gles30"]
        path = ROOT / "examples" / NETWORKS[network]
        found = shadergen("inspect", path, "--target", "mpv", *given, "--json").json
        (estimate,) = (e for e in found["estimates"] if e["gpu"] == gpu)
        assert f"{estimate['milliseconds']:.3g}" == shown
        multiplied.add(round(found["macs"] / (1080 * 1920)))
        numbers.add(len(found["passes"]))
    assert (macs, passes) == (ends(multiplied), ends(numbers))


def ends(numbers: set[int]) -> str:
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"
