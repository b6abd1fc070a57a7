"""Products of matrices, attention, recurrent layers."""

from __future__ import annotations

import numpy as np

from .net import Net, Rejected
from .operators import operator


@operator("MatMul", weight=3, dynamic=True)
def matrix_product(net: Net) -> str:
    x, draw = net.pick(rank=(2, 3, 4, 1, 5)), net.draw
    shape = net.shape(x)
    if draw.chance(0.6) and not net.dynamic:
        outer = [draw.one(1, s) for s in shape[:-2]] if draw.chance(0.3) else []
        sizes = [*outer, shape[-1], draw.integer(1, 9)]
        if draw.chance(0.1):
            sizes = [shape[-1]]
        return str(net("MatMul", x, net.weight(*sizes, fan=shape[-1])))
    if net.rank(x) < 2:
        raise Rejected("a vector")
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    turned = net("Transpose", x, perm=order)
    scaled = net("Mul", turned, net.constant(np.float32(shape[-1] ** -0.5)))
    return str(net("MatMul", *((x, scaled) if draw.chance(0.5) else (scaled, x))))


@operator("Gemm", weight=2)
def gemm(net: Net) -> str:
    x, draw = net.pick(rank=2), net.draw
    a, b = draw.one(None, 0, 1), draw.one(None, 0, 1)
    rows, inner = net.shape(x)[::-1] if a else net.shape(x)
    columns = draw.integer(1, 9)
    operands = [x, net.weight(*((columns, inner) if b else (inner, columns)), fan=inner)]
    if draw.chance(0.7):
        shape = draw.one((columns,), (1, columns), (rows, 1), (rows, columns), (1,), ())
        operands.append(net.constant(draw.normal(*shape)))
    elif net.opset < 11:
        raise Rejected("C is wanted")
    scales = {"alpha": draw.one(None, draw.real(-1, 2)), "beta": draw.one(None, draw.real(-1, 2))}
    return str(net("Gemm", *operands, transA=a, transB=b, **scales))


@operator("Einsum", weight=1)
def einsum(net: Net) -> str:
    x, draw = net.pick(rank=(1, 2, 3, 4)), net.draw
    letters = "abcd"[: net.rank(x)]
    sizes = dict(zip(letters, net.shape(x), strict=True))
    if draw.chance(0.15):  # a sum, a permutation
        kept = "".join(draw.some(letters, 0))
        return str(net("Einsum", x, equation=f"{letters}->{kept}"))
    more = "".join(draw.some([*letters, "e"]))
    sizes["e"] = draw.integer(1, 5)
    kept = "".join(draw.some(sorted({*letters, *more}), 0))
    fan = int(np.prod([sizes[c] for c in {*letters, *more} - {*kept}]))
    second = net.weight(*(sizes[c] for c in more), fan=fan)
    equation = f"{letters},{more}->{kept}"
    if draw.chance(0.2):
        equation = equation.replace(",", " , ")
    return str(net("Einsum", x, second, equation=equation))


@operator("attention", weight=1.5)
def attention(net: Net) -> str:
    """Add softmax(q k^T) v, of several heads."""
    x, draw = net.pick(rank=3), net.draw
    batch, time, width = net.shape(x)
    heads = draw.divisor(width)
    rows = [net("MatMul", x, net.weight(width, width, fan=width)) for _ in range(3)]
    split = net.constant([batch, time, heads, width // heads], np.int64)
    q, k, v = (net("Transpose", net("Reshape", r, split), perm=[0, 2, 1, 3]) for r in rows)
    scores = net("MatMul", q, net("Transpose", k, perm=[0, 1, 3, 2]))
    scores = net("Mul", scores, net.constant(np.float32((width // heads) ** -0.5)))
    if draw.chance(0.4):
        mask = np.triu(np.full((time, time), -1e4, np.float32), 1)
        scores = net("Add", scores, net.constant(mask))
    mixed = net("MatMul", net("Softmax", scores, axis=-1 if net.opset > 12 else 3), v)
    mixed = net("Transpose", mixed, perm=[0, 2, 1, 3])
    return str(net("Add", x, net("Reshape", mixed, net.constant([batch, time, width], np.int64))))


@operator("Attention", weight=0.7)
def whole_attention(net: Net) -> str:
    """Add the operator of set 23."""
    draw = net.draw
    if draw.chance(0.5):
        q = net.pick(rank=4)
        batch, heads, _, width = net.shape(q)
        time = draw.integer(1, 6)
        k, v = (net.constant(draw.normal(batch, heads, time, width)) for _ in range(2))
        named = {}
    else:
        q = net.pick(rank=3)
        k = v = q
        heads = draw.divisor(net.shape(q)[2])
        named = {"q_num_heads": heads, "kv_num_heads": heads}
    named["is_causal"] = draw.one(None, 0, 1)
    named["scale"] = draw.one(None, draw.real(0.1, 1))
    named["softcap"] = draw.one(None, None, draw.real(1, 5))
    return str(net("Attention", q, k, v, **named))


@operator("RNN", "GRU", "LSTM", weight=1.5)
def recurrent(net: Net) -> tuple[str, ...]:
    draw, name = net.draw, net.draw.one("RNN", "GRU", "LSTM")
    x = net.pick(rank=3, fits=lambda a: max(a.shape[:2]) <= 10)
    layout = draw.one(0, 1) if net.opset > 13 and draw.chance(0.3) else 0
    time, batch, width = net.shape(x)
    if layout:
        time, batch = batch, time
    direction = draw.one("forward", "reverse", "bidirectional")
    count, hidden = 1 + (direction == "bidirectional"), draw.integer(1, 6)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    w = net.weight(count, gates * hidden, width, fan=width)
    r = net.weight(count, gates * hidden, hidden, fan=hidden)
    b = net.weight(count, 2 * gates * hidden) if draw.chance(0.6) else ""
    lengths = net.constant(draw.whole(1, time, batch, dtype=np.int32)) if draw.chance(0.2) else ""
    state = (batch, count, hidden) if layout else (count, batch, hidden)
    operands = [x, w, r, b, lengths, net.weight(*state) if draw.chance(0.4) else ""]
    named = {"hidden_size": hidden, "direction": direction, "layout": layout or None}
    if name == "LSTM":
        operands.append(net.weight(*state) if operands[-1] and draw.chance(0.5) else "")
        operands.append(net.weight(count, 3 * hidden) if draw.chance(0.2) else "")
    if name == "GRU":
        named["linear_before_reset"] = draw.one(0, 1)
    if draw.chance(0.3):
        each = {"RNN": 1, "GRU": 2, "LSTM": 3}[name] * count
        named["activations"] = [
            draw.one("Tanh", "Sigmoid", "Relu", "Softsign") for _ in range(each)
        ]
    if draw.chance(0.15):
        named["clip"] = draw.real(0.2, 2)
    return tuple(net(name, *operands, outputs=3 if name == "LSTM" else 2, **named))
