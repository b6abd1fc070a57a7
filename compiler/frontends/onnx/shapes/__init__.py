"""Shapes of inputs, declared and inferred shapes, and dynamic dimensions.

``inputs`` resolves the shapes of inputs, ``inference`` asks ONNX's own shape inference.
``declared`` compares the shapes in the file with those computed here, ``discontinuities`` refuses
to round numbers that follow from dynamic sizes.
"""
