"""Train ESPCN x2 on luma and write ``espcn_x2.h5``: five minutes on two CPU cores.

The network is the classic one (Shi et al. 2016, "Real-Time Single Image and Video Super-Resolution
Using an Efficient Sub-Pixel Convolutional Neural Network"), in its small form: 5x5x16 tanh, 3x3x16
tanh, 3x3x4, subpixel. Every convolution reads the nearest pixel where it would read outside, as
``GL_CLAMP_TO_EDGE`` does. It learns from photographs that ship inside scikit-image, never from
``chelsea``, which it is measured with. A patch is a whole picture to the network, with borders
of its own, and every pixel counts, in training as in measuring.

    python examples/espcn/train.py            # needs keras, jax and scikit-image (extra [dev])
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import keras
import numpy as np
import skimage
from PIL import Image

HERE = Path(__file__).resolve().parent
HELD_OUT = "chelsea"
PHOTOGRAPHS = (
    "astronaut.png",
    "brick.png",
    "camera.png",
    "coffee.png",
    "coins.png",
    "grass.png",
    "gravel.png",
    "hubble_deep_field.jpg",
    "ihc.png",
    "moon.png",
    "motorcycle_left.png",
    "motorcycle_right.png",
    "retina.jpg",
    "rocket.jpg",
)
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # BT.601, as in JPEG
PATCH = 48  # low-resolution pixels a side
BORDER = 2  # high-resolution pixels at each side that are measured apart


def build_model() -> keras.Model:
    """Return the untrained network: (N, H, W, 1) luma in 0..1 to (N, 2H, 2W, 1)."""
    low = keras.Input(shape=(None, None, 1), name="low")
    x = keras.layers.Conv2D(16, 5, activation="tanh", name="conv1")(clamped(clamped(low)))
    x = keras.layers.Conv2D(16, 3, activation="tanh", name="conv2")(clamped(x))
    x = keras.layers.Conv2D(4, 3, name="conv3")(clamped(x))
    model = keras.Model(low, keras.ops.depth_to_space(x, 2), name="espcn_x2")
    names = iter(("clamp1a", "clamp1b", "clamp2", "clamp3", "subpixel"))
    for operation in model.operations:
        if not isinstance(operation, keras.layers.Layer):
            operation.name = next(names)  # the functions take no name
    return model


def clamped(x: keras.KerasTensor) -> keras.KerasTensor:
    """Repeat the border pixels once. By one pixel that is what "symmetric" means.

    Mode "edge" says so plainly, and is missing from Keras on TensorFlow.
    """
    return keras.ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="symmetric")


def luma(image: Image.Image) -> np.ndarray:
    """Return the luma of an 8-bit image as float32 in 0..1, shape (H, W)."""
    return np.asarray(image.convert("RGB"), np.float32) @ LUMA / 255.0


def halve(image: Image.Image) -> Image.Image:
    """Return the image at half size by antialiased bicubic."""
    return image.resize((image.width // 2, image.height // 2), Image.Resampling.BICUBIC)


def halved(high: np.ndarray) -> np.ndarray:
    """Return luma at half size, by the same bicubic."""
    height, width = high.shape
    low = Image.fromarray(high).resize((width // 2, height // 2), Image.Resampling.BICUBIC)
    return np.asarray(low)


def training_pictures(folder: Path) -> list[np.ndarray]:
    """Return the luma of every photograph at several sizes."""
    pictures = []
    for name in PHOTOGRAPHS:
        photograph = Image.open(folder / name).convert("RGB")
        for scale in (1.0, 0.8, 0.6, 0.45):
            width, height = (2 * round(side * scale / 2) for side in photograph.size)
            if min(width, height) < 2 * PATCH + 2:
                continue
            high = photograph.resize((width, height), Image.Resampling.BICUBIC)
            pictures.append(luma(high))
    return pictures


class Patches(keras.utils.PyDataset):
    """Batches of random patches: random photograph, place, flip and rotation; fixed seed."""

    def __init__(self, pictures: list[np.ndarray], steps: int, batch: int, seed: int) -> None:
        super().__init__()
        self.pictures, self.steps, self.batch, self.seed = pictures, steps, batch, seed
        # A patch is drawn in proportion to the pixels of its photograph, flattened by the root so
        # that the largest does not drown the rest.
        area = np.array([picture.size for picture in pictures], float) ** 0.5
        self.chance = area / area.sum()

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng((self.seed, index))
        chosen = rng.choice(len(self.pictures), self.batch, p=self.chance)
        high = [_patch(self.pictures[which], rng) for which in chosen]
        low = [halved(patch) for patch in high]  # with the borders that a picture has
        return np.stack(low)[..., np.newaxis], np.stack(high)[..., np.newaxis]


def _patch(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a patch of twice ``PATCH`` pixels a side, turned and flipped at random."""
    side = 2 * PATCH
    found = []
    for _ in range(3):  # and keep the one with the most detail: sky teaches nothing
        y, x = (2 * rng.integers((extent - side) // 2 + 1) for extent in picture.shape)
        found.append(picture[y : y + side, x : x + side])
    patch = np.rot90(max(found, key=np.std), rng.integers(4))
    return np.ascontiguousarray(patch[:, ::-1] if rng.integers(2) else patch)


def psnr(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Return the peak signal-to-noise ratio in dB of two images in 0..1.

    Of all pixels, of those within ``BORDER`` of an edge, and of the rest.
    """
    error = (np.clip(a, 0, 1) - b) ** 2
    inside = np.zeros(error.shape, bool)
    inside[BORDER:-BORDER, BORDER:-BORDER] = True
    parts = (error, error[~inside], error[inside])
    return tuple(float(-10 * np.log10(np.mean(part))) for part in parts)


def measure(model: keras.Model, photograph: Image.Image) -> dict[str, tuple[float, float, float]]:
    """Return the PSNR on luma of bicubic and of the model, as :func:`psnr` gives it."""
    high = photograph.crop((0, 0, photograph.width & ~1, photograph.height & ~1))
    low = halve(high)
    bicubic = luma(low.resize(high.size, Image.Resampling.BICUBIC))
    ours = np.asarray(model(luma(low)[None, :, :, None]))[0, :, :, 0]
    return {name: psnr(y, luma(high)) for name, y in (("bicubic", bicubic), ("ESPCN", ours))}


def main() -> None:
    """Train, report and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=4e-3, help="peak of the learning rate")
    parser.add_argument("--seed", type=int, default=2016)
    parser.add_argument("--output", type=Path, default=HERE / "espcn_x2.h5")
    options = parser.parse_args()

    keras.utils.set_random_seed(options.seed)
    folder = Path(skimage.__file__).parent / "data"
    held_out = Image.open(folder / f"{HELD_OUT}.png").convert("RGB")
    pictures = training_pictures(folder)
    model = build_model()

    rate = keras.optimizers.schedules.CosineDecay(
        0.0, options.steps, alpha=0.01, warmup_target=options.rate, warmup_steps=200
    )
    model.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")
    start = time.monotonic()
    model.fit(Patches(pictures, options.steps, options.batch, options.seed), verbose=2)
    print(f"trained {options.steps} steps in {time.monotonic() - start:.0f} s")
    print(f"PSNR on luma of {HELD_OUT}, in dB: all, the outer {BORDER} pixels, inside")
    for name, parts in measure(model, held_out).items():
        print(f"  {name:<10}" + "".join(f"{part:8.2f}" for part in parts))
    model.save(options.output, include_optimizer=False)
    print(f"wrote {options.output} ({options.output.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
