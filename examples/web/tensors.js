// What the inputs and outputs of a build are to a page.

const MAP_RANK = 4; // N, C, H, W

/** Return how far apart the numbers of a port are along N, C, H and W, in the model's own order. */
export function strides({ shape, axes }) {
  const found = Array(MAP_RANK).fill(0);
  let stride = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    found[axes[i] + MAP_RANK - shape.length] = stride;
    stride *= shape[i];
  }
  return found;
}

/**
 * Return what a port is: { kind, channels, width, height }.
 *
 * `kind` is "picture"; of outputs also "map", one number from 0 to 1 for each pixel of a colour picture,
 * "classes", numbers of classes, or "scores", a channel for each class. `input` is of the network of an output.
 */
export function describe({ shape, axes, dtype }, input) {
  const logical = Array(MAP_RANK).fill(1);
  axes.forEach((axis, i) => (logical[axis + MAP_RANK - shape.length] = shape[i]));
  const [, channels, height, width] = logical;
  const isWhole = /int|bool/.test(dtype) && channels === 1;
  let kind = isWhole ? "classes" : [1, 3, 4].includes(channels) ? "picture" : "scores";
  if (kind === "picture" && channels === 1 && input?.channels > 1) kind = "map";
  return { kind, channels, width, height };
}

/** Return the bytes of a build's textures, of which some share memory. */
export function bytesOf({ textures }) {
  const slots = new Map();
  for (const { name, slot, format, width, height, layers } of textures) {
    const [letters, bits] = format.match(/[a-z]+|\d+/g);
    const bytes = (letters.length * bits * width * height * layers) / 8;
    slots.set(slot ?? name, Math.max(bytes, slots.get(slot ?? name) ?? 0));
  }
  return [...slots.values()].reduce((sum, bytes) => sum + bytes, 0);
}
