"""Compare with TensorFlow.js and onnxruntime-web: ESPCN, 360x640 to 720x1280, in one page.

    python bench/web.py [--turns N] [--angle swiftshader | gl-egl] [--device PROFILE]

Chromium runs without a screen. WebGL is computed by its own SwiftShader, for all alike, or with
gl-egl by the system's OpenGL ES, which is a GPU where there is one: then --device webgl2-min is
right for this project's build. The others come from npm, into
.build/web. They take turns of one second or one frame, after a frame that does not count; medians
are printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import h5py
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium, served  # noqa: E402

import shadergen  # noqa: E402

PACKAGES = ("@tensorflow/tfjs@4.22.0", "onnxruntime-web@1.30.0")
NPM = ROOT / ".build" / "web"
HEIGHT, WIDTH = 360, 640
ESPCN = ROOT / "examples" / "espcn" / "espcn_x2.h5"


def install() -> Path:
    """Return where the other programs are."""
    modules = NPM / "node_modules"
    if not all((modules / p.rpartition("@")[0] / "package.json").exists() for p in PACKAGES):
        NPM.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(NPM), "--no-audit", "--no-fund", *PACKAGES]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return modules


def weights() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return kernel, HWIO, and bias of each convolution of the shipped network."""
    found = []
    with h5py.File(ESPCN) as file:
        for name in ("conv1", "conv2", "conv3"):
            parts: dict[str, np.ndarray] = {}
            file["model_weights"][name].visititems(
                lambda path, item, parts=parts: (
                    parts.update({path.rpartition("/")[2]: item[()]})
                    if isinstance(item, h5py.Dataset)
                    else None
                )
            )
            kernel = next(v for k, v in parts.items() if k.startswith("kernel"))
            found.append((kernel, next(v for k, v in parts.items() if k.startswith("bias"))))
    return found


def write_onnx(path: Path) -> None:
    """Write the network as ONNX, with the pixel shuffle that Keras means."""
    nodes, tensors, value = [], [], "x"
    layers = weights()
    for i, (kernel, bias) in enumerate(layers):
        tensors.append(numpy_helper.from_array(kernel.transpose(3, 2, 0, 1).copy(), f"w{i}"))
        tensors.append(numpy_helper.from_array(bias, f"b{i}"))
        pads = [kernel.shape[0] // 2] * 4
        nodes.append(helper.make_node("Conv", [value, f"w{i}", f"b{i}"], [f"c{i}"], pads=pads))
        value = f"c{i}"
        if i < len(layers) - 1:
            nodes.append(helper.make_node("Tanh", [value], [f"t{i}"]))
            value = f"t{i}"
    nodes.append(helper.make_node("DepthToSpace", [value], ["y"], blocksize=2))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, HEIGHT, WIDTH])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 2 * HEIGHT, 2 * WIDTH])
    graph = helper.make_graph(nodes, "espcn", [x], [y], tensors)
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def write_model(folder: Path, device: str) -> list[dict[str, Any]]:
    """Write all forms of the network and an input; return the names of the layers."""
    size = f"{HEIGHT}x{WIDTH}"
    options = {"input_size": size, "device": device, "validate": False}
    shadergen.compile_model(ESPCN, folder / "build", **options)
    write_onnx(folder / "model.onnx")
    x = np.random.default_rng(0).random((1, HEIGHT, WIDTH, 1), np.float32)
    x.astype("<f4").tofile(folder / "x.f32")
    layers = []
    for i, (kernel, bias) in enumerate(weights()):
        kernel.astype("<f4").tofile(folder / f"kernel{i}.f32")
        bias.astype("<f4").tofile(folder / f"bias{i}.f32")
        layers.append({"kernel": f"kernel{i}", "bias": f"bias{i}", "shape": list(kernel.shape)})
    return layers


def compare(turns: int, angle: str, device: str) -> dict[str, Any]:
    modules = install()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder)
        layers = write_model(model, device)
        folders = {
            "model": model,
            "bench": ROOT / "bench",
            "shadergen": ROOT / "runtime_glue" / "web",
            "tfjs": modules / "@tensorflow" / "tfjs" / "dist",
            "ort": modules / "onnxruntime-web" / "dist",
        }
        with served(**folders) as address, chromium(angle) as browser:
            page = browser.new_page()
            page.set_default_timeout(0)
            page.goto(address)
            script = "async ([l, t]) => (await import('/bench/web.js')).compare(l, t)"
            results: dict[str, Any] = page.evaluate(script, [layers, turns])
            results["browser"] = browser.version
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--angle", default="swiftshader", choices=("swiftshader", "gl-egl"))
    parser.add_argument("--device", default="swiftshader", help="of this project's build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = compare(arguments.turns, arguments.angle, arguments.device)
    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    if "failed" in results["shadergen"]:
        sys.exit(results["shadergen"]["failed"])
    print(f"Chromium {results.pop('browser')}, ESPCN {HEIGHT}x{WIDTH}, medians of milliseconds")
    own = {kind: median(results["shadergen"][kind]) for kind in ("frame", "resident")}
    for name, result in results.items():
        if "failed" in result:
            print(f"{name:24} failed: {result['failed'][:100]}")
            continue
        line = f"{name:24} {result['version'] or '':8} start {result['first']:7.0f}"
        for kind in ("frame", "resident"):
            if result[kind]:
                took = median(result[kind])
                line += f"   {kind} {took:7.1f} ({took / own[kind]:5.1f}x)"
        print(f"{line}   error {result['error']:.1e}")


if __name__ == "__main__":
    main()
