"""Shapes: what the file declares, what ONNX infers, and which sizes are dynamic.

``inference`` asks ONNX's own shape inference, ``declared`` compares the shapes in the file with
those computed here, ``image_axes`` finds height and width, ``discontinuities`` refuses to round
numbers that follow from dynamic sizes.
"""
