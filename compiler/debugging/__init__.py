"""A look inside a build: what its GPU passes store, and which of them is wrong.

    graph, schedule -> stored tensors -> arrays of the GPU, arrays of the interpreter -> errors

- :mod:`.stored`: the tensors that a build stores, by the GPU passes that write them.
- :mod:`.probes`: a build that shows all of them, and a build of the passes of one.
- :mod:`.interpreted`: the same tensors, by the interpreter of the graph.
- :mod:`.inside`: a build beside the interpreter of its graph: tensors compared, or computed alone.
- :mod:`.layers`: ``verify --layers``: each of them compared.
- :mod:`.pixels`: the worst pixel, and the line of the shader that wrote it.
- :mod:`.heat_maps`: the errors as pictures, on contact sheets (:mod:`.sheets`).
- :mod:`.bisection`: ``verify --bisect``: what makes a build wrong, from :mod:`.graph_passes`, the
  compiler's pass that made the graph wrong, :mod:`.import_faults`, the value that was imported
  wrongly, and :mod:`.trials`, options that avoid a part of the compiler.
"""
