"""User shaders for mpv and libplacebo: a schedule and its programs become one GLSL file.

In the order of the data:

- :mod:`.hooks`: where in the player's picture the network goes (``//!HOOK``).
- :mod:`.expressible`: refuses schedules that the format cannot express.
- :mod:`.sizes`: sizes in the format's postfix notation.
- :mod:`.naming`: what passes, and the textures that they save, are called.
- :mod:`.sampling`: resizes that readers sample.
- :mod:`.binds`: what a pass computes of the textures that it binds.
- :mod:`.blocks`: a block of the file for each GPU pass, and one that copies the picture.
- :mod:`.file`: the text of the file.

Programs are printed by :mod:`..dialects.user_shader`, which alone writes GLSL.
"""
