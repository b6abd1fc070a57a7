// Tensors as texels, without GL: docs/schedule.md describes the layouts.

import { ShadergenError } from "./errors.js";

export const LANES = 4;
export const MAP_RANK = 4; // N, C, H, W
export const LUMA = [0.299, 0.587, 0.114]; // ITU-R BT.601
const EXACT_INTEGERS = 2 ** 24; // up to here a float32 holds every integer
const LARGEST = { "16f": 65504, "32f": 2 ** 128 - 2 ** 104 };
const TOO_LARGE = { "16f": 65520, "32f": 2 ** 128 - 2 ** 103 }; // what rounds to infinity

/** Return the number and the type of a format's components. */
export function formatOf({ format }) {
  const [letters, type] = format.match(/[a-z]+|.+/g);
  return { components: letters.length, type };
}

/** Return the bytes of a texture. */
export function bytesOf(texture) {
  const { components, type } = formatOf(texture);
  return (product([texture.width, texture.height, texture.layers, components]) * parseInt(type)) / 8;
}

const ARRAYS = {
  float32: Float32Array,
  int64: BigInt64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint64: BigUint64Array,
  uint32: Uint32Array,
  uint16: Uint16Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

export const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

/** Return the logical shape of an array of `shape`: host = logical.transpose(axes). */
export function logicalShape(shape, axes) {
  const logical = Array(shape.length).fill(1);
  axes.forEach((axis, i) => (logical[axis] = shape[i]));
  return logical;
}

/** Return a shape of up to four axes as N, C, H, W, padded with ones on the left. */
export const asMap = (shape) => [...Array(MAP_RANK - shape.length).fill(1), ...shape];

/** Return { batch, channels, height, width } of a port; of fewer axes as the last of these. */
export function mapOf({ shape, axes }) {
  const [batch, channels, height, width] = asMap(logicalShape(shape, axes));
  return { batch, channels, height, width };
}

/**
 * Return { channels, width, height, white } of a port that is a picture; SG0605 of one that is none. White is
 * 255 in a network of bytes.
 */
export function pictureOf(port, texture) {
  const { name, shape, dtype } = port;
  if (shape.length === MAP_RANK && texture.packing === "planes") {
    const { batch, ...picture } = mapOf(port);
    const white = dtype === "uint8" ? 255 : 1;
    if (batch === 1 && [1, 3, 4].includes(picture.channels)) return { ...picture, white };
  }
  throw new ShadergenError("SG0605", `'${name}' of shape [${shape.join(", ")}] is not a picture`, {
    supported: "one picture with 1, 3 or 4 channels; otherwise upload() and read() typed arrays",
  });
}

/** Return the same of an input; SG0605 also if it takes other numbers than pictures have. */
export function pictureFor(port, texture) {
  const { name, dtype } = port;
  const picture = pictureOf(port, texture);
  if (dtype === "float32" || dtype === "uint8") return picture;
  throw new ShadergenError("SG0605", `input '${name}' is of type ${dtype}, and pictures have values of 0 to 1`, {
    help: "upload() an array of numbers",
  });
}

/** Return the width and height of a picture; SG0605 of what is none, or is not loaded. */
export function sizeOf(source) {
  const side = (name) =>
    ["natural", "video", "display"].map((kind) => source?.[kind + name]).find((n) => n >= 0) ??
    source?.[name.toLowerCase()];
  const size = [side("Width"), side("Height")];
  if (size[0]) return size;
  throw new ShadergenError("SG0605", `${named(source)} is no picture, or it is not loaded`, {
    help: source?.localName
      ? "await decode() of an img, 'loadeddata' of a video"
      : "createImageBitmap(blob) makes a picture of a file",
  });
}

/** Return a size as messages say it; browsers name the width first. */
export const sizeText = (width, height) => `width: ${width}, height: ${height}`;

/** Refuse, with SG0605, what is no picture of the size of an input of a build. */
export function checkPicture(source, { width, height }) {
  const [columns, rows] = sizeOf(source);
  if (columns === width && rows === height) return;
  const size = sizeText(columns, rows);
  throw new ShadergenError("SG0605", `the picture has ${size}, not ${sizeText(width, height)}`, {
    help: `draw it to a canvas of that size, or resize({ ${size} }) a dynamic build`,
  });
}

/** Return the error of giving a picture to the GPU: SG0605 where the browser forbids to read it. */
export function unreadable(error, source) {
  if (error.name !== "SecurityError") return error;
  return new ShadergenError("SG0605", `${named(source)} is of another site`, {
    help: 'set crossOrigin = "anonymous" before src; the site must send CORS headers',
  });
}

/** Refuse, with SG0605, to draw to what is no canvas, or before a frame was run. */
export function checkCanvas(canvas, hasRun) {
  const what = canvas?.getContext ? "no frame was run before draw()" : `draw() takes a canvas, not ${named(canvas)}`;
  if (!canvas?.getContext || !hasRun) throw new ShadergenError("SG0605", what);
}

/** Return a canvas's context of a kind; SG0605 where the canvas has another one. */
export function contextOf(canvas, kind) {
  const context = canvas.getContext(kind);
  if (context) return context;
  throw new ShadergenError("SG0605", `the canvas has a context of another kind than ${kind}`, {
    help: "draw to another canvas",
  });
}

/** Return what messages call a thing that was given. */
export const named = (thing) => {
  if (Object(thing) !== thing) return typeof thing === "string" ? `'${thing.slice(0, 64)}'` : String(thing);
  return thing.localName ? `<${thing.localName}>` : (thing.constructor?.name ?? "an object");
};

/**
 * Return where each element of the model's own array lies among texels of so many components.
 *
 * The place is a sum with a term for each axis, so the map is built axis by axis.
 */
export function places(port, texture, components) {
  const logical = logicalShape(port.shape, port.axes);
  const { width, height } = texture;
  const steps = Array(logical.length).fill(0);
  const isMap = texture.packing === "planes";
  const channels = isMap ? logical.length - 3 : logical.length - 1; // the axis that shares texels
  const planes = Math.ceil((logical[channels] ?? 1) / LANES);
  const plane = isMap ? width * height * components : components;
  if (isMap) {
    const map = [planes * plane, 0, width * components, components];
    logical.forEach((_, axis) => (steps[axis] = map[axis + MAP_RANK - logical.length]));
  } else {
    let step = planes * plane;
    for (let axis = channels - 1; axis >= 0; axis--) {
      steps[axis] = step;
      step *= logical[axis];
    }
  }
  let found = new Uint32Array(1);
  for (const axis of port.axes) {
    const size = logical[axis];
    const next = new Uint32Array(found.length * size);
    for (let i = 0; i < size; i++) {
      const term = axis === channels ? (i >> 2) * plane + (i & 3) : i * steps[axis];
      for (let k = 0, to = i; k < found.length; k++, to += size) next[to] = found[k] + term;
    }
    found = next;
  }
  return found;
}

/**
 * Return the model's own array as texels of an input: bytes, or float32 that GL converts. Without a map
 * they lie in its own order.
 *
 * Numbers that the texture cannot hold are refused with SG0605.
 */
export function encode(values, port, texture, map) {
  const { components, type } = formatOf(texture);
  const isFloat = /^Float/.test(values.constructor.name);
  if (typeof values[0] === "bigint") values = Float64Array.from(values, Number);
  if (port.encoding === "unorm8") values = toBytes(values, isFloat);
  else {
    checkSpan(values, port);
    if (port.dtype !== "float32") checkIntegers(values, port);
    checkSize(values, texture.format, type);
  }
  const size = texture.width * texture.height * texture.layers * components;
  const texels = type === "8" ? new Uint8Array(size) : new Float32Array(size);
  if (!map) texels.set(values);
  else for (let i = 0; i < map.length; i++) texels[map[i]] = values[i];
  return texels;
}

/** Return image values 0..255; floats are taken as 0..1 and rounded. */
function toBytes(values, isFloat) {
  const name = values.constructor.name.replace("Array", "").toLowerCase();
  const supported = "uint8 from 0 to 255, or floats from 0 to 1";
  if (name.startsWith("uint8")) return values;
  if (!isFloat) {
    throw new ShadergenError("SG0605", `an image cannot be given as ${name}`, { supported });
  }
  // written so that NaN is refused too
  if (!values.every((v) => v >= 0 && v <= 1)) {
    const what = "an image given in floats holds values outside 0 to 1";
    const help = "divide by 255, or convert to uint8";
    throw new ShadergenError("SG0605", what, { supported, help });
  }
  // the conversion of clamped arrays rounds, ties to even
  return Uint8ClampedArray.from(values, (v) => Math.fround(Math.fround(v) * 255));
}

/** Refuse what the build was not made for. */
function checkSpan(values, { name, range }) {
  if (!range || values.every((v) => v >= range[0] && v <= range[1])) return;
  throw new ShadergenError("SG0605", `input '${name}' holds values from ${span(values)}`, {
    why: `the build's 16-bit floats are for inputs from ${range.join(" to ")}`,
    help: "compile with a wider --input-range, or with --precision highp",
  });
}

/** Refuse what an input of integers or booleans cannot take exactly. */
function checkIntegers(values, { name, dtype }) {
  if (!values.every((v) => v === Math.round(v))) {
    throw new ShadergenError("SG0605", `input '${name}' is of type ${dtype}, the array holds fractions`);
  }
  if (dtype === "bool" && !values.every((v) => v === 0 || v === 1)) {
    throw new ShadergenError("SG0605", `input '${name}' is of type bool, the array holds other values than 0 and 1`);
  }
  if (!values.every((v) => Math.abs(v) <= EXACT_INTEGERS)) {
    throw new ShadergenError("SG0605", `the array holds integers from ${span(values)}`, {
      why: `shaders hold integers exactly up to ${EXACT_INTEGERS}`,
    });
  }
}

/** Refuse finite numbers that are infinite in the texture's format. */
function checkSize(values, format, type) {
  if (type === "32f" && values instanceof Float32Array) return; // the search would take long
  const limit = TOO_LARGE[type];
  const found = values.find((v) => Math.abs(v) >= limit && Number.isFinite(v));
  if (found === undefined) return;
  const number = +found.toPrecision(6);
  throw new ShadergenError("SG0605", `the array holds ${number}, too large for ${format}`, {
    why: `the limit is ${+LARGEST[type].toPrecision(6)}`,
  });
}

function span(values) {
  const least = values.reduce((a, b) => Math.min(a, b));
  return `${+least.toPrecision(6)} to ${+values.reduce((a, b) => Math.max(a, b)).toPrecision(6)}`;
}

/**
 * Return texels as the model's own array, of the port's type.
 *
 * 8-bit texels stand for 0..1. `y2rg` holds a number as R + G, `y2rg_half` as R - G.
 */
export function decode(texels, { dtype, encoding, shape }, map) {
  const size = product(shape);
  const unit = texels instanceof Uint8Array ? 255 : 1;
  if (!map && dtype === "float32" && unit === 1 && texels.length === size) return texels;
  const result = new ARRAYS[dtype](size);
  const green = { y2rg: 1, y2rg_half: -1 }[encoding] ?? 0;
  const isBig = dtype.endsWith("64");
  for (let i = 0; i < size; i++) {
    const at = map ? map[i] : i;
    let value = Math.fround(texels[at] / unit);
    if (green) value += green * Math.fround(texels[at + 1] / unit);
    if (dtype === "bool") value = value !== 0;
    result[i] = isBig ? BigInt(Math.trunc(value) || 0) : value;
  }
  return result;
}
