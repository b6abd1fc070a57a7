"""Operations of keras.ops and TensorFlow in terms of the IR: one file for each family of handlers.

``table`` lists the handlers by their names in keras.ops, ``names`` has other spellings of these,
``arguments`` reads the arguments of a call.
"""
