"""The ONNX backend test suite, run by the shaders that its models compile to.

make conformance                       run all of it, write the scoreboard
make conformance ARGS="--only resize"  run the cases whose names match, print what fails
"""
