"""Shapes of inputs, declared and inferred shapes, and dynamic dimensions.

``inputs`` resolves the shapes of inputs, ``image_axes`` finds their height and width. ``inference``
asks ONNX's own shape inference, ``declared`` compares the shapes in the file with those computed
here, ``discontinuities`` refuses to round numbers that follow from dynamic sizes.
"""
