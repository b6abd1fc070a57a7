"""Layers of Keras in terms of the IR: one file for each family of handlers.

``table`` lists the handlers by class name, ``layer`` is what a handler works with, ``common`` what
many handlers share. ``named_activations`` are those that other layers name, ``activation`` those
that are layers. ``masks`` says how layers hand on masks, ``qkeras`` has QKeras' quantisers.
"""
