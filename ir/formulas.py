"""The formula library: every activation and element-wise function that is not a primitive.

Each is written in a form that cannot overflow for large arguments: exponentials see only
non-positive ones.

Sources: ONNX operator definitions (ai.onnx, ai.onnx.ml aside) and keras.activations; where the two
differ in a default, the frontend passes the value.
"""

from __future__ import annotations

from .expr import number_text, to_text
from .formula_parser import Definition, parse_definitions

FORMULAS: dict[str, Definition] = parse_definitions(
    """
    gt(a, b) = b < a
    ge(a, b) = b <= a
    ne(a, b) = 1 - (a == b)
    not(a) = a == 0
    clamp(x, low, high) = min(max(x, low), high)
    square(x) = x * x
    reciprocal(x) = 1 / x
    rsqrt(x) = 1 / sqrt(x)
    mod(a, b) = a - b * floor(a / b)
    # GPUs' quotients are off by some units in the last place. If a quotient is cut to its first
    # 12 bits, the remainder is exact in 32 bits, as in double-length arithmetic (Dekker 1971).
    # The remainder corrects the quotient: 1 / 2 becomes exactly 0.5. A correction of more than
    # 0.00001 times the quotient is left out: it occurs only if a number is infinite, underflowed
    # to 0, or has only 16 bits.
    quotient(a, b) = nearer(a / b, corrected(a, b, high_part(a / b), high_part(b)))
    corrected(a, b, q_high, b_high) = q_high + (a - q_high * b_high - q_high * (b - b_high)) / b
    nearer(q, y) = where(abs(y - q) <= 0.00001 * abs(q), y, q)

    relu(x) = max(x, 0)
    relu6(x) = clamp(x, 0, 6)
    leaky_relu(x, alpha=0.01) = max(x, 0) + alpha * min(x, 0)
    prelu(x, slope) = max(x, 0) + slope * min(x, 0)
    thresholded_relu(x, alpha=1) = where(alpha < x, x, 0)

    sigmoid(x) = sigmoid_of(x, exp(-abs(x)))
    sigmoid_of(x, e) = where(x < 0, e, 1) / (1 + e)
    hard_sigmoid(x, alpha=0.2, beta=0.5) = clamp(alpha * x + beta, 0, 1)
    log_sigmoid(x) = -softplus(-x)
    silu(x) = x * sigmoid(x)
    swish(x, alpha=1) = x * sigmoid(alpha * x)
    hard_swish(x) = x * hard_sigmoid(x, 1 / 6, 0.5)

    expm1_negative(x) = exp(min(x, 0)) - 1
    elu(x, alpha=1) = where(0 < x, x, alpha * expm1_negative(x))
    selu(x, alpha=1.6732632423543772, gamma=1.0507009873554805) =
        gamma * where(0 < x, x, alpha * expm1_negative(x))
    celu(x, alpha=1) = max(x, 0) + alpha * expm1_negative(x / alpha)

    # If x is small, 1 + x keeps few of its digits. The Taylor polynomial then errs by 3e-9 at most.
    log1p(x) = where(abs(x) < 0.05, log1p_small(clamp(x, -0.05, 0.05)), log(1 + x))
    log1p_small(x) = x - x * x * (0.5 - x * (1 / 3 - x * (0.25 - x * (0.2 - x / 6))))
    # If x is large, its square is infinite.
    asinh(x) = sign(x) * where(abs(x) < 100, log1p(abs(x) + x * x / (1 + sqrt(x * x + 1))),
        log(abs(x)) + 0.6931471805599453 + 0.25 / (x * x))
    softplus(x) = max(x, 0) + log1p(exp(-abs(x)))
    softsign(x) = x / (1 + abs(x))
    # x * tanh(softplus(x)). With e = exp(-abs(x)), softplus is log(1 + 1 / e) or log(1 + e), so its
    # tanh is a quotient of polynomials in e.
    mish(x) = x * mish_gate(x, exp(-abs(x)))
    mish_gate(x, e) = where(x < 0, e * (e + 2), 1 + 2 * e) / where(x < 0, e * (e + 2) + 2,
        1 + 2 * e + 2 * e * e)

    # Abramowitz and Stegun 7.1.26, absolute error below 1.5e-7.
    erf(x) = sign(x) * (1 - erf_tail(1 / (1 + 0.3275911 * abs(x))) * exp(-x * x))
    erf_tail(t) = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741
        + t * (-1.453152027 + t * 1.061405429))))
    gelu(x) = 0.5 * x * (1 + erf(x * 0.7071067811865476))
    gelu_tanh(x) = 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    """,
    origin="ir/formulas.py",
)


def signature(name: str) -> str:
    """Return a formula's name with its parameters and their defaults."""
    parameters = (
        p if default is None else f"{p}={number_text(default)}"
        for p, default in FORMULAS[name].parameters
    )
    return f"{name}({', '.join(parameters)})"


def body(name: str) -> str:
    """Return the body of a library formula as text."""
    return to_text(FORMULAS[name].body)


def summary(text: str) -> str:
    """Return a formula of x0, x1, ... as one line of documentation; a single operand is x."""
    return f"y = {text if 'x1' in text else text.replace('x0', 'x')}"
