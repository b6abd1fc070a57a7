"""Layers of Keras in terms of the IR: one file for each family of handlers.

``table`` lists the handlers by class name, ``layer`` is the interface of handlers, ``common`` has
shared helpers. ``named_activations`` has activations named in other layers, ``activation`` those
that are layers. ``masks`` propagates masks, ``qkeras`` has QKeras' quantisers.
"""
