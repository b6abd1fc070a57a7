"""Train ESPCN x2 on luma and write ``espcn_x2.h5``: three minutes on two CPU cores.

The network is the classic one (Shi et al. 2016, "Real-Time Single Image and Video Super-Resolution
Using an Efficient Sub-Pixel Convolutional Neural Network"), in its small form: 5x5x16 tanh, 3x3x16
tanh, 3x3x4, subpixel. It learns from photographs that ship inside scikit-image, never from
``chelsea``, which demo.py measures it on.

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
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # BT.601, as JPEG and demo.py have it
PATCH = 34  # low-resolution pixels a side
MARGIN = 4  # receptive field of the network on each side: 2 + 1 + 1
BORDER_WEIGHT = 0.05  # pixels within MARGIN of a patch's edge see zero padding: few in a real image


def build_model() -> keras.Model:
    """Return the untrained network: (N, H, W, 1) luma in 0..1 to (N, 2H, 2W, 1)."""
    low = keras.Input(shape=(None, None, 1), name="low")
    x = keras.layers.Conv2D(16, 5, padding="same", activation="tanh", name="conv1")(low)
    x = keras.layers.Conv2D(16, 3, padding="same", activation="tanh", name="conv2")(x)
    x = keras.layers.Conv2D(4, 3, padding="same", name="conv3")(x)
    model = keras.Model(low, keras.ops.depth_to_space(x, 2), name="espcn_x2")
    model.operations[-1].name = "subpixel"  # the function takes no name
    return model


def luma(image: Image.Image) -> np.ndarray:
    """Return the luma of an 8-bit image as float32 in 0..1, shape (H, W)."""
    return np.asarray(image.convert("RGB"), np.float32) @ LUMA / 255.0


def halve(image: Image.Image) -> Image.Image:
    """Return the image at half size by antialiased bicubic, as demo.py makes its input."""
    return image.resize((image.width // 2, image.height // 2), Image.Resampling.BICUBIC)


def training_pairs(folder: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (low, high) luma pairs of every photograph at several sizes."""
    pairs = []
    for name in PHOTOGRAPHS:
        photograph = Image.open(folder / name).convert("RGB")
        for scale in (1.0, 0.8, 0.6, 0.45):
            width, height = (2 * round(side * scale / 2) for side in photograph.size)
            if min(width, height) < 2 * PATCH + 2:
                continue
            high = photograph.resize((width, height), Image.Resampling.BICUBIC)
            pairs.append((luma(halve(high)), luma(high)))
    return pairs


class Patches(keras.utils.PyDataset):
    """Batches of random patches: random photograph, place, flip and rotation; fixed seed."""

    def __init__(self, pairs, steps: int, batch: int, seed: int) -> None:
        super().__init__()
        self.pairs, self.steps, self.batch, self.seed = pairs, steps, batch, seed
        # A patch is drawn in proportion to the pixels of its photograph, flattened by the root so
        # that the largest does not drown the rest.
        area = np.array([low.size for low, _ in pairs], float) ** 0.5
        self.chance = area / area.sum()
        weight = np.full((2 * PATCH, 2 * PATCH, 1), BORDER_WEIGHT, np.float32)
        weight[2 * MARGIN : -2 * MARGIN, 2 * MARGIN : -2 * MARGIN] = 1.0
        self.weight = np.broadcast_to(weight, (batch, *weight.shape))

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int):
        rng = np.random.default_rng((self.seed, index))
        low_batch = np.empty((self.batch, PATCH, PATCH, 1), np.float32)
        high_batch = np.empty((self.batch, 2 * PATCH, 2 * PATCH, 1), np.float32)
        for i, which in enumerate(rng.choice(len(self.pairs), self.batch, p=self.chance)):
            low, high = self.pairs[which]
            # Of three places keep the one with the most detail: sky teaches nothing.
            best = None
            for _ in range(3):
                y = rng.integers(low.shape[0] - PATCH + 1)
                x = rng.integers(low.shape[1] - PATCH + 1)
                detail = low[y : y + PATCH, x : x + PATCH].std()
                if best is None or detail > best[0]:
                    best = (detail, y, x)
            _, y, x = best
            patch_low = low[y : y + PATCH, x : x + PATCH]
            patch_high = high[2 * y : 2 * (y + PATCH), 2 * x : 2 * (x + PATCH)]
            turns, flip = rng.integers(4), rng.integers(2)
            patch_low, patch_high = np.rot90(patch_low, turns), np.rot90(patch_high, turns)
            if flip:
                patch_low, patch_high = patch_low[:, ::-1], patch_high[:, ::-1]
            low_batch[i, :, :, 0], high_batch[i, :, :, 0] = patch_low, patch_high
        return low_batch, high_batch, self.weight


def psnr(a: np.ndarray, b: np.ndarray, border: int = 4) -> float:
    """Return the peak signal-to-noise ratio in dB of two images in 0..1, borders left out."""
    inside = slice(border, -border)
    error = np.clip(a, 0, 1)[inside, inside] - b[inside, inside]
    return float(-10 * np.log10(np.mean(error**2)))


def measure(model: keras.Model, photograph: Image.Image) -> tuple[float, float]:
    """Return the PSNR on luma in dB of bicubic and of the model."""
    high = photograph.crop((0, 0, photograph.width & ~1, photograph.height & ~1))
    low = halve(high)
    bicubic = luma(low.resize(high.size, Image.Resampling.BICUBIC))
    ours = np.asarray(model(luma(low)[None, :, :, None]))[0, :, :, 0]
    return psnr(bicubic, luma(high)), psnr(ours, luma(high))


def main() -> None:
    """Train, report and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=4e-3, help="peak of the learning rate")
    parser.add_argument("--seed", type=int, default=2016)
    parser.add_argument("--output", type=Path, default=HERE / "espcn_x2.h5")
    options = parser.parse_args()

    keras.utils.set_random_seed(options.seed)
    folder = Path(skimage.__file__).parent / "data"
    held_out = Image.open(folder / f"{HELD_OUT}.png").convert("RGB")
    pairs = training_pairs(folder)
    model = build_model()

    rate = keras.optimizers.schedules.CosineDecay(
        0.0, options.steps, alpha=0.01, warmup_target=options.rate, warmup_steps=200
    )
    model.compile(optimizer=keras.optimizers.Adam(rate), loss="mae")
    start = time.monotonic()
    model.fit(Patches(pairs, options.steps, options.batch, options.seed), verbose=2)
    print(f"trained {options.steps} steps in {time.monotonic() - start:.0f} s")
    bicubic, ours = measure(model, held_out)
    print(f"{HELD_OUT}: bicubic {bicubic:.2f} dB, ESPCN {ours:.2f} dB, {ours - bicubic:+.2f} dB")
    model.save(options.output, include_optimizer=False)
    print(f"wrote {options.output} ({options.output.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
