"""What builds of a model are compared with: the outputs of a reference on the same inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from ..ir.dimensions import has_dynamic, hint
from ..records import dataclass, replace
from .compilation import import_model
from .frontends import Request
from .frontends.input_shapes import model_shapes
from .option_parsing import parse_preprocessing
from .references import NumpyReference, choose_reference, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ..ir.graph import Graph
    from ..passes.attach_preprocessing import Preprocessing
    from .options import Options
    from .references import Reference


@dataclass(frozen=True)
class Expected:
    """The outputs of a reference.

    Attributes:
        reference: its name.
        graph: the model as imported, without preprocessing, at one size.
        inputs: what it ran on, by name, in the model's own shapes.
        outputs: by name, in the model's own shapes.
        notes: what to say of the reference.
    """

    reference: str
    graph: Graph
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    notes: tuple[str, ...]


def expect(
    model: Path,
    options: Options,
    plainly: Options,
    imported: Graph,
    inputs: Mapping[str, NDArray[Any]],
    reference: str,
    progress: Callable[[str], None],
    compiled_notes: tuple[str, ...] = (),
) -> Expected:
    """Run a reference on the inputs of a build.

    Args:
        model: the model file.
        options: of the compilation.
        plainly: the options at one size.
        imported: the model as the compiler read it, preprocessing included.
        inputs: of the build, by name; with preprocessing they are images.
        reference: see :func:`~.references.choose_reference`.
        progress: called with the name of each step.
        compiled_notes: of the compiler, for what the reference cannot check.

    Raises:
        ShadergenError: SG0702 if the reference cannot run the model on these inputs.
    """
    progress("running the reference")
    plain = import_model(model, replace(plainly, preprocess=""))
    inputs = dict(inputs)
    if options.preprocess:
        name, array = next(iter(inputs.items()))
        axes = imported.inputs[0].port.axes
        inputs[name] = _preprocessed(parse_preprocessing(options.preprocess), array, axes)
    request = Request(
        plainly.input_size,
        inputs=options.inputs,
        outputs=options.outputs,
        shapes=plainly.array_shapes,
    )
    oracle, note = choose_reference(model, plain, reference, request)
    notes = note.split("\n")
    if options.define and oracle.name == "numpy":
        said = "the numpy reference uses the same definitions, so it cannot check them"
        notes += [*compiled_notes, said]
    if options.tuning is not None:  # it may know little of this model
        notes += compiled_notes
    fed = {**inputs, **options.input_value}
    try:
        outputs = _run_reference(oracle, fed)
    except ShadergenError as error:  # files may hold numbers for the size that they declare
        if reference != "auto" or not oracle.resized:
            raise
        notes.append(f"{oracle.name} cannot run the model at this size: {error.why}")
        oracle = NumpyReference(plain)
        try:
            outputs = _run_reference(oracle, fed)
        except (IndexError, ValueError):  # of these inputs
            raise error from None
    return Expected(oracle.name, plain, fed, outputs, tuple(notes))


def at_one_size(options: Options, dynamic: Graph) -> Options:
    """Return the options that fix dynamic dimensions: at the arrays' sizes, or the initial ones.

    Args:
        options: of the compilation, with the shapes of the arrays that are given.
        dynamic: the model as imported.
    """
    sizes = {}
    for name, shape in model_shapes(i for i in dynamic.inputs if has_dynamic(i.shape)).items():
        given = options.array_shapes.get(name, options.array_shapes.get(""))
        sizes[name] = given or tuple(map(hint, shape))
    return replace(options, dynamic=None, input_size={**sizes, **options.input_size})


def _run_reference(
    oracle: Reference, inputs: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Run the reference.

    Raises:
        ShadergenError: SG0702 when it refuses the inputs: an index beyond a table, say.
    """
    try:
        return oracle.run(inputs)
    except ShadergenError:
        raise
    except Exception as error:  # any failure of the framework
        if oracle.name == "numpy":
            raise
        raise ShadergenError(
            "SG0702",
            f"the reference {oracle.name} cannot run the model on these inputs",
            why=shortened(error),
            help="give inputs that the model is made for (--input), or take another --reference",
        ) from None


def _preprocessed(
    wanted: Preprocessing, image: NDArray[Any], axes: tuple[int, ...]
) -> NDArray[Any]:
    """Apply the preprocessing with numpy to an array in the model's own axis order."""
    channel = axes.index(1)
    values = np.moveaxis(image.astype(np.float64), channel, -1)
    if wanted.reverse:
        values = values[..., ::-1]
    values = (values * np.array(wanted.scale) - np.array(wanted.mean)) / np.array(wanted.deviation)
    result: NDArray[Any] = np.moveaxis(values, -1, channel).astype(np.float32)
    return result
