"""What must be refused by name: nothing here may come out as a wrong answer."""

from __future__ import annotations

from .case import layers

CASES = [
    *layers((7, 6, 3), "AutoContrast()", keras=(3,), refused="SG0201"),
    *layers(
        (64, 1),
        "STFTSpectrogram(fft_length=16, frame_length=16, frame_step=8)",
        keras=(3,),
        refused="SG0201",
    ),
    *layers(
        (5,),
        "Hashing(4)",
        "IntegerLookup(vocabulary=[1, 2, 3])",
        whole=4,
        dtype="int32",
        keras=(2,),
        refused="SG0201",
    ),
]
