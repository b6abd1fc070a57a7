"""If, Loop and Scan: graphs within nodes."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .net import Net, Rejected
from .operators import operator

FUNCTIONS = ("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Softplus")


def function(
    net: Net, x: str, y: str, stem: str
) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Return nodes and weights that compute f(x) * w."""
    name, weight = f"{stem}_f", f"{stem}_w"
    w = numpy_helper.from_array(np.float32(net.draw.real(-1, 1)), weight)
    nodes = [
        helper.make_node(net.draw.one(*FUNCTIONS), [x], [name]),
        helper.make_node("Mul", [name, weight], [y]),
    ]
    return nodes, [w]


def _info(name: str, shape: object = None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


@operator("If", weight=0.5)
def branches(net: Net) -> str:
    x, draw = net.pick(), net.draw
    if draw.chance(0.4):
        condition = net.constant(draw.chance(0.5), np.bool_)
    else:
        most = net("ReduceMax", x, keepdims=0)
        if net.rank(most):
            raise Rejected("no scalar")
        condition = net("Greater", most, net.constant(np.float32(draw.real(-1, 2))))
    graphs = {}
    for branch in ("then", "else"):
        stem = f"{x}_{branch}_{len(net.nodes)}"
        nodes, weights = function(net, x, f"{stem}_y", stem)
        graphs[f"{branch}_branch"] = helper.make_graph(
            nodes, branch, [], [_info(f"{stem}_y")], weights
        )
    return str(net("If", condition, **graphs))


@operator("Loop", weight=0.5)
def loop(net: Net) -> tuple[str, ...]:
    x, draw = net.pick(), net.draw
    stem = f"{x}_loop_{len(net.nodes)}"
    names = [f"{stem}_{part}" for part in ("i", "on", "in", "off", "out", "seen")]
    i, on, before, off, after, seen = names
    nodes, weights = function(net, before, after, stem)
    nodes.append(helper.make_node("Identity", [on], [off]))
    nodes.append(helper.make_node("Add", [after, x], [seen]))  # what lies outside
    inputs = [_info(i, [], TensorProto.INT64), _info(on, [], TensorProto.BOOL), _info(before)]
    outputs = [_info(off, [], TensorProto.BOOL), _info(after), _info(seen)]
    body = helper.make_graph(nodes, "body", inputs, outputs, weights)
    count = net.constant(draw.integer(1, 4), np.int64)
    going = draw.one("", net.constant(True, np.bool_))
    return tuple(net("Loop", count, going, x, outputs=2, body=body))


@operator("Scan", weight=0.5)
def scan(net: Net) -> tuple[str, ...]:
    x, draw = net.pick(rank=(2, 3)), net.draw
    if net.opset < 9:
        raise Rejected("another Scan")
    axis = draw.integer(0, net.rank(x) - 1)
    state = np.delete(net.shape(x), axis).tolist()
    stem = f"{x}_scan_{len(net.nodes)}"
    before, part, after, seen = (f"{stem}_{n}" for n in ("in", "part", "out", "seen"))
    nodes, weights = function(net, part, f"{stem}_g", stem)
    nodes.append(helper.make_node("Add", [before, f"{stem}_g"], [after]))
    nodes.append(helper.make_node("Tanh", [after], [seen]))
    inputs = [_info(before, state), _info(part, state)]
    outputs = [_info(after, state), _info(seen, state)]
    body = helper.make_graph(nodes, "body", inputs, outputs, weights)
    named = {"scan_input_axes": [axis], "scan_input_directions": [draw.one(0, 1)]}
    if draw.chance(0.4):
        named["scan_output_directions"] = [1]
    first = net.constant(draw.normal(*state))
    return tuple(net("Scan", first, x, outputs=2, num_scan_inputs=1, body=body, **named))
