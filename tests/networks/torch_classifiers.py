"""Classifiers that torchvision does not have, or has in one size only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from types import ModuleType


LIBRARIES: list[torch.library.Library] = []  # what they declare is forgotten with them


def vision_models() -> ModuleType:
    """Import torchvision, with or without its compiled operators.

    Its wheels are compiled against the CUDA build of torch; beside the CPU build the library does
    not load, and importing then fails for want of two declarations, which no network here needs.
    """
    try:
        import torchvision
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        LIBRARIES.append(library)
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision

    return torchvision.models


def from_torchvision(name: str, **arguments: Any) -> nn.Module:
    """Return one of torchvision's models without weights."""
    if name in ("googlenet", "inception_v3"):
        # Auxiliary heads serve training, and the initialisation takes a minute.
        arguments |= {"aux_logits": False, "init_weights": False}
    return getattr(vision_models(), name)(weights=None, **arguments)


def vit_tiny(size: tuple[int, int]) -> nn.Module:
    """ViT-Ti/16 (Touvron et al. 2021, table 1): 12 layers, 3 heads, width 192."""
    return vision_models().VisionTransformer(
        image_size=size[0],
        patch_size=16,
        num_layers=12,
        num_heads=3,
        hidden_dim=192,
        mlp_dim=768,
    )


def swin_small() -> nn.Module:
    """Two stages of Swin (Liu et al. 2021): windows of 4, every second one shifted."""
    return vision_models().SwinTransformer(
        patch_size=[4, 4],
        embed_dim=48,
        depths=[2, 2],
        num_heads=[3, 6],
        window_size=[4, 4],
        num_classes=100,
    )


class LeNet5(nn.Module):
    """LeNet-5 (LeCun et al. 1998, figure 2), with full connections in C3 and a dense output."""

    def __init__(self) -> None:
        super().__init__()
        self.c1, self.c3, self.c5 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5), nn.Conv2d(16, 120, 5)
        self.s2, self.s4 = nn.AvgPool2d(2), nn.AvgPool2d(2)
        self.f6, self.output = nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.s2(torch.tanh(self.c1(x)))
        x = self.s4(torch.tanh(self.c3(x)))
        x = torch.flatten(torch.tanh(self.c5(x)), 1)
        return torch.softmax(self.output(torch.tanh(self.f6(x))), 1)


class ShuffleNetV1(nn.Module):
    """ShuffleNet (Zhang et al. 2018, table 1, g = 3), its stages shortened to two units each."""

    def __init__(self, groups: int = 3, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 24, 3, 2, 1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        units: list[nn.Module] = []
        for before, after in ((24, 240), (240, 480), (480, 960)):
            # The first unit of all has no groups: 24 channels are too few to divide.
            units.append(ShuffleUnit(before, after, 2, groups, 1 if before == 24 else groups))
            units.append(ShuffleUnit(after, after, 1, groups, groups))
        self.units = nn.Sequential(*units)
        self.head = nn.Linear(960, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.units(self.stem(x)).mean((2, 3)))


class ShuffleUnit(nn.Module):
    """Grouped 1x1, channel shuffle, depthwise 3x3, grouped 1x1; added or concatenated."""

    def __init__(self, before: int, after: int, stride: int, groups: int, first: int) -> None:
        super().__init__()
        self.groups, self.stride = groups, stride
        branch = after - before if stride == 2 else after
        middle = after // 4
        self.squeeze = nn.Sequential(
            nn.Conv2d(before, middle, 1, groups=first, bias=False),
            nn.BatchNorm2d(middle),
            nn.ReLU(),
        )
        self.expand = nn.Sequential(
            nn.Conv2d(middle, middle, 3, stride, 1, groups=middle, bias=False),
            nn.BatchNorm2d(middle),
            nn.Conv2d(middle, branch, 1, groups=groups, bias=False),
            nn.BatchNorm2d(branch),
        )
        self.shortcut = nn.AvgPool2d(3, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.squeeze(x)
        n, c, h, w = y.shape
        y = y.reshape(n, self.groups, c // self.groups, h, w).transpose(1, 2).reshape(n, c, h, w)
        y = self.expand(y)
        if self.stride == 2:
            return torch.relu(torch.cat((self.shortcut(x), y), 1))
        return torch.relu(x + y)
