"""Train the network that removes noise and JPEG artefacts, and write ``denoise.onnx``.

    python examples/networks/training/denoise.py    # 40 minutes on one CPU core; needs [dev]

Height and width are dynamic: RGB in 0..1 of shape (1, 3, H, W) to the same shape. The network works
at half and at a quarter of the size: this costs little, and each pixel sees the JPEG blocks around
it. The network is not told how strong the noise or the compression is.
"""

from pathlib import Path

import numpy as np
import torch
from learning import arguments, export, train
from measures import psnr
from patches import Patches, with_jpeg, with_noise
from photographs import held_out, training
from torch import nn

OUTPUT = Path(__file__).resolve().parents[1] / "denoise" / "denoise.onnx"
FINE, COARSE = 24, 32  # channels at half and at a quarter of the size
SIDE = 64
BATCH = 16
JPEG_BLOCK = 8


class Denoise(nn.Module):
    """A small U-Net of residual blocks that predicts the damage, which is subtracted."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, FINE, 4, stride=2)
        self.before = Block(FINE)
        self.down = nn.Conv2d(FINE, COARSE, 2, stride=2)
        self.coarse = nn.Sequential(Block(COARSE), Block(COARSE))
        self.up = nn.Conv2d(COARSE, 4 * FINE, 1)
        self.after = Block(FINE)
        self.last = _convolution(FINE, 12)
        nn.init.zeros_(self.last.weight)  # training starts from the input, unchanged
        nn.init.zeros_(self.last.bias)

    def forward(self, noisy: torch.Tensor) -> torch.Tensor:
        """Return RGB (N, 3, H, W) without the damage."""
        height, width = noisy.shape[2:]
        # More pixels at the right and the bottom than the strides need, for every size.
        padded = nn.functional.pad(noisy, (1, 4, 1, 4), mode="replicate")
        fine = self.before(self.first(padded))
        coarse = nn.functional.pixel_shuffle(self.up(self.coarse(self.down(fine))), 2)
        fine = fine[:, :, : coarse.shape[2], : coarse.shape[3]] + coarse
        damage = nn.functional.pixel_shuffle(self.last(self.after(fine)), 2)
        return noisy - damage[:, :, :height, :width]

    def hidden(self) -> list[nn.Parameter]:
        """Return the weights between the first and the last convolution."""
        weights = [m.weight for m in self.modules() if isinstance(m, nn.Conv2d)]
        return weights[1:-1]


class Block(nn.Module):
    """Two 3x3 convolutions whose result is added to the input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.expand = _convolution(channels, channels)
        self.add = _convolution(channels, channels)
        # PyTorch's own start lets the signal shrink to nothing in a few layers.
        nn.init.kaiming_normal_(self.expand.weight, nonlinearity="relu")
        nn.init.normal_(self.add.weight, std=0.3 * (9 * channels) ** -0.5)
        nn.init.zeros_(self.expand.bias)
        nn.init.zeros_(self.add.bias)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features + self.add(torch.relu(self.expand(features)))


def _convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1, padding_mode="replicate")


def damaged(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return uint8 RGB with noise, JPEG artefacts, both or (one in twenty) neither."""
    kind = rng.choice(4, p=(0.05, 0.35, 0.35, 0.25))
    if kind in (1, 3):
        picture = with_noise(picture, rng.uniform(0, 30 if kind == 1 else 15), rng)
    if kind in (2, 3):
        picture = with_jpeg(picture, int(rng.integers(25, 96)))
    return picture


class Batches:
    """Batches of damaged and clean patches, as tensors in 0..1."""

    def __init__(self) -> None:
        self.patches = Patches(training(), SIDE + JPEG_BLOCK, seed=1)
        self.rng = np.random.default_rng(2)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return damaged and clean RGB, both (N, 3, SIDE, SIDE)."""
        clean = self.patches.batch(BATCH)
        noisy = np.stack([damaged(patch, self.rng) for patch in clean])
        # Cut afterwards: the blocks of a cropped JPEG start anywhere.
        top, left = self.rng.integers(JPEG_BLOCK, size=2)
        window = np.s_[:, top : top + SIDE, left : left + SIDE]
        return _tensor(noisy[window]), _tensor(clean[window])


def _tensor(pictures: np.ndarray) -> torch.Tensor:
    scaled = torch.from_numpy(pictures.astype(np.float32) / 255).permute(0, 3, 1, 2)
    return scaled.contiguous(memory_format=torch.channels_last)


DAMAGES = {
    "clean": lambda picture, rng: picture,
    "noise 10": lambda picture, rng: with_noise(picture, 10, rng),
    "noise 20": lambda picture, rng: with_noise(picture, 20, rng),
    "JPEG 40": lambda picture, rng: with_jpeg(picture, 40),
    "JPEG 75": lambda picture, rng: with_jpeg(picture, 75),
    "noise 8, JPEG 60": lambda picture, rng: with_jpeg(with_noise(picture, 8, rng), 60),
}


def measure(model: nn.Module) -> str:
    """Return the mean PSNR on the middle of the held-out photographs, before and after."""
    originals = []
    for photograph in held_out().values():
        height, width = photograph.shape[:2]
        originals.append(photograph[height // 2 - 100 :, width // 2 - 100 :][:200, :200])
    parts = []
    for name, damage in DAMAGES.items():
        rng = np.random.default_rng(3)
        before, after = [], []
        for original in originals:
            noisy = damage(original, rng)
            with torch.no_grad():
                out = model(_tensor(noisy[None]))[0].permute(1, 2, 0).numpy()
            before.append(psnr(noisy, original) if name != "clean" else 99)
            after.append(psnr(np.round(out * 255).clip(0, 255), original))
        parts.append(f"{name} {np.mean(before):.2f}->{np.mean(after):.2f}")
    return ", ".join(parts)


def main() -> None:
    options = arguments(__doc__, minutes=40)
    checkpoint = options.work / "denoise.pt"
    model = Denoise().to(memory_format=torch.channels_last)
    if options.export or options.resume:
        model.load_state_dict(torch.load(checkpoint))
    if not options.export:
        batches = Batches()

        def loss(network: nn.Module) -> torch.Tensor:
            noisy, clean = batches.next()
            # Nearly the negative PSNR of each patch, so that slight and strong damage both count.
            error = ((network(noisy) - clean) ** 2).mean((1, 2, 3))
            return torch.log(error + 3e-4).mean()

        model = train(
            model, loss, measure, checkpoint,
            minutes=options.minutes, rate=3e-3, hidden=model.hidden(),
        )  # fmt: skip
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {measure(model)}")
    export(model.to(memory_format=torch.contiguous_format), 3, ("noisy", "clean"),
           OUTPUT)  # fmt: skip


if __name__ == "__main__":
    main()
