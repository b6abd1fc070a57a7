// All objects of a build but its pipelines. What depends on sizes is a set of its own, which is replaced.

import { fillTexture, makeTexture } from "./textures.js";

/** Objects of WebGPU that are destroyed together. */
export class Objects {
  #made = [];

  /** Return an object that is destroyed with the others. */
  add(object) {
    this.#made.push(object);
    return object;
  }

  destroy() {
    for (const object of this.#made.splice(0)) object.destroy();
  }
}

/** Return a buffer of the build's weights. */
export function makeBuffer(device, build, { kind, ...range }) {
  const usage = kind === "storage" ? GPUBufferUsage.STORAGE : GPUBufferUsage.UNIFORM;
  return filled(device, build.bytesOf(range), usage);
}

function filled(device, bytes, usage) {
  const size = Math.ceil(bytes.byteLength / 16) * 16;
  const buffer = device.createBuffer({ size, usage, mappedAtCreation: true });
  new Uint8Array(buffer.getMappedRange()).set(bytes);
  buffer.unmap();
  return buffer;
}

/**
 * Return what depends on the build's sizes. `textures` holds the GPUTexture of each tensor by its name: the
 * runner's own, or what the page bound in its place.
 */
export function makeSized(device, build) {
  const tensors = new Map(build.textures.map((texture) => [texture.name, texture]));
  const deepest = new Map(); // layers by slot: textures of one slot share it
  const place = ({ slot, name }) => slot ?? name;
  for (const t of build.textures) deepest.set(place(t), Math.max(deepest.get(place(t)) ?? 0, t.layers));
  const own = new Objects();
  const slots = new Map();
  const textures = new Map();
  for (const t of build.textures) {
    if (!slots.has(place(t))) slots.set(place(t), own.add(makeTexture(device, t, deepest.get(place(t)))));
    textures.set(t.name, slots.get(place(t)));
    if (t.data) fillTexture(device, t, textures.get(t.name), build.bytesOf(t.data));
  }
  const [offsets, numbers] = uniforms(device, build);
  if (numbers) own.add(numbers);
  const sets = { given: new Set(), filled: new Set(), maps: new Map() };
  return { build, tensors, textures, mine: new Map(textures), own, offsets, numbers, ...sets };
}

/** Return where the sizes of each pass begin in one buffer, and this buffer. */
function uniforms(device, { passes }) {
  const step = device.limits.minUniformBufferOffsetAlignment;
  const offsets = new Map();
  let size = 0;
  for (const pass of passes) {
    if (!pass.uniforms.length) continue;
    size = Math.ceil(size / step) * step;
    offsets.set(pass, size);
    size += 4 * pass.uniforms.length;
  }
  const bytes = new DataView(new ArrayBuffer(size));
  for (const [pass, offset] of offsets) {
    pass.uniforms.forEach(({ value: [v] }, i) => bytes.setInt32(offset + 4 * i, v, true));
  }
  const content = new Uint8Array(bytes.buffer);
  return [offsets, size ? filled(device, content, GPUBufferUsage.UNIFORM) : null];
}
