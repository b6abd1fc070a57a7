"""The networks, as data: how each is made, in which sizes and forms it is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Size = tuple[int, int]
LOGITS = 3.0  # deviation of a classifier's logits: the softmax then has a few answers in front
SCRIPT, DYNAMO = ("torchscript-13",), ("dynamo-20",)
BOTH = (*SCRIPT, *DYNAMO)
OLD, NEW = ("torchscript-11", "dynamo-18"), ("torchscript-17", "dynamo-23")
KERAS = ("keras",)


@dataclass(frozen=True)
class Network:
    """One network.

    Attributes:
        name: as in the literature.
        make: a function of a size that returns a torch module, a Keras model or, for TensorFlow,
            the name of a model of tf.keras.applications.
        size: height and width in the full set.
        small: the same in the everyday tests, where it should take seconds.
        forms: what it is exported to: ``torchscript-OPSET`` and ``dynamo-OPSET`` (torch's two
            exporters), ``keras``, ``h5``, and ``tf-h5``, ``tf-keras``, ``tf2onnx`` (Keras 2.15).
        everyday: those of the forms that the everyday tests try.
        channels: of the input.
        classifier: whether the one output ranks classes; its five best must stay.
        pixels: whether it takes values of 0 to 255, rather than about normal.
    """

    name: str
    make: Callable[[Size], Any]
    size: Size
    small: Size
    forms: tuple[str, ...]
    everyday: tuple[str, ...] = ()
    channels: int = 3
    classifier: bool = False
    pixels: bool = False


def made(module: str, name: str, *arguments: Any, sized: bool = False, **keywords: Any) -> Any:
    """Return a maker that imports its module when it is called."""

    def make(size: Size) -> Any:
        function = getattr(import_module(f"{__package__}.{module}"), name)
        sizes = (size,) if sized else ()
        return function(*arguments, *sizes, **keywords)

    return make


def _vision(name: str, model: str, size: int = 224, small: int = 64, **more: Any) -> Network:
    """Return one of torchvision's classifiers."""
    make = made("torch_classifiers", "from_torchvision", model)
    more = {"forms": BOTH, **more}
    return Network(name, make, (size,) * 2, (small,) * 2, classifier=True, **more)


def _classifier(name: str, function: str, size: int, small: int, **more: Any) -> Network:
    """Return one of the classifiers written here."""
    make = made("torch_classifiers", function, sized=more.pop("sized", False))
    more = {"forms": BOTH, **more}
    return Network(name, make, (size,) * 2, (small,) * 2, classifier=True, **more)


def _torch(name: str, module: str, function: str, size: Size, small: Size, **more: Any) -> Network:
    """Return one of the other torch modules written here."""
    more = {"forms": BOTH, **more}
    return Network(name, made(f"torch_{module}", function), size, small, **more)


def _application(name: str, model: str, size: int = 224, small: int = 64, **more: Any) -> Network:
    """Return one of keras.applications."""
    make = made("keras_models", "application", model, sized=True)
    forms = more.pop("forms", KERAS)
    return Network(name, make, (size,) * 2, (small,) * 2, forms, classifier=True, **more)


def _keras(name: str, function: str, size: Size, small: Size, **more: Any) -> Network:
    make = made("keras_models", function, sized=True)
    return Network(name, make, size, small, ("keras", "h5"), **more)


def _tensorflow(name: str, model: str, small: int = 64, size: int = 160) -> Network:
    forms = ("tf-h5", "tf-keras", "tf2onnx")
    sizes = ((size,) * 2, (small,) * 2)
    return Network(f"{name} (Keras 2)", lambda size: model, *sizes, forms, classifier=True)


NETWORKS = (
    _classifier("LeNet-5", "LeNet5", 32, 32, channels=1, everyday=BOTH),
    _vision("AlexNet", "alexnet", forms=OLD),
    _vision("VGG16", "vgg16"),
    _vision("ResNet-18", "resnet18", everyday=SCRIPT),
    _vision("ResNet-50", "resnet50"),
    _vision("GoogLeNet", "googlenet", forms=OLD),
    _vision("Inception v3", "inception_v3", 299, 96),
    _vision("DenseNet-121", "densenet121"),
    _vision("SqueezeNet 1.1", "squeezenet1_1", everyday=SCRIPT),
    _classifier("ShuffleNet v1", "ShuffleNetV1", 224, 64),
    _vision("ShuffleNet v2", "shufflenet_v2_x1_0"),
    _vision("MobileNet v2", "mobilenet_v2"),
    _vision("MobileNet v3 large", "mobilenet_v3_large", everyday=SCRIPT),
    _vision("EfficientNet-B0", "efficientnet_b0", forms=NEW),
    _vision("ConvNeXt-T", "convnext_tiny", forms=NEW),
    _classifier("ViT-Ti/16", "vit_tiny", 224, 64, sized=True, forms=NEW, everyday=NEW[:1]),
    _classifier("Swin, two stages", "swin_small", 64, 32, forms=NEW, everyday=NEW[:1]),
    _torch("U-Net", "pixels", "UNet", (256, 256), (48, 64), forms=OLD, everyday=OLD[:1]),
    _torch("DeepLabV3+", "pixels", "DeepLabV3Plus", (256, 256), (64, 64)),
    _torch("FPN on ResNet-18", "pixels", "PyramidNetwork", (256, 320), (64, 96), everyday=SCRIPT),
    _torch("Matting net", "pixels", "Matting", (256, 256), (96, 96), everyday=SCRIPT),
    _torch(
        "Fast style transfer", "restoration", "FastStyle", (256, 256), (48, 48), everyday=DYNAMO
    ),
    _torch("EDSR", "restoration", "edsr", (96, 96), (24, 20)),
    _torch("FSRCNN", "restoration", "fsrcnn", (180, 320), (36, 31), channels=1, everyday=SCRIPT),
    _torch("ESPCN", "restoration", "espcn", (180, 320), (36, 31), channels=1, everyday=DYNAMO),
    _torch("RCAN", "restoration", "rcan", (96, 96), (24, 20), everyday=SCRIPT),
    _torch("YOLOv3-tiny", "detectors", "YoloV3Tiny", (416, 416), (64, 64), everyday=DYNAMO),
    _torch("YOLOX", "detectors", "Yolox", (416, 416), (128, 128), everyday=SCRIPT),
    _application("VGG16", "VGG16", forms=("h5",)),
    _application("ResNet-50", "ResNet50"),
    _application("Inception v3", "InceptionV3", 299, 96),
    _application("DenseNet-121", "DenseNet121"),
    _application("MobileNet v1", "MobileNet"),
    _application("MobileNet v2", "MobileNetV2", everyday=("h5",), forms=("keras", "h5")),
    _application("MobileNet v3 small", "MobileNetV3Small", pixels=True),
    _application("MobileNet v3 large", "MobileNetV3Large", pixels=True),
    _application("EfficientNet-B0", "EfficientNetB0", pixels=True),
    _application("NASNet-A mobile", "NASNetMobile"),
    _application("Xception", "Xception", 299, 96),
    _application("ConvNeXt-T", "ConvNeXtTiny", pixels=True),
    _keras(
        "LeNet-5", "lenet5", (28, 28), (28, 28), channels=1, classifier=True, everyday=("keras",)
    ),
    _keras("U-Net", "unet", (256, 256), (32, 48), everyday=("keras",)),
    _keras("FSRCNN", "fsrcnn", (180, 320), (30, 33), channels=1, everyday=("h5",)),
    _keras("Fast style transfer", "style_transfer", (256, 256), (32, 40), everyday=("keras",)),
    _tensorflow("MobileNet v1", "MobileNet"),
    _tensorflow("MobileNet v2", "MobileNetV2"),
    _tensorflow("ResNet-50", "ResNet50"),
)


@dataclass(frozen=True)
class Case:
    """A network in one form and size."""

    network: Network
    form: str
    size: Size

    def __str__(self) -> str:
        plain = "".join(c if c.isalnum() else " " for c in self.network.name.lower())
        return f"{'_'.join(plain.split())}-{self.form}-{self.size[0]}x{self.size[1]}"

    @property
    def framework(self) -> str:
        """The module that must be there to build it."""
        if self.form in ("keras", "h5"):
            return "keras"
        return "tensorflow" if self.form.startswith("tf") else "torch"


def cases(everyday: bool) -> list[Case]:
    """Return the everyday cases, small, or the whole set in full size."""
    if everyday:
        return [Case(n, form, n.small) for n in NETWORKS for form in n.everyday]
    return [Case(n, form, n.size) for n in NETWORKS for form in n.forms]
