// Written by tools/make_web.py from python/rules.py.

import { COLOR_BITS, LANES, MAP_RANK, asMap, bySlot, bytes, formatOf, isArray, listed, logicalShape, most, pairwise, prod, refuse, repeats } from "./parts.js";

const MAX_TEXTURE_BYTES = 8589934592;
const ANY_LAYER = -1;

export function check(build, weightsSize) {
  const inputs = new Set();
  for (const port of build.inputs) {
    inputs.add(port.texture);
  }
  const outputs = new Set();
  for (const port of build.outputs) {
    outputs.add(port.texture);
  }
  for (const [i, texture] of [...build.textures.values()].entries()) {
    checkTexture(texture, `textures[${i}]`, weightsSize, inputs.has(texture.name));
  }
  for (const [i, buffer] of [...build.buffers.values()].entries()) {
    checkRange(buffer, `buffers[${i}]`, weightsSize);
  }
  checkPorts(build, build.inputs, "inputs");
  checkPorts(build, build.outputs, "outputs");
  if (inputs.size < build.inputs.length) {
    refuse("two inputs share a texture", "inputs");
  }
  const written = new Set();
  checkPasses(build, inputs, written);
  for (const port of build.outputs) {
    for (let layer = 0; layer < build.textures.get(port.texture).layers; layer++) {
      if (!written.has(`${port.texture} ${layer}`)) {
        refuse(`no GPU pass writes texture layer ${layer} of the output '${port.texture}'`, "outputs");
      }
    }
  }
  checkSlots(build, outputs);
  checkRequirements(build);
  checkLimits(build);
}

function checkRange(where, member, weightsSize) {
  const end = where.offset + where.size;
  if (end > weightsSize) {
    refuse(`the bytes ${where.offset} to ${end} lie outside the weights file of ${weightsSize} bytes`, member);
  }
}

function checkTexture(texture, member, weightsSize, isInput) {
  if (bytes(texture) > MAX_TEXTURE_BYTES) {
    refuse(`the texture takes ${bytes(texture)} bytes, more than ${MAX_TEXTURE_BYTES}`, member);
  }
  if (texture.first > texture.last) {
    refuse(`the first pass, ${texture.first}, is after the last, ${texture.last}`, member);
  }
  const isPlain = (texture.layers === 1) && (texture.packing === "planes") && (texture.format === "rgba8");
  if ((texture.kind === "external") && !(isPlain && isInput)) {
    refuse("an external texture must be an rgba8 input of one layer, packed in planes", `${member}.kind`);
  }
  if (!(texture.data == null)) {
    if (isInput) {
      refuse("an input cannot have data", `${member}.data`);
    }
    checkRange(texture.data, `${member}.data`, weightsSize);
    if (texture.data.size !== bytes(texture)) {
      refuse(`the texels take ${bytes(texture)} bytes, the data has ${texture.data.size} bytes`, `${member}.data`);
    }
    return;
  }
  const needed = texture.batch * (Math.floor(((texture.channels + LANES) - 1) / LANES));
  const room = (texture.width * texture.height) * texture.layers;
  if (!(texture.packing === "planes") && (needed > room)) {
    refuse(`${texture.batch} rows of ${texture.channels} values need ${needed} texels, the texture has ${room}`, `${member}.batch`);
  }
  if ((texture.packing === "planes") && (needed !== texture.layers)) {
    refuse(`${texture.channels} channels with batch ${texture.batch} take ${needed} layers, not ${texture.layers}`, `${member}.layers`);
  }
  if (formatOf(texture).components < Math.min(texture.channels, LANES)) {
    refuse(`${texture.channels} channels do not fit ${texture.format}`, `${member}.format`);
  }
  if (isInput !== ((texture.slot == null))) {
    refuse("slot must be null for inputs, a number otherwise", `${member}.slot`);
  }
}

function checkPorts(build, ports, member) {
  const names = [];
  for (const [i, port] of ports.entries()) {
    const place = `${member}[${i}]`;
    if (names.includes(port.name)) {
      refuse(`the name '${port.name}' is taken`, `${place}.name`);
    }
    names.push(port.name);
    checkKnown(build, port.texture, `${place}.texture`);
    checkPort(port, build.textures.get(port.texture), place);
  }
}

function checkPort(port, texture, member) {
  const rank = port.shape.length;
  if ((port.axes.length !== rank) || port.axes.some((axis) => axis >= rank)) {
    refuse(`the axes ${listed(port.axes)} must name each axis of the shape exactly once`, `${member}.axes`);
  }
  const shape = logicalShape(port.shape, port.axes);
  const isSigned = (port.encoding === "y2rg") || (port.encoding === "y2rg_half");
  if ((texture.packing === "planes")) {
    if (rank > MAP_RANK) {
      refuse(`planes hold up to ${MAP_RANK} axes, not ${rank}`, `${member}.shape`);
    }
    const [n, c, h, w] = asMap(shape);
    const channelsFit = isSigned ? ((c === 1) && (texture.channels <= 2)) : (c === texture.channels);
    if (!(channelsFit && (n === texture.batch) && (h === texture.height) && (w === texture.width))) {
      refuse(`the shape has N, C, H, W = ${n}, ${c}, ${h}, ${w}; the texture has ${texture.batch}, ${texture.channels}, ${texture.height}, ${texture.width}`, `${member}.shape`);
    }
  } else if (isSigned) {
    refuse(`the encoding ${port.encoding} needs a channel-packed texture`, `${member}.encoding`);
  } else {
    const row = (rank > 0) ? shape[rank - 1] : 1;
    if ((row !== texture.channels) || (prod(shape) !== (texture.batch * texture.channels))) {
      refuse(`the shape ${listed(shape)} does not fit a texture of ${texture.batch} rows of ${texture.channels} values`, `${member}.shape`);
    }
  }
  if ((port.dtype !== "float32") && (port.encoding !== "float")) {
    refuse(`the encoding ${port.encoding} does not support ${port.dtype}`, `${member}.dtype`);
  }
  if ((port.encoding === "unorm8") && (parseInt(formatOf(texture).type) !== 8)) {
    refuse(`the encoding unorm8 needs an 8-bit texture, not ${texture.format}`, member);
  }
  if (((port.encoding === "float") || (port.encoding === "y2rg")) && (parseInt(formatOf(texture).type) === 8)) {
    refuse(`the encoding ${port.encoding} needs a float texture`, member);
  }
  if (isSigned && (formatOf(texture).components < 2)) {
    refuse(`the encoding ${port.encoding} needs two channels, not ${texture.format}`, member);
  }
}

function checkKnown(build, name, member) {
  if (!build.textures.has(name)) {
    refuse(`there is no texture '${name}'`, member);
  }
}

function checkPasses(build, inputs, written) {
  const given = new Set();
  for (const texture of build.textures.values()) {
    if ((!(texture.data == null)) || inputs.has(texture.name)) given.add(texture.name);
  }
  for (const [i, gpuPass] of build.passes.entries()) {
    const place = `passes[${i}]`;
    const slots = new Set();
    checkReads(build, gpuPass, i, place, given, written, slots);
    checkNames(build, gpuPass, place);
    checkImages(build, gpuPass, place, inputs);
    checkWrites(build, gpuPass, i, place, given, written, slots);
  }
}

function checkReads(build, gpuPass, index, member, given, written, slots) {
  for (const [j, read] of gpuPass.reads.entries()) {
    const place = `${member}.reads[${j}]`;
    checkKnown(build, read.texture, place);
    const texture = build.textures.get(read.texture);
    if ((texture.kind === "external") && ((read.matrix == null))) {
      refuse("a read of an external texture needs a matrix", `${place}.matrix`);
    }
    if (!(texture.kind === "external") && (!(read.matrix == null))) {
      refuse("only reads of external textures have a matrix", `${place}.matrix`);
    }
    let low = 0;
    let high = texture.layers;
    if (!(read.layer == null)) {
      if (isArray(texture) || (read.layer >= texture.layers)) {
        refuse(`'${texture.name}' has no 2D texture for layer ${read.layer}`, place);
      }
      low = read.layer;
      high = low + 1;
    } else if (!isArray(texture) && (texture.layers > 1)) {
      refuse(`'${texture.name}' has ${texture.layers} layers: name one of them`, place);
    }
    if (!(read.layers == null)) {
      low = read.layers[0];
      high = low + read.layers[1];
      if (!isArray(texture) || (high > texture.layers)) {
        refuse(`'${texture.name}' is not an array texture with a layer ${high - 1}`, `${place}.layers`);
      }
    }
    for (let layer = low; layer < high; layer++) {
      if (!given.has(read.texture) && (!written.has(`${read.texture} ${layer}`))) {
        refuse(`layer ${layer} of '${texture.name}' is read before it is written`, place);
      }
      slots.add(`${texture.slot} ${layer}`);
    }
    slots.add(`${texture.slot} ${ANY_LAYER}`);
    checkLifetime(texture, index, place);
  }
}

function checkLifetime(texture, index, place) {
  if ((index < texture.first) || (index > texture.last)) {
    refuse(`pass ${index} uses '${texture.name}' outside its lifetime, passes ${texture.first} to ${texture.last}`, place);
  }
}

function checkNames(build, gpuPass, member) {
  const blocks = [];
  for (const [j, block] of gpuPass.blocks.entries()) {
    if (!build.buffers.has(block.buffer)) {
      refuse(`there is no buffer '${block.buffer}'`, `${member}.blocks[${j}]`);
    }
    blocks.push(block.block);
  }
  if (repeats(blocks)) {
    refuse("a block is given twice", `${member}.blocks`);
  }
  const uniforms = [];
  for (const uniform of gpuPass.uniforms) {
    uniforms.push(uniform.name);
  }
  for (const read of gpuPass.reads) {
    if (!(read.uniform === undefined)) {
      uniforms.push(read.uniform);
    }
    if (!(read.matrix == null)) {
      uniforms.push(read.matrix);
    }
  }
  if (repeats(uniforms)) {
    refuse("a uniform is given twice", member);
  }
}

function checkImages(build, gpuPass, member, inputs) {
  const units = [];
  for (const read of gpuPass.reads) {
    if ((read.uniform === undefined)) {
      if (inputs.has(read.texture)) {
        refuse(`the input '${read.texture}' cannot be read as an image`, `${member}.reads`);
      }
      checkImage(build.textures.get(read.texture), member);
      units.push(read.image);
    }
  }
  if ((gpuPass.stage === "compute")) {
    const name = gpuPass.writes[0].texture;
    if (gpuPass.writes.some((write) => write.texture !== name)) {
      refuse("a compute pass writes only one texture", `${member}.writes`);
    }
    checkKnown(build, name, `${member}.writes`);
    const texture = build.textures.get(name);
    if ((gpuPass.writes.length > 1) && !isArray(texture)) {
      refuse(`'${name}' is a 2D texture: several writes of a compute pass need an array`, `${member}.writes`);
    }
    checkImage(texture, member);
    units.push(gpuPass.image);
  }
  if (repeats(units)) {
    refuse("an image unit is given twice", member);
  }
}

function checkImage(texture, member) {
  if (!/^rgba|^r32f/.test(texture.format)) {
    refuse(`'${texture.name}': format ${texture.format} cannot be bound as an image`, member);
  }
}

function checkWrites(build, gpuPass, index, member, given, written, slots) {
  const layers = new Set();
  for (const [j, write] of gpuPass.writes.entries()) {
    const place = `${member}.writes[${j}]`;
    checkKnown(build, write.texture, place);
    const texture = build.textures.get(write.texture);
    if (given.has(write.texture)) {
      refuse(`the pass writes '${texture.name}', an input or a constant`, place);
    }
    if (write.layer >= texture.layers) {
      refuse(`'${texture.name}' has no layer ${write.layer}`, place);
    }
    const isDraw = !(gpuPass.stage === "compute");
    const isAlone = isDraw || (!(build.requires.wgsl == null));
    const layer = (isAlone && isArray(texture)) ? ANY_LAYER : write.layer;
    if (slots.has(`${texture.slot} ${layer}`)) {
      refuse(`the pass reads what it writes: '${texture.name}' in slot ${texture.slot}`, place);
    }
    checkLifetime(texture, index, place);
    if (!(gpuPass.stage === "compute")) {
      const [width, height] = gpuPass.viewport;
      if ((width > texture.width) || (height > texture.height)) {
        refuse(`the viewport is larger than '${texture.name}'`, `${member}.viewport`);
      }
    }
    layers.add(`${write.texture} ${write.layer}`);
    written.add(`${write.texture} ${write.layer}`);
  }
  if (layers.size < gpuPass.writes.length) {
    refuse("the pass writes a layer twice", `${member}.writes`);
  }
}

function checkSlots(build, outputs) {
  for (const [before, after] of pairwise(bySlot(build))) {
    if (before.slot !== after.slot) {
      continue;
    }
    const isSame = (isArray(after) === isArray(before)) && (after.format === before.format);
    if (!(isSame && (after.width === before.width) && (after.height === before.height))) {
      refuse(`'${before.name}' and '${after.name}' share slot ${after.slot} but differ in kind, format or size`, "textures");
    }
    if (after.first <= before.last) {
      refuse(`'${before.name}' and '${after.name}' share slot ${after.slot} but their lifetimes overlap`, "textures");
    }
    checkShared(before, outputs);
    checkShared(after, outputs);
  }
}

function checkShared(texture, outputs) {
  if ((!(texture.data == null)) || outputs.has(texture.name)) {
    refuse(`slot ${texture.slot} is shared, but '${texture.name}' is a constant or an output`, "textures");
  }
}

function checkRequirements(build) {
  if (((build.requires.wgsl == null)) && !(build.requires.glsl >= 300)) {
    refuse("glsl or wgsl is required", "requires");
  }
  if (!(build.requires.wgsl == null)) {
    checkWgsl(build);
  } else if (build.requires.glsl < 310) {
    if ([...build.buffers.values()].some((buffer) => (buffer.kind === "storage"))) {
      refuse("storage buffers need glsl 310", "requires.glsl");
    }
    if (build.passes.some((gpuPass) => (gpuPass.stage === "compute") || (gpuPass.barriers.length > 0) || gpuPass.reads.some((read) => (read.uniform === undefined)))) {
      refuse("compute passes, images and barriers need glsl 310", "requires.glsl");
    }
  }
  for (const texture of build.textures.values()) {
    if ((texture.kind === "external") && ((build.requires.extensions == null))) {
      refuse("external textures need an extension", "requires.extensions");
    }
  }
  for (const gpuPass of build.passes) {
    for (const write of gpuPass.writes) {
      const texture = build.textures.get(write.texture);
      if (parseInt(formatOf(texture).type) > COLOR_BITS[build.requires.color_buffer]) {
        refuse(`color_buffer does not allow format ${texture.format}, which a pass writes`, "requires.color_buffer");
      }
    }
  }
}

function checkWgsl(build) {
  if (build.requires.glsl >= 300) {
    refuse("shaders are GLSL ES or WGSL, not both", "requires.glsl");
  }
  for (const gpuPass of build.passes) {
    if ((gpuPass.barriers.length > 0) || gpuPass.reads.some((read) => (read.uniform === undefined))) {
      refuse("WebGPU has no barriers, and shaders read no images", "requires.wgsl");
    }
  }
}

function checkLimits(build) {
  const used = {};
  for (const texture of build.textures.values()) {
    most(used, "texture_size", Math.max(texture.width, texture.height));
    if (isArray(texture) || (!(build.requires.wgsl == null))) {
      most(used, "array_texture_layers", texture.layers);
    }
  }
  for (const buffer of build.buffers.values()) {
    const kind = (buffer.kind === "storage") ? "storage_block_size" : "uniform_block_size";
    most(used, kind, buffer.size);
  }
  for (const gpuPass of build.passes) {
    const images = gpuPass.reads.filter((read) => (read.uniform === undefined)).length;
    const samplers = gpuPass.reads.length - images;
    const storage = gpuPass.blocks.filter((block) => (build.buffers.get(block.buffer).kind === "storage")).length;
    const uniform = gpuPass.blocks.length - storage;
    if ((gpuPass.stage === "compute")) {
      most(used, "compute_texture_units", samplers);
      most(used, "compute_images", images + 1);
      most(used, "compute_uniform_blocks", uniform);
      most(used, "workgroup_invocations", prod(gpuPass.workgroup));
      for (const count of gpuPass.groups) {
        most(used, "workgroup_count", count);
      }
    } else {
      most(used, "texture_units", samplers);
      most(used, "fragment_images", images);
      most(used, "uniform_blocks", uniform);
      most(used, "storage_blocks", storage);
      most(used, "draw_buffers", gpuPass.writes.length);
    }
  }
  for (const [name, value] of Object.entries(used)) {
    if (build.requires.limits[name] < value) {
      refuse(`the stated limit is ${build.requires.limits[name]}, the passes use ${value}`, `requires.limits.${name}`);
    }
  }
}
