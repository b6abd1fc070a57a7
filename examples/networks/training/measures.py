"""How close a picture is to its original."""

import numpy as np

C = 0.0026  # the constant of gradient magnitude similarity, for values in 0..1


def psnr(picture: np.ndarray, original: np.ndarray) -> float:
    """Return the peak signal-to-noise ratio in dB over every pixel; uint8 or float in 0..255."""
    error = np.mean((picture.astype(np.float64) - original.astype(np.float64)) ** 2)
    return float(10 * np.log10(255**2 / error))


def gradient_deviation(picture: np.ndarray, original: np.ndarray) -> float:
    """Return the gradient magnitude similarity deviation of two luma pictures (H, W) in 0..255.

    0 is equal; smaller is better. Xue et al. 2014, "Gradient Magnitude Similarity Deviation".
    """
    a, b = _gradient(picture), _gradient(original)
    return float(np.std((2 * a * b + C) / (a * a + b * b + C)))


def _gradient(picture: np.ndarray) -> np.ndarray:
    """Return the Prewitt gradient magnitude of the luma at half size, as the measure defines."""
    height, width = (side // 2 * 2 for side in picture.shape)
    p = picture[:height, :width].astype(np.float64) / 255
    p = (p[::2, ::2] + p[1::2, ::2] + p[::2, 1::2] + p[1::2, 1::2]) / 4
    p = np.pad(p, 1, mode="edge")
    across = (p[:-2] + p[1:-1] + p[2:]) / 3
    down = (p[:, :-2] + p[:, 1:-1] + p[:, 2:]) / 3
    return np.hypot(across[:, 2:] - across[:, :-2], down[2:] - down[:-2])
