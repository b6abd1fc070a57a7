// Textures on WebGPU: a tensor is one texture, of one layer or of many. Row 0 is the top of an image.

import { formatOf } from "../pixels.js";

const STORED = ["rgba32f", "rgba16f", "r32f", "rgba8"]; // what shaders may store to
const ROW_ALIGNMENT = 256; // bytes of a row of texels in a buffer
const LARGEST_HALF = 65504;

/** Return WebGPU's name of a texture's format: "rgba16float" of "rgba16f". */
export function nameOf(texture) {
  const [letters, type] = texture.format.match(/[a-z]+|.+/g);
  return letters + (type === "8" ? "8unorm" : type.replace("f", "float"));
}

const bytesOf = (texture) => {
  const { components, type } = formatOf(texture);
  return (components * parseInt(type)) / 8;
};

/** Create the texture of a tensor, without content. */
export function makeTexture(device, texture, layers = texture.layers) {
  const { TEXTURE_BINDING, COPY_DST, COPY_SRC, RENDER_ATTACHMENT, STORAGE_BINDING } = GPUTextureUsage;
  const stored = STORED.includes(texture.format) ? STORAGE_BINDING : 0;
  return device.createTexture({
    label: texture.name,
    size: [texture.width, texture.height, layers],
    format: nameOf(texture),
    usage: TEXTURE_BINDING | COPY_DST | COPY_SRC | RENDER_ATTACHMENT | stored,
  });
}

/** Fill a tensor's texture: bytes of its format, or float32. */
export function fillTexture(device, texture, made, texels) {
  if (formatOf(texture).type === "16f" && texels instanceof Float32Array) texels = toHalves(texels);
  const { width, height, layers } = texture;
  const layout = { bytesPerRow: width * bytesOf(texture), rowsPerImage: height };
  device.queue.writeTexture({ texture: made }, texels, layout, [width, height, layers]);
}

/** Return a tensor's texels, bytes or float32; waits for the GPU. */
export async function readTexture(device, texture, made) {
  const { width, height, layers } = texture;
  const { type } = formatOf(texture);
  const used = width * bytesOf(texture);
  const row = Math.ceil(used / ROW_ALIGNMENT) * ROW_ALIGNMENT;
  const buffer = device.createBuffer({
    size: row * height * layers,
    usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
  });
  const encoder = device.createCommandEncoder();
  const to = { buffer, bytesPerRow: row, rowsPerImage: height };
  encoder.copyTextureToBuffer({ texture: made }, to, [width, height, layers]);
  device.queue.submit([encoder.finish()]);
  const texels = new Uint8Array(used * height * layers);
  try {
    await buffer.mapAsync(GPUMapMode.READ);
    const bytes = new Uint8Array(buffer.getMappedRange());
    for (let y = 0; y < height * layers; y++) {
      texels.set(bytes.subarray(y * row, y * row + used), y * used);
    }
  } finally {
    buffer.destroy();
  }
  if (type === "8") return texels;
  return type === "32f" ? new Float32Array(texels.buffer) : fromHalves(texels.buffer);
}

/** Return 16-bit floats as float32. */
function fromHalves(buffer) {
  return Float32Array.from(new Uint16Array(buffer), (bits) => {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size =
      exponent === 31
        ? fraction ? NaN : Infinity
        : exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024);
    return bits >> 15 ? -size : size;
  });
}

/** Return numbers as 16-bit floats, rounded to the nearest, ties to even. */
function toHalves(numbers) {
  return Uint16Array.from(numbers, (number) => {
    const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0;
    const size = Math.abs(number);
    if (Number.isNaN(size)) return 0x7e00;
    if (size >= LARGEST_HALF + 16) return sign | 0x7c00;
    const exponent = Math.max(-14, Math.floor(Math.log2(size)));
    const step = 2 ** (Math.max(-14, exponent) - 10);
    const whole = Math.floor(size / step);
    const rest = size / step - whole;
    const rounded = whole + Number(rest > 0.5 || (rest === 0.5 && whole % 2 === 1));
    // 1024 is the hidden bit: beyond it, the exponent counts on by itself.
    return sign | (rounded < 1024 ? rounded : rounded - 1024 + ((exponent + 15) << 10));
  });
}
