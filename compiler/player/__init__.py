"""User shaders (``.glsl``) in FFmpeg's libplacebo filter: shown, measured, verified.

Any user shader will do, not only those of this compiler.
"""
