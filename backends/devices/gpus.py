"""Published rates of GPUs by their names: what ``inspect --device`` estimates milliseconds from.

Where the numbers come from:

- Mali: operations, texels and pixels of a core in a clock are those of Arm's GPU data sheet, and of
  ``VK_ARM_shader_core_properties`` as drivers report it. Clocks are those of the systems named.
- Adreno: Qualcomm publishes 9.4 gigapixels a second for the 640, but no units. Chips and Cheese
  counts six shader processors in it, each with four texture units and 64 lanes; the 630 has a third
  fewer, by Qualcomm. Lanes are multiply-adds of 32 bits as measured, half of the "ALUs" of other
  tables. Units of the 740 are assumed in the 640's ratio to its lanes.
- Radeon, GeForce, Arc, Iris Xe: the vendors' specifications, as TechPowerUp's GPU database has
  them, at boost clock.
- VideoCore VI: 8 QPUs of 4 lanes (Mesa's v3d). Texels and pixels are assumed to be those of
  VideoCore IV.
- Apple: multiply-adds, texels and pixels a second as presented with the M1 and the M2.
- Radeon RX 6800's cache of 128 MiB: 3.25 times the memory, as AMD presented it.
- Memory: channels times transfers of the system. For the Pi 4 it is what STREAM copies
  (sci-pi.org.uk): 5.5 GB/s. Its channel's 12.8 GB/s are out of reach.
- Bytes of a texel at the full rate: measured by ``texelFetch`` from a cache in sebbbi's perftest.
  RX 5700 XT has 16; RTX 2080 Ti and Intel's Gen 9 and 11 have 8, and 16 take twice as long. Adreno
  640 gives 192 GB/s (Chips and Cheese), 14 bytes for each texel. Mali and Apple: 8 is assumed.
  VideoCore: 4, as it returns words.
"""

from __future__ import annotations

from ...records import dataclass

RENDER_TARGET_BYTES = 4  # of a pixel that is written at the full rate, an assumption for all


@dataclass(frozen=True)
class Gpu:
    """The published rates of a GPU.

    Attributes:
        system: where it is found, which decides on clock and memory.
        family: the device profile whose costs hold for it.
        gigahertz: its clock.
        lanes: multiply-adds of 32-bit floats in a clock.
        texels: texels of the texture units in a clock.
        texel_bytes: of a texel at that rate; a wider texel takes as many times longer.
        pixels: pixels of ``RENDER_TARGET_BYTES`` that are written to render targets in a clock.
        gigabytes: of memory in a second.
        cache_gigabytes: of a cache that holds a frame's tensors, in a second; 0 without one.
    """

    system: str
    family: str
    gigahertz: float
    lanes: int
    texels: int
    texel_bytes: int
    pixels: int
    gigabytes: float
    cache_gigabytes: float = 0.0

    @property
    def tensor_gigabytes(self) -> float:
        """What reading and writing tensors gets in a second."""
        return max(self.gigabytes, self.cache_gigabytes)


GPUS = {
    "Mali-G72 MP12": Gpu("Kirin 970", "mali-bifrost", 0.746, 144, 12, 8, 12, 29.8),
    "Mali-G76 MP10": Gpu("Kirin 980", "mali-bifrost", 0.72, 240, 20, 8, 20, 34.1),
    "Mali-G610 MP4": Gpu("RK3588", "mali-valhall", 1.0, 256, 32, 8, 16, 34.1),
    "Mali-G78 MP20": Gpu("Google Tensor", "mali-valhall", 0.848, 640, 80, 8, 40, 51.2),
    "Adreno 630": Gpu("Snapdragon 845", "adreno-6xx", 0.71, 256, 16, 16, 16, 29.9),
    "Adreno 640": Gpu("Snapdragon 855", "adreno-6xx", 0.585, 384, 24, 16, 16, 34.1),
    "Adreno 740": Gpu("Snapdragon 8 Gen 2", "adreno-7xx", 0.68, 768, 48, 16, 32, 67.2),
    "Radeon RX 6800": Gpu("desktop", "amd-rdna", 2.105, 3840, 240, 16, 96, 512.0, 1664.0),
    "Van Gogh": Gpu("Steam Deck", "amd-rdna", 1.6, 512, 32, 16, 16, 88.0),
    "GeForce RTX 2080": Gpu("desktop", "nvidia", 1.71, 2944, 184, 8, 64, 448.0),
    "GeForce RTX 3060": Gpu("desktop", "nvidia", 1.777, 3584, 112, 8, 48, 360.0),
    "Iris Xe (96 units)": Gpu("Core i7-1165G7", "intel-gen12", 1.3, 768, 48, 8, 24, 68.3),
    "Arc A770": Gpu("desktop", "intel-gen12", 2.1, 4096, 256, 8, 128, 560.0),
    "VideoCore VI (Raspberry Pi 4)": Gpu("Pi 4", "videocore-6", 0.5, 32, 2, 4, 4, 5.5),
    "Apple M1": Gpu("MacBook Air", "apple", 1.278, 1024, 64, 8, 32, 68.3),
    "Apple M2": Gpu("MacBook Air", "apple", 1.398, 1280, 80, 8, 40, 102.4),
}
"""The costs in a family's profile are those of the family's first GPU here."""
