"""The networks that are compared, as ONNX files of a fixed size, each with an input and its output.

They come from ``tests/networks``, weights and pictures included, but for the upscaler that others
trained, which lies outside the repository.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from networks.cache import missing, model_file
from networks.catalogue import NETWORKS, Case, Network, made
from networks.exporting import torch_module
from networks.images import scenes
from networks.reference import read_reference, run_onnx
from numpy.typing import NDArray

Array = NDArray[Any]
Size = tuple[int, int]
SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
FORMS = ("torchscript-13", "torchscript-11")  # in this order; the first that a network has


@dataclass(frozen=True)
class Entry:
    """One network of the comparison.

    Attributes:
        name: in tables.
        source: a case of ``tests/networks``, or a file of :data:`SHARED` that has one input of
            dynamic size.
        size: height and width.
        timed: whether its frames count; the others are there for memory and start-up.
    """

    name: str
    source: Case | str
    size: Size
    timed: bool = True

    def missing(self) -> str:
        """Return the missing requirement, or nothing."""
        if isinstance(self.source, Case):
            return missing(self.source)
        return "" if (SHARED / self.source).exists() else f"../shared/models/{self.source}"


@dataclass(frozen=True)
class Model:
    """A file, an input for it, and what onnxruntime makes of that without optimising.

    ``operations`` counts the graph's nodes by operator; ``name`` is the entry's.
    """

    name: str
    path: Path
    input_name: str
    output_name: str
    operations: dict[str, int]
    x: Array
    y: Array


def named(name: str, timed: bool = True) -> Entry:
    """Return a network of the catalogue in its full size."""
    network = next(n for n in NETWORKS if n.name == name)
    form = next(f for f in FORMS if f in network.forms)
    return Entry(name, Case(network, form, network.size), network.size, timed)


def upscaler(name: str, function: str, *arguments: Any, channels: int, size: Size) -> Entry:
    """Return a network that a function of ``torch_restoration`` makes of some arguments."""
    make = made("torch_restoration", function, *arguments)
    network = Network(name, make, size, size, FORMS[:1], channels=channels)
    return Entry(name, Case(network, FORMS[0], size), size)


ENTRIES = (
    upscaler("ESPCN", "espcn", 2, 1, (16, 16), channels=1, size=(360, 640)),
    upscaler("ESPCN, paper size", "espcn", 2, 3, (64, 32), channels=3, size=(180, 320)),
    Entry("ACNet", "acnet_gan_x2.onnx", (270, 480)),
    named("Fast style transfer"),
    named("U-Net"),
    named("MobileNet v2"),
    named("SqueezeNet 1.1"),
    named("ResNet-18"),
    named("VGG16", timed=False),
    named("AlexNet", timed=False),
    named("LeNet-5", timed=False),
)


def prepare(entry: Entry, folder: Path) -> Model:
    """Make or fetch an entry's file; one whose size is open is written to the folder, fixed."""
    if isinstance(entry.source, Case):
        path = model_file(entry.source)
        x, (y,) = read_reference(path.with_name("reference.npz"))
    else:
        path = folder / entry.source
        channels = fix_size(SHARED / entry.source, path, entry.size)
        x = scenes(1, (channels, *entry.size), seed=1)
        ((y,),) = run_onnx(path, x)
    return describe(entry.name, path, x, y)


def describe(name: str, path: Path, x: Array, y: Array) -> Model:
    """Describe a model file of one input and one output."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    weights = {w.name for w in graph.initializer}
    (source,) = (i.name for i in graph.input if i.name not in weights)
    (target,) = (o.name for o in graph.output)
    operations = dict(Counter(node.op_type for node in graph.node))
    return Model(name, path, source, target, operations, x, np.asarray(y, np.float32))


def torch_network(name: str) -> Any:
    """Return the torch module that an entry's file was exported from.

    Raises:
        LookupError: for a file that others made.
    """
    (source,) = (e.source for e in ENTRIES if e.name == name)
    if not isinstance(source, Case):
        raise LookupError("there is only a file of it, no module")
    return torch_module(source)


def fix_size(source: Path, target: Path, size: Size) -> int:
    """Write a model with its one input fixed to a batch of one; return the input's channels."""
    import onnx
    from onnx.tools.update_model_dims import update_inputs_outputs_dims

    model = onnx.load(source)
    (entry,), (result,) = model.graph.input, model.graph.output
    channels = entry.type.tensor_type.shape.dim[1].dim_value
    dynamic = ["n", "c", "h", "w"]
    update_inputs_outputs_dims(model, {entry.name: [1, channels, *size]}, {result.name: dynamic})
    onnx.save(model, target)
    return channels
