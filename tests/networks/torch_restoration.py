"""Image-to-image networks: super-resolution and style transfer."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def espcn(scale: int = 3, channels: int = 1, widths: tuple[int, int] = (64, 32)) -> nn.Module:
    """ESPCN (Shi et al. 2016, section 3.2): 5-3-3, tanh, pixel shuffle."""
    first, second = widths
    return nn.Sequential(
        nn.Conv2d(channels, first, 5, padding=2),
        nn.Tanh(),
        nn.Conv2d(first, second, 3, padding=1),
        nn.Tanh(),
        nn.Conv2d(second, channels * scale * scale, 3, padding=1),
        nn.PixelShuffle(scale),
    )


def fsrcnn(scale: int = 2, width: int = 56, shrunk: int = 12, maps: int = 4) -> nn.Module:
    """FSRCNN (Dong et al. 2016, section 3.2), d = 56, s = 12, m = 4: it ends in a deconvolution."""
    layers: list[nn.Module] = [nn.Conv2d(1, width, 5, padding=2), nn.PReLU(width)]
    layers += [nn.Conv2d(width, shrunk, 1), nn.PReLU(shrunk)]
    for _ in range(maps):
        layers += [nn.Conv2d(shrunk, shrunk, 3, padding=1), nn.PReLU(shrunk)]
    layers += [nn.Conv2d(shrunk, width, 1), nn.PReLU(width)]
    layers += [nn.ConvTranspose2d(width, 1, 9, scale, 4, output_padding=scale - 1)]
    return nn.Sequential(*layers)


class Plus(nn.Module):
    """x + scale * body(x)."""

    def __init__(self, *body: nn.Module, scale: float = 1.0) -> None:
        super().__init__()
        self.body, self.scale = nn.Sequential(*body), scale

    def forward(self, x: Tensor) -> Tensor:
        return x + self.scale * self.body(x)


def conv3(before: int, after: int) -> nn.Module:
    return nn.Conv2d(before, after, 3, padding=1)


def edsr(scale: int = 2, width: int = 64, blocks: int = 16) -> nn.Module:
    """EDSR baseline (Lim et al. 2017, table 1)."""
    body = [
        Plus(conv3(width, width), nn.ReLU(), conv3(width, width), scale=0.5) for _ in range(blocks)
    ]
    return nn.Sequential(
        conv3(3, width),
        Plus(*body, conv3(width, width), scale=0.5),
        conv3(width, width * scale * scale),
        nn.PixelShuffle(scale),
        conv3(width, 3),
    )


def artcnn(width: int = 16, maps: int = 4) -> nn.Module:
    """ArtCNN's shape, C4F16 by default (https://github.com/Artoriuz/ArtCNN): luma, scale 2."""
    body: list[nn.Module] = []
    for _ in range(maps):
        body += [conv3(width, width), nn.ReLU()]
    return nn.Sequential(
        conv3(1, width),
        Plus(*body, conv3(width, width)),
        conv3(width, 4),
        nn.PixelShuffle(2),
    )


class ChannelAttention(nn.Module):
    """Scale channels by what their averages say."""

    def __init__(self, width: int, reduction: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(width, width // reduction, 1),
            nn.ReLU(),
            nn.Conv2d(width // reduction, width, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(x)


def rcan(scale: int = 2, width: int = 64, groups: int = 2, blocks: int = 4) -> nn.Module:
    """RCAN (Zhang et al. 2018, section 3), with 2 groups of 4 blocks in place of 10 of 20."""

    def block() -> nn.Module:
        attention = ChannelAttention(width, 16)
        return Plus(conv3(width, width), nn.ReLU(), conv3(width, width), attention)

    body = [Plus(*(block() for _ in range(blocks)), conv3(width, width)) for _ in range(groups)]
    return nn.Sequential(
        conv3(3, width),
        Plus(*body, conv3(width, width)),
        conv3(width, width * scale * scale),
        nn.PixelShuffle(scale),
        conv3(width, 3),
    )


def style_layer(before: int, after: int, kernel: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.ReflectionPad2d(kernel // 2),
        nn.Conv2d(before, after, kernel, stride),
        nn.InstanceNorm2d(after, affine=True),
    )


class FastStyle(nn.Module):
    """Johnson et al. 2016 (supplement, table 1), instance normalised, upsampling by nearest."""

    def __init__(self) -> None:
        super().__init__()
        relu = nn.ReLU()
        self.down = nn.Sequential(
            style_layer(3, 32, 9),
            relu,
            style_layer(32, 64, 3, 2),
            relu,
            style_layer(64, 128, 3, 2),
            relu,
        )
        self.residual = nn.Sequential(
            *(Plus(style_layer(128, 128, 3), relu, style_layer(128, 128, 3)) for _ in range(5))
        )
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2, mode="nearest"),
            style_layer(128, 64, 3),
            relu,
            nn.Upsample(scale_factor=2, mode="nearest"),
            style_layer(64, 32, 3),
            relu,
            nn.ReflectionPad2d(4),
            nn.Conv2d(32, 3, 9),
        )

    def forward(self, x: Tensor) -> Tensor:
        return 127.5 * (torch.tanh(self.up(self.residual(self.down(x)))) + 1)
