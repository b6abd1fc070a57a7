"""Batches of training patches, and the damage that networks shall undo: noise and JPEG."""

import io

import numpy as np
from PIL import Image

LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # BT.601, as in JPEG


class Patches:
    """Random square patches of photographs, each turned and mirrored at random.

    Half of a batch are the more detailed ones of twice as many drawn, since much of a photograph
    is sky or out of focus.
    """

    def __init__(self, photographs: list[np.ndarray], side: int, seed: int) -> None:
        self.photographs = [p for p in photographs if min(p.shape[:2]) >= side]
        self.side = side
        self.rng = np.random.default_rng(seed)
        # By the root of the size, so that large photographs do not drown small ones.
        size = np.array([p.shape[0] * p.shape[1] for p in self.photographs], float) ** 0.5
        self.chance = size / size.sum()

    def batch(self, count: int) -> np.ndarray:
        """Return patches as uint8 of shape (count, side, side) plus the photographs' channels."""
        chosen = [self._patch() for _ in range(count + count // 2)]
        detailed = sorted(chosen[: 2 * (count // 2)], key=_detail)[count // 2 :]
        return np.stack(detailed + chosen[2 * (count // 2) :])[:count]

    def _patch(self) -> np.ndarray:
        photograph = self.photographs[self.rng.choice(len(self.photographs), p=self.chance)]
        height, width = photograph.shape[:2]
        top = self.rng.integers(height - self.side + 1)
        left = self.rng.integers(width - self.side + 1)
        patch = photograph[top : top + self.side, left : left + self.side]
        patch = np.rot90(patch, self.rng.integers(4))
        return patch[:, ::-1] if self.rng.integers(2) else patch


def _detail(patch: np.ndarray) -> float:
    """Return the mean difference of neighbouring pixels."""
    plane = patch.astype(np.int16)
    return float(np.abs(np.diff(plane, axis=0)).mean() + np.abs(np.diff(plane, axis=1)).mean())


def luma(photograph: np.ndarray) -> np.ndarray:
    """Return the luma of uint8 (H, W, 3) as uint8 (H, W)."""
    return np.round(photograph @ LUMA).astype(np.uint8)


def with_jpeg(picture: np.ndarray, quality: int) -> np.ndarray:
    """Return uint8 (H, W) or (H, W, 3) after JPEG compression, at Pillow's default subsampling."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def with_noise(picture: np.ndarray, deviation: float, rng: np.random.Generator) -> np.ndarray:
    """Return uint8 with Gaussian noise of a standard deviation in steps of 1/255."""
    noisy = picture + rng.normal(0, deviation, picture.shape)
    return np.round(noisy).clip(0, 255).astype(np.uint8)
