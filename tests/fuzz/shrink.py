"""Make a failing case small: fewer options, fewer runs, fewer nodes.

Candidates are tried in other processes, so a crash or a hang is made small like a wrong result. The
nodes go by cutting the model: a tensor within becomes its only output, then tensors within become
inputs, fed with what they were. What is left is most often the one operator that is at fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import helper

from . import reference
from .case import Arrays, Case, Verdict
from .net import reads

Judge = Callable[[Case], Verdict]
Parts = Callable[[Case], list[Case]]
KEPT = ("dynamic", "input_size")


def parts_of(case: Case) -> list[Case]:
    """Return cases of parts of a model, fed with what they were; run in another process."""
    try:
        if case.suffix == ".onnx":
            return list(_cuts(case))
        from . import keras_oracle  # Keras takes seconds to import

        return list(keras_oracle.parts_of(case))
    except reference.Failed:  # the model does not run: it is left whole
        return []


def shrink(
    case: Case,
    verdict: Verdict,
    judge: Judge,
    parts: Parts,
    seconds: float,
) -> tuple[Case, Verdict]:
    """Return the smallest case found that fails alike, and its verdict."""
    until = time.monotonic() + seconds
    tried: set[int] = set()
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(case, parts):
            key = hash((candidate.model, str(candidate.options), len(candidate.feeds)))
            if key in tried:
                continue
            tried.add(key)
            if time.monotonic() > until:
                return case, verdict
            found = judge(candidate)
            if (found.status, found.code) == (verdict.status, verdict.code):
                case, verdict, smaller = candidate, found, True
                break
    return case, verdict


def _candidates(case: Case, parts: Parts) -> Iterator[Case]:
    extra = [k for k in case.options if k not in KEPT]
    if case.written:
        yield replace(case, written=False)
    if extra:
        yield replace(case, options={k: v for k, v in case.options.items() if k in KEPT})
    for k in range(len(case.feeds) if len(case.feeds) > 1 else 0):
        yield replace(case, feeds=(case.feeds[k],))
    for name in extra if len(extra) > 1 else ():
        yield replace(case, options={k: v for k, v in case.options.items() if k != name})
    yield from parts(case)


def _cuts(case: Case) -> Iterator[Case]:
    model = onnx.load_from_string(case.model)
    graph = model.graph
    if len(graph.node) < 2 and len(graph.output) < 2:
        return
    known = [{**feed, **reference.run_all(model, feed)} for feed in case.feeds]
    made = [name for node in graph.node for name in node.output if name in known[0]]
    ends = [o.name for o in graph.output]
    for name in [*made] if ends != made[-1:] or len(made) > 1 else []:
        if [name] != ends:
            yield from _part(case, model, known, [], [name])
    for name in reversed(made):
        if name not in ends:
            yield from _part(case, model, known, [name], ends)


def _part(
    case: Case, model: onnx.ModelProto, known: list[Arrays], inputs: list[str], outputs: list[str]
) -> Iterator[Case]:
    """Yield the case with more inputs, or with other outputs."""
    dynamic = bool(case.options.get("dynamic"))
    needed, nodes = set(outputs), []
    for node in reversed(model.graph.node):
        if needed & {*node.output} - {*inputs}:
            nodes.append(node)
            needed.update(reads(node))
    old = {i.name: i for i in model.graph.input}
    weights = [t for t in model.graph.initializer if t.name in needed]
    names = [n for n in (*old, *inputs) if n in needed]
    if dynamic and (
        not names
        or any(known[0][n].shape[2:] != known[0][names[0]].shape[2:] for n in names)
        or any(known[0][n].ndim != 4 for n in names)
    ):
        return
    infos = [old[n] if n in old else _info(n, known[0][n], dynamic) for n in names]
    ends = [_info(n, known[0][n], None) for n in outputs]
    graph = helper.make_graph(nodes[::-1], "fuzz", infos, ends, weights)
    part = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    feeds = tuple({n: feed[n] for n in names} for feed in known)
    options = dict(case.options)
    if options.get("input_size"):
        options["input_size"] = {n: s for n, s in options["input_size"].items() if n in names}
    made_of = tuple(sorted({node.op_type for node in nodes}))
    yield replace(
        case, model=part.SerializeToString(), feeds=feeds, options=options, made_of=made_of
    )


def _info(name: str, array: np.ndarray[Any, Any], dynamic: bool | None) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    shape: Any = array.shape
    if dynamic is None:
        shape = None
    elif dynamic:
        shape = [*array.shape[:2], "h", "w"]
    return helper.make_tensor_value_info(name, kind, shape)
