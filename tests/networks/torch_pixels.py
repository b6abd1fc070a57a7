"""Networks that label pixels: segmentation, pyramids, matting."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .torch_classifiers import from_torchvision


def conv_bn(before: int, after: int, kernel: int = 3, **arguments: Any) -> nn.Sequential:
    """Convolution that keeps the size, batch normalisation, ReLU."""
    padding = arguments.get("dilation", 1) * (kernel // 2)
    convolution = nn.Conv2d(before, after, kernel, padding=padding, bias=False, **arguments)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU())


def upsample(x: Tensor, like: Tensor) -> Tensor:
    return F.interpolate(x, like.shape[2:], mode="bilinear", align_corners=False)


class UNet(nn.Module):
    """U-Net (Ronneberger et al. 2015, figure 1), a quarter as wide, padded to keep the size."""

    def __init__(self, width: int = 16, classes: int = 2, depth: int = 4) -> None:
        super().__init__()
        widths = [width << i for i in range(depth + 1)]
        self.down = nn.ModuleList(
            nn.Sequential(conv_bn(a, b), conv_bn(b, b))
            for a, b in zip([3, *widths], widths, strict=False)
        )
        pairs = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.up = nn.ModuleList(nn.Sequential(conv_bn(2 * b, b), conv_bn(b, b)) for _, b in pairs)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for i, layer in enumerate(self.down):
            x = layer(F.max_pool2d(x, 2) if i else x)
            skips.append(x)
        skips.pop()
        for grow, layer in zip(self.grow, self.up, strict=True):
            x = layer(torch.cat((skips.pop(), grow(x)), 1))
        return torch.softmax(self.head(x), 1)


class DeepLabV3Plus(nn.Module):
    """DeepLabV3+ (Chen et al. 2018, figure 2) on MobileNetV2 with output stride 16."""

    def __init__(self, classes: int = 21) -> None:
        super().__init__()
        features = from_torchvision("mobilenet_v2").features
        self.low, self.high = features[:4], features[4:18]
        for i, block in enumerate(features[14:18]):  # the last stride becomes dilation
            for m in block.modules():
                if isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3):
                    m.stride = (1, 1)
                    m.dilation = m.padding = (2, 2) if i else (1, 1)
        self.pyramid = nn.ModuleList(
            [conv_bn(320, 64, 1)] + [conv_bn(320, 64, dilation=d) for d in (6, 12, 18)]
        )
        self.pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), conv_bn(320, 64, 1))
        self.project = conv_bn(5 * 64, 64, 1)
        self.reduce = conv_bn(24, 48, 1)
        self.decode = nn.Sequential(conv_bn(112, 64), conv_bn(64, 64), nn.Conv2d(64, classes, 1))

    def forward(self, x: Tensor) -> Tensor:
        low = self.low(x)
        high = self.high(low)
        branches = [branch(high) for branch in self.pyramid] + [upsample(self.pooled(high), high)]
        high = self.project(torch.cat(branches, 1))
        y = self.decode(torch.cat((self.reduce(low), upsample(high, low)), 1))
        return upsample(y, x)


class PyramidNetwork(nn.Module):
    """ResNet-18 with a feature pyramid (Lin et al. 2017, figure 3) and a head on each level."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.body = from_torchvision("resnet18")
        del self.body.fc
        from torchvision.ops import FeaturePyramidNetwork

        self.pyramid = FeaturePyramidNetwork([64, 128, 256, 512], width)
        self.head = nn.Conv2d(width, 12, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        b = self.body
        x = b.maxpool(b.relu(b.bn1(b.conv1(x))))
        levels = {}
        for i, layer in enumerate((b.layer1, b.layer2, b.layer3, b.layer4)):
            x = layer(x)
            levels[str(i)] = x
        return tuple(self.head(level) for level in self.pyramid(levels).values())


class Matting(nn.Module):
    """A portrait matting net in MODNet's manner (Ke et al. 2022): semantics, detail, fusion.

    MobileNetV2 features, a squeeze-and-excite gate, a low-resolution semantic branch, a detail
    branch that sees the picture again, instance and batch normalisation side by side.
    """

    def __init__(self) -> None:
        super().__init__()
        features = from_torchvision("mobilenet_v2").features
        self.stages = nn.ModuleList((features[:2], features[2:4], features[4:7], features[7:18]))
        self.squeeze = nn.Sequential(nn.Linear(320, 80), nn.ReLU(), nn.Linear(80, 320))
        self.semantic = nn.Sequential(IbnConv(320, 96), IbnConv(96, 48))
        self.detail = nn.Sequential(IbnConv(24 + 48 + 3, 48), IbnConv(48, 32))
        self.fusion = nn.Sequential(IbnConv(32 + 48 + 3, 24), nn.Conv2d(24, 1, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        half = self.stages[0](x)
        quarter = self.stages[1](half)
        deep = self.stages[3](self.stages[2](quarter))
        gate = torch.sigmoid(self.squeeze(deep.mean((2, 3))))
        semantic = self.semantic(deep * gate[:, :, None, None])
        small = F.interpolate(x, scale_factor=0.25, mode="bilinear", align_corners=False)
        semantic = F.interpolate(semantic, scale_factor=8.0, mode="bilinear", align_corners=False)
        detail = self.detail(torch.cat((quarter, semantic, small), 1))
        both = torch.cat((upsample(detail, x), upsample(semantic, x), x), 1)
        return torch.sigmoid(self.fusion(both))


class IbnConv(nn.Module):
    """Convolution, batch normalisation on one half of the channels, instance on the other."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, padding=1)
        self.batch = nn.BatchNorm2d(after // 2)
        self.instance = nn.InstanceNorm2d(after - after // 2)

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.conv(x).split((self.batch.num_features, self.instance.num_features), 1)
        return torch.relu(torch.cat((self.batch(first), self.instance(second)), 1))
