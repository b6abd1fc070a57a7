"""``shadergen report``: a build, or a model compiled in memory, as one HTML page.

    schedule, shaders, decisions -> Content -> drawings -> page

- :mod:`.content`: what the page shows, from a build folder or from a model.
- :mod:`.weights`: histograms of a model's weights.
- :mod:`.network`: the network as a drawing: layers, their GPU passes, textures between them.
- :mod:`.details`: what the page says of each group of layers.
- :mod:`.memory`: texture memory over the GPU passes.
- :mod:`.highlighting`: shaders as HTML, by Pygments.
- :mod:`.page`: the page, from the templates ``report.*.j2``, and its file.

The page needs no network: style and script are inline, and its content security policy allows
nothing else. Names in models and builds are untrusted; the template escapes all texts.
"""
