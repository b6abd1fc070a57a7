"""Nodes whose inputs are all known, computed when the model is imported.

``by_numpy`` has the arithmetic of sizes, ``by_onnx_reference`` hands other operators to ONNX's
reference implementation, ``budget`` limits how much is computed and unrolled.
"""
