"""Write models of Keras 2, and tf2onnx's exports of them, with what TensorFlow makes of an input.

Run by an interpreter that has TensorFlow 2.15 and tf2onnx, which need versions of numpy and onnx
of their own: ``python tf_models.py NAME HEIGHT WIDTH FORM FOLDER``. Writes into the folder the
model in one form (tf-h5, tf-keras, tf2onnx with opset 17) and outputs.npz: x, images, and y.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
import tf2onnx
from images import scenes

LOGITS = 3.0  # the deviation of the last layer before softmax


def calibrate(model: tf.keras.Model, pictures: np.ndarray, seed: int = 0) -> None:
    """Fit weights layer by layer: as keras_weights, for what the models here have."""
    rng = np.random.default_rng(seed)
    kernels = [layer for layer in model.layers if hasattr(layer, "kernel_initializer")]
    for layer in model.layers:
        names = [w.name.split("/")[-1].split(":")[0] for w in layer.weights]
        if not any(n.endswith("kernel") or n == "moving_mean" for n in names):
            continue
        below = tf.keras.Model(model.inputs, layer.input)(pictures, training=False)
        weights = dict(zip(names, layer.get_weights(), strict=True))
        if "moving_mean" in weights:
            axes = tuple(range(len(below.shape) - 1))
            weights["moving_mean"] = np.mean(below, axes)
            variance = np.var(below, axes)
            weights["moving_variance"] = 0.5 * variance + 0.5 * variance.mean() + 1e-6
            weights["gamma"] = rng.uniform(0.5, 1.5, weights["gamma"].shape)
            weights["beta"] = rng.uniform(-0.2, 0.2, weights["beta"].shape)
        else:
            activation, layer.activation = layer.activation, tf.keras.activations.linear
            output = np.asarray(layer(below))
            layer.activation = activation
            gain = LOGITS if layer is kernels[-1] else 1.0
            axes = tuple(range(output.ndim - 1))
            variance = output.var(axes)
            factor = gain / np.sqrt(0.5 * variance + 0.5 * variance.mean() + 1e-6)
            name = next(n for n in names if n.endswith("kernel"))
            kernel = weights[name]
            is_depthwise = name == "depthwise_kernel"
            factors = factor.reshape(kernel.shape[2:]) if is_depthwise else factor
            weights[name] = kernel * factors
            if "bias" in weights:
                weights["bias"] = weights["bias"] - output.mean(axes) * factor
        layer.set_weights([weights[n] for n in names])


def main() -> None:
    name, height, width, form, folder = sys.argv[1:]
    shape = (3, int(height), int(width))
    tf.keras.utils.set_random_seed(0)
    model = getattr(tf.keras.applications, name)(weights=None, input_shape=(*shape[1:], 3))
    pictures = scenes(8, shape, seed=1).transpose(0, 2, 3, 1)
    calibrate(model, pictures)
    out = Path(folder)
    if form == "tf2onnx":
        signature = [tf.TensorSpec((1, *shape[1:], 3), tf.float32, name="image")]
        path = str(out / "model.onnx")
        tf2onnx.convert.from_keras(model, signature, opset=17, output_path=path)
    else:
        model.save(out / f"model.{form[3:]}", save_format=form[3:])
    np.savez(out / "outputs.npz", x=pictures, y=model(pictures, training=False))


if __name__ == "__main__":
    main()
