"""The shader IR: what one GPU pass computes, as a typed program that no shading language owns.

- :mod:`.types`: scalars, vectors, matrices.
- :mod:`.operations`: operators and intrinsic functions, and the types of their results.
- :mod:`.expressions`: typed values, built with Python's operators.
- :mod:`.constructors`: functions that build expressions: ``vec4(...)``, ``intrinsic("min", ...)``.
- :mod:`.statements`: declarations, loops, branches, stores; :class:`.statements.Body` builds them.
- :mod:`.program`: functions, bindings, the whole of a shader.
- :mod:`.structure`: keys that tell which programs are equal.

A kernel (``backends.kernels``) builds a program; a dialect (``backends.dialects``) prints it.
"""
