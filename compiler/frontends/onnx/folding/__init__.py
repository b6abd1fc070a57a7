"""Nodes whose inputs are all known, computed when the model is imported.

``nodes`` chooses the way: ``by_numpy`` has the arithmetic of sizes, ``by_onnx_reference`` hands
other operators to ONNX's reference implementation. ``budget`` limits how much is computed and
unrolled. Operators that only move elements are computed by ``frontends.constant_folding``.
"""
