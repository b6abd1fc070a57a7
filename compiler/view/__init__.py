"""``shadergen view``: every channel of every tensor that a build stores, as pictures.

    build, inputs -> textures -> sheets of maps -> page, or folder of PNGs

- :mod:`.content`: runs the build and describes its tensors.
- :mod:`.pictures`: numbers as colours, maps as one PNG.
- :mod:`.page`: the page, from the templates ``view.*.j2``, or the folder.
"""
