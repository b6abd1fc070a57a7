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

/** Return the size of a port: { channels, width, height }. */
export function describe({ shape, axes }) {
  const logical = Array(MAP_RANK).fill(1);
  axes.forEach((axis, i) => (logical[axis + MAP_RANK - shape.length] = shape[i]));
  const [, channels, height, width] = logical;
  return { channels, width, height };
}

/** Return whether the rows of an output are not those of the picture, as its receptive field says. */
export function isTurned(input, { shape, axes, receptive_field: field }) {
  if (!field?.height) return false;
  const isMade = (from, to) => input.shape.length - input.axes[from] === shape.length - axes[to];
  return ["height", "width"].some((name) => !isMade(field[name].input_axis, field[name].output_axis));
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
