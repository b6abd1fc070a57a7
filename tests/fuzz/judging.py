"""Compile a case, play it, and say whether it is right."""

from __future__ import annotations

import atexit
import re
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from shadergen.backends.writer import write_build
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.driver import compile_model
from shadergen.compiler.judging import ROUNDED, UNORM8_STEP
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.passes.placement.costs import gain_from_half
from shadergen.passes.placement.target import TOLERANCES
from shadergen.runtime_glue.python import Build, HeadlessContext, Runner, load

from .case import Arrays, Case, Verdict
from .oracles import Oracle, oracle_for
from .reference import TRIES, Failed

MEMORY = Path("/dev/shm")
FLOAT32_NOISE, FLOAT16_NOISE = 4e-7, 1e-3
SUMS_NOISE = 5e-3  # where many products are added up in 16 bits
WEIGHT_NOISE = {"float32": 0.0, "float16": 1e-3, "int8": 8e-3}
EXPLAINED = 4.0  # times the movement that rounding causes
MANY_TRIES = 60  # before a result is called wrong: values of many elements are next to thresholds
LARGEST_HALF = 60000.0
SIZES_REFUSED = "SG0605"
BUILD = "build"


class Broken(Exception):
    """Something that no user's mistake explains."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@cache
def gl() -> HeadlessContext:
    """Return one GL context for the whole process."""
    context = HeadlessContext()
    atexit.register(context.close)
    return context


def judge(case: Case) -> Verdict:
    """Return what comes of a case; if its options are refused, of the case without them."""
    kind = case.suffix.lstrip(".") + (" dynamic" if case.options.get("dynamic") else "")
    verdict = _tried(case, case.options)
    fallback = ""
    if verdict.status == "refused" and len(case.options) > 1:
        plain = {k: v for k, v in case.options.items() if k in ("dynamic", "input_size")}
        fallback = f"{verdict.code} {head(verdict.text)}"
        verdict = _tried(case, plain)
        if verdict.status == "refused":
            fallback = ""
    return Verdict(verdict.status, verdict.code, verdict.text, case.made_of, kind, fallback)


def _tried(case: Case, options: dict[str, Any]) -> Verdict:
    try:
        return _judged(case, options)
    except ShadergenError as error:
        return Verdict("refused", error.code, error.render())
    except Broken as error:
        return Verdict("crash", error.code, str(error))
    except Failed as error:
        return Verdict("inconclusive", "oracle", str(error))
    except Exception as error:
        return Verdict("crash", type(error).__name__, traceback.format_exc()[-3000:])


def _judged(case: Case, given: dict[str, Any]) -> Verdict:
    options = made(given)
    oracle = oracle_for(case)
    wanted = [_wanted(oracle, feed) for feed in case.feeds]
    if wanted[0] is None:
        return Verdict("inconclusive", "oracle", "it takes no inputs")
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        folder = Path(scratch)
        inputs, outputs = compiled(case, options, folder)
        with broken_else(), Runner(load(folder / BUILD), gl()) as runner:
            worst = Verdict("right")
            for feed, want in zip(case.feeds, wanted, strict=True):
                if want is None or not _resized(runner, case, feed):
                    continue
                if case.suffix != ".onnx":  # the order tells which is which
                    feed = dict(zip(inputs, feed.values(), strict=True))
                found = play(runner, feed)
                names = dict(zip(outputs, want, strict=True))
                verdict = _compared(case, oracle, options, runner.build, feed, found, names, want)
                if verdict.status != "right":
                    worst = verdict
                if verdict.failed:
                    return verdict
            return worst


def made(given: dict[str, Any]) -> Options:
    """Return options from what JSON has of them."""
    known = dict(given)
    if known.get("dynamic"):
        known["dynamic"] = tuple(known["dynamic"])
    known["input_size"] = {n: tuple(s) for n, s in known.get("input_size", {}).items()}
    return Options(**{"validate": False, **known})


def compiled(case: Case, options: Options, folder: Path) -> tuple[list[str], list[str]]:
    """Write a build; return the names of its inputs and outputs in the model's order."""
    if case.suffix == ".onnx" and not case.written:
        graph = import_model(onnx.load_from_string(case.model), options)
        graph, files, _ = compile_graph(graph, options)
        write_build(files, folder / BUILD)
    else:
        path = folder / f"model{case.suffix}"
        path.write_bytes(case.model)
        graph = compile_model(path, folder / BUILD, options).graph
    return [i.name for i in graph.inputs], [o.name for o in graph.outputs]


@contextmanager
def broken_else() -> Iterator[None]:
    """Take a refusal for a fault: what was compiled has to be played."""
    try:
        yield
    except ShadergenError as error:
        if error.code == "SG0602":  # this GL lacks what the profile has
            raise
        raise Broken(error.code, error.render()) from None


def play(runner: Runner, feed: Arrays) -> Arrays:
    for port in runner.build.inputs:
        runner.upload(port.name, feed[port.name])
    runner.run()
    runner.check()
    return {port.name: runner.read(port.name) for port in runner.build.outputs}


def _resized(runner: Runner, case: Case, feed: Arrays) -> bool:
    """Give a build the size of its inputs, if it is not fixed; say whether it takes it."""
    sizes = runner.build.sizes
    if sizes is not None:
        first = 2 if case.suffix == ".onnx" else 1  # ONNX has channels first
        height, width = next(iter(feed.values())).shape[first : first + 2]
        known = {"height": height, "width": width}
        try:
            runner.resize(**{p: known[p] for p in sizes.values})
        except ShadergenError as error:
            if error.code != SIZES_REFUSED:
                raise
            return False
    return True


def _wanted(oracle: Oracle, feed: Arrays) -> list[Any] | None:
    try:
        found = oracle.run(feed)
    except Failed:
        return None
    finite = all(a.dtype.kind != "f" or np.isfinite(a).all() for a in found)
    return found if finite and all(a.size for a in found) else None


def _compared(
    case: Case,
    oracle: Oracle,
    options: Options,
    build: Build,
    feed: Arrays,
    found: Arrays,
    wanted: Arrays,
    ordered: list[Any],
) -> Verdict:
    tolerance = TOLERANCES[options.target().precision]
    if options.weight_format in ROUNDED:
        tolerance = max(tolerance, ROUNDED[options.weight_format][0])
    if oracle.half:
        tolerance = max(tolerance, TOLERANCES["mediump"])
    encodings = {port.name: port.encoding for port in build.outputs}
    status = "right"

    @cache
    def moved(tries: int) -> list[Any]:
        noise = _noise(oracle, options)
        return _explained(oracle, feed, noise, WEIGHT_NOISE[options.weight_format], tries)

    for k, (name, want) in enumerate(wanted.items()):
        got = found[name]
        if got.shape != want.shape:
            return Verdict("wrong", "shape", f"'{name}' has shape {got.shape}, not {want.shape}")
        want = np.asarray(want, np.float64)
        bound = tolerance * max(1.0, float(np.abs(want).max(initial=0)))
        if encodings[name] == "unorm8":
            want, bound = want.clip(0, 1), bound + UNORM8_STEP
        error = np.abs(np.asarray(got, np.float64) - want)
        if (error <= bound).all():
            continue
        if options.target().precision == "mediump" and oracle.largest(feed) > LARGEST_HALF:
            return Verdict("inconclusive", "beyond float16", name)
        # Infinity allows any error, NaN included, which fails every comparison.
        away = (moved(tries)[k] for tries in (TRIES, MANY_TRIES))
        if not any((np.isinf(m) | (error <= bound + m)).all() for m in away):
            worst = float(np.nanmax(error)) if not np.isnan(error).all() else float("nan")
            size = "x".join(map(str, want.shape))
            said = f"'{name}' ({size}) is off by {worst:.3g}, the bound is {bound:.3g}"
            shapes = {n: a.shape for n, a in feed.items()}
            return Verdict("wrong", "value", f"{said}; inputs {shapes}")
        status = "inconclusive"
    return Verdict(status, "rounding" if status != "right" else "")  # type: ignore[arg-type]


def _noise(oracle: Oracle, options: Options) -> float:
    """Return the size of the rounding errors that a build may make."""
    target = options.target()
    if target.precision != "highp" and gain_from_half(target.costs):
        return SUMS_NOISE
    return FLOAT16_NOISE if oracle.half or target.precision != "highp" else FLOAT32_NOISE


def _explained(oracle: Oracle, feed: Arrays, noise: float, weights: float, tries: int) -> list[Any]:
    """Return the errors that rounding explains: EXPLAINED times what it moves each element by.

    Larger errors are tried as well: a value next to a threshold steps over it in few tries.
    """
    near = oracle.movement(feed, noise, weights, tries)
    far = oracle.movement(feed, EXPLAINED * noise, EXPLAINED * weights, tries)
    return [np.maximum(EXPLAINED * a, b) for a, b in zip(near, far, strict=True)]


def head(text: str) -> str:
    """Return what a message says of which operator, without names and numbers of one model."""
    line = text.splitlines()[0].partition(": ")[2] or text.splitlines()[0]
    line = re.sub(r"'[^']*'", "'...'", line)
    of = re.search(r"(?:node|layer) '?([A-Za-z_]*[A-Za-z])", text)
    return (f"{of[1]}: " if of else "") + re.sub(r"\d+(x\d+)*", "N", line)[:100]
