"""Compare with TensorFlow.js and onnxruntime-web in Chromium: networks on WebGL 2 and WebGPU.

    python bench/web.py [--networks espcn,resnet] [--turns N] [--angle swiftshader | gl-egl]
                        [--device PROFILE]

Chromium runs without a screen. WebGL and WebGPU are computed by its own SwiftShader, for all alike,
or WebGL with gl-egl by the system's OpenGL ES, which is a GPU where there is one: then --device
webgl2-min is right for this project's build for WebGL. The build for WebGPU is for
swiftshader-webgpu beside one for swiftshader, else for webgpu. The others come from npm, into
.build/web. Each network has a page of its own. The contenders take turns of one second or one
frame, after a frame that does not count; medians are printed. "start" is the time from the first
import to the first result, on a page of the contender's own with an empty cache; the bytes are
those fetched by then. TensorFlow.js reads no ONNX: only ESPCN is written for it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

import onnx
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from comparison.networks import ENTRIES, Model, prepare  # noqa: E402
from support.browser import chromium, served  # noqa: E402

import shadergen  # noqa: E402

PACKAGES = (
    "@tensorflow/tfjs@4.22.0",
    "@tensorflow/tfjs-backend-webgpu@4.22.0",
    "onnxruntime-web@1.30.0",
)
NPM = ROOT / ".build" / "web"
NETWORKS = ("ESPCN", "ACNet", "U-Net", "Fast style transfer", "MobileNet v2", "ResNet-18")
OWN = ("shadergen, WebGL 2", "shadergen, WebGPU")


def install() -> Path:
    """Return where the other programs are."""
    modules = NPM / "node_modules"
    if not all((modules / p.rpartition("@")[0] / "package.json").exists() for p in PACKAGES):
        NPM.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(NPM), "--no-audit", "--no-fund", *PACKAGES]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return modules


def write_model(model: Model, folder: Path, device: str) -> dict[str, Any]:
    """Write all forms of a network and its input; return what the page must know of it."""
    on_webgpu = "swiftshader-webgpu" if device == "swiftshader" else "webgpu"
    for name, profile in (("webgl", device), ("webgpu", on_webgpu)):
        shadergen.compile_model(model.path, folder / name, device=profile, validate=False)
    (folder / "model.onnx").write_bytes(model.path.read_bytes())
    model.x.astype("<f4").tofile(folder / "x.f32")
    layers = _convolutions(model, folder) if model.name == "ESPCN" else []
    return {"input": model.input_name, "shape": list(model.x.shape), "layers": layers}


def _convolutions(model: Model, folder: Path) -> list[dict[str, Any]]:
    """Write the kernel, HWIO, and bias of each convolution of ESPCN, in their order."""
    graph = onnx.load(model.path).graph
    weights = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    layers = []
    for i, node in enumerate(n for n in graph.node if n.op_type == "Conv"):
        kernel = weights[node.input[1]].transpose(2, 3, 1, 0)
        kernel.astype("<f4").tofile(folder / f"kernel{i}.f32")
        weights[node.input[2]].astype("<f4").tofile(folder / f"bias{i}.f32")
        shape = list(kernel.shape)
        layers.append({"kernel": f"kernel{i}", "bias": f"bias{i}", "shape": shape})
    return layers


def compare(
    model: Model, turns: int, angle: str, device: str, against: list[str]
) -> dict[str, Any]:
    """Return what each contender took, and the version of the browser."""
    modules = install()
    with tempfile.TemporaryDirectory() as folder:
        told = write_model(model, Path(folder), device)
        folders = {
            "model": Path(folder),
            "bench": ROOT / "bench",
            "shadergen": ROOT / "runtime_glue" / "web",
            "tfjs": modules / "@tensorflow" / "tfjs" / "dist",
            "tfjs-webgpu": modules / "@tensorflow" / "tfjs-backend-webgpu" / "dist",
            "ort": modules / "onnxruntime-web" / "dist",
        }
        with served(**folders) as address, chromium(angle) as browser:

            def ask(call: str, *rest: Any) -> Any:
                """Call a function of web.js on a page that has fetched nothing before."""
                with browser.new_context() as context:
                    page = context.new_page()
                    page.set_default_timeout(0)
                    page.goto(address)
                    script = f"async (a) => (await import('/bench/web.js')).{call}(...a)"
                    return page.evaluate(script, list(rest))

            results: dict[str, Any] = ask("compare", told, turns, against)
            for contender, result in results.items():
                if "failed" not in result:
                    result.update(ask("start", contender, told))
            results["browser"] = browser.version
    return results


def show(name: str, results: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Print what the contenders took.

    Return of each the milliseconds of a frame and until the first result, and the bytes fetched.
    """
    print(f"{name}, Chromium {results.pop('browser')}, medians of milliseconds", flush=True)
    frames = {}
    for contender, result in results.items():
        if "failed" in result:
            print(f"  {contender:26} failed: {result['failed'][:100]}")
            continue
        frame = median(result["frame"])
        frames[contender] = (frame, result["first"], result["bytes"])
        line = f"  {contender:26} start {result['first']:7.0f}   frame {frame:8.1f}"
        if result["resident"]:
            line += f"   resident {median(result['resident']):8.1f}"
        line += f"   {result['bytes'] / 1e3:7.0f} kB"
        print(f"{line}   error {result['error']:.1e}", flush=True)
    return frames


def ratios(measured: dict[str, dict[str, tuple[float, float, float]]]) -> None:
    """Print what others take, as multiples of the build for WebGPU: by network, geometric mean."""
    rivals = dict.fromkeys(name for frames in measured.values() for name in frames)
    for rival in rivals:
        if rival == OWN[1]:
            continue
        both = [(f[rival], f[OWN[1]]) for f in measured.values() if rival in f and OWN[1] in f]
        for i, kind in enumerate(("time of a frame", "start-up", "bytes fetched")):
            found = [theirs[i] / own[i] for theirs, own in both]
            mean = prod(found) ** (1 / len(found))
            each = ", ".join(f"{ratio:.2f}" for ratio in found)
            print(f"{rival}, {kind}: {mean:.2f} times that of {OWN[1]} ({each})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default="", help="words in their names, with commas")
    parser.add_argument("--against", default="", help="words in names of others, with commas")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--angle", default="swiftshader", choices=("swiftshader", "gl-egl"))
    parser.add_argument("--device", default="swiftshader", help="of the build for WebGL")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    words, against = (
        [word.lower() for word in text.split(",") if word]
        for text in (arguments.networks, arguments.against)
    )
    chosen = [n for n in NETWORKS if not words or any(word in n.lower() for word in words)]
    measured, everything = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in chosen:
            (entry,) = (e for e in ENTRIES if e.name == name)
            model = prepare(entry, Path(scratch))
            results = compare(model, arguments.turns, arguments.angle, arguments.device, against)
            everything[name] = dict(results)
            if not arguments.json:
                measured[name] = show(name, results)
    if arguments.json:
        print(json.dumps(everything, indent=1))
    else:
        ratios(measured)


if __name__ == "__main__":
    main()
