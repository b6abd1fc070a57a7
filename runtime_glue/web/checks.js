// Check a schedule that may be anything: its text, its form, and how its parts refer to each other,
// which a JSON Schema cannot state. Each of these rules is a sentence of docs/schedule.md, and each
// refusal an SG0503 that names the member.

import { malformed, samplersOf, SCHEDULE } from "./document.js";
import { show, validate } from "./forms.js";
import { asMap, formatOf, LANES, logicalShape, MAP_RANK, product } from "./pixels.js";
import form from "./schema.js";

export * from "./sizes.js"; // a build of fixed sizes is refused where it has expressions

const IMAGES = ["rgba32f", "rgba16f", "r32f", "rgba8"];
const MAX_DEPTH = 512;
const MAX_TEXTURE_BYTES = 2 ** 33;
const COLOR_BUFFER = { none: 0, half_float: 1, float: 2 };
const NEEDS = { 8: 0, "16f": 1, "32f": 2 };

const EXTERNAL = "external";

const isCompute = (pass) => pass.stage === "compute";
const imagesOf = (pass) => pass.reads.filter((r) => r.uniform === undefined);

function refuse(what, member) {
  malformed(what, `${SCHEDULE}: ${member}`);
}

/**
 * Refuse JSON that JavaScript takes: with members given twice, numbers beyond float64, half of a
 * surrogate pair, or deep nesting.
 */
export function checkText(text) {
  const members = []; // of each object or array around a token
  for (const [token, string, colon, number] of text.matchAll(
    /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|(-?[0-9][-+.eE0-9]*)|[[\]{}]/g,
  )) {
    if (token === "[" || token === "{") members.push(new Set());
    else if (token === "]" || token === "}") members.pop();
    else if (number !== undefined && !Number.isFinite(Number(number))) {
      malformed(`${show(number)} is not a number that JSON allows`);
    } else if (/\\u[dD]/.test(string)) checkCharacters(JSON.parse(string));
    if (colon) {
      const known = members.at(-1);
      const member = JSON.parse(string);
      if (known.has(member)) malformed(`the member ${show(member)} is given twice`);
      known.add(member);
    }
    if (members.length > MAX_DEPTH) malformed("it is nested too deeply");
  }
}

function checkCharacters(text) {
  try {
    encodeURIComponent(text);
  } catch {
    malformed("a text holds half of a character");
  }
}

/** Refuse a document that is not of the schema's form; `lenient` ignores members it does not know. */
export function checkForm(document, lenient) {
  const error = validate(document, form, lenient);
  if (error) refuse(error.message, error.place);
}

/** Refuse a document, valid by the schema and resolved, whose parts do not fit each other. */
export function check(document) {
  const { inputs, outputs } = document;
  const given = new Set(inputs.map((port) => port.texture));
  const textures = byName(document.textures, "textures");
  const buffers = byName(document.buffers, "buffers");
  const size = document.weights.size;
  document.textures.forEach((t, i) => checkTexture(t, `textures[${i}]`, size, given.has(t.name)));
  document.buffers.forEach((buffer, i) => checkRange(buffer, `buffers[${i}]`, size));
  for (const [member, ports] of Object.entries({ inputs, outputs })) {
    byName(ports, member);
    ports.forEach((port, i) => checkPort(textures, port, `${member}[${i}]`));
  }
  if (given.size < inputs.length) refuse("two inputs share a texture", "inputs");
  const written = checkPasses(document.passes, textures, buffers, given);
  const taken = new Set(outputs.map((port) => port.texture));
  for (const name of [...taken].sort()) {
    for (let layer = 0; layer < textures.get(name).layers; layer++) {
      if (!written.get(name)?.has(layer)) {
        refuse(`no GPU pass writes layer ${layer} of the output '${name}'`, "outputs");
      }
    }
  }
  checkSlots(document.textures, taken);
  checkRequirements(document, textures, buffers);
}

function byName(items, member) {
  const found = new Map();
  items.forEach((item, i) => {
    if (found.has(item.name)) refuse(`the name '${item.name}' is taken`, `${member}[${i}].name`);
    found.set(item.name, item);
  });
  return found;
}

function checkRange({ offset, size }, member, all) {
  if (offset + size <= all) return;
  const range = `${offset} to ${offset + size}`;
  refuse(`the bytes ${range} lie outside the weights file of ${all} bytes`, member);
}

function checkTexture(texture, member, weights, isInput) {
  const { format, channels, batch, data, layers } = texture;
  const room = texture.width * texture.height * layers;
  const { components, type } = formatOf(texture);
  const bytes = (room * components * parseInt(type)) / 8;
  if (bytes > MAX_TEXTURE_BYTES) refuse(`a texture of ${bytes} bytes is beyond all devices`, member);
  if (texture.first > texture.last) {
    refuse(`it is used first in pass ${texture.first}, last in ${texture.last}`, member);
  }
  const plain = layers === 1 && texture.packing === "planes" && format === "rgba8";
  if (texture.kind === EXTERNAL && !(plain && isInput)) {
    refuse("an external texture is an input of one layer of rgba8, in planes", `${member}.kind`);
  }
  if (data) {
    if (isInput) refuse("an input cannot have data", `${member}.data`);
    checkRange(data, `${member}.data`, weights);
    if (data.size !== bytes) {
      refuse(`its texels take ${bytes} bytes, its data has ${data.size}`, `${member}.data`);
    }
    return;
  }
  const planes = Math.ceil(channels / LANES);
  const needed = batch * planes;
  if (texture.packing !== "planes") {
    if (needed > room) {
      const rows = `${batch} rows of ${channels}`;
      refuse(`${rows} take ${needed} texels, there are ${room}`, `${member}.batch`);
    }
  } else if (layers !== needed) {
    const what = `${batch} x ${channels} channels take ${needed} layers`;
    refuse(`${what}, not ${layers}`, `${member}.layers`);
  }
  if (components < Math.min(channels, LANES)) {
    refuse(`${channels} channels do not fit ${format}`, `${member}.format`);
  }
  if (isInput !== (texture.slot === null)) {
    refuse("inputs, and no others, have the slot null", `${member}.slot`);
  }
}

function checkPort(textures, port, member) {
  const { shape, axes, encoding, dtype } = port;
  const texture = lookUp(textures, port.texture, `${member}.texture`);
  if (axes.length !== shape.length || axes.some((axis) => axis >= shape.length)) {
    refuse(`the axes [${axes.join(", ")}] do not permute the shape's`, `${member}.axes`);
  }
  const logical = logicalShape(port);
  const signed = encoding.startsWith("y2rg");
  if (texture.packing === "planes") checkPlanes(logical, texture, signed, member);
  else if (signed) refuse(`the encoding ${encoding} needs planes`, `${member}.encoding`);
  else {
    const { batch, channels } = texture;
    if (product(logical) !== batch * channels || (logical.at(-1) ?? 1) !== channels) {
      const what = `the shape [${logical.join(", ")}] does not fit ${batch} rows of ${channels}`;
      refuse(what, `${member}.shape`);
    }
  }
  if (dtype !== "float32" && encoding !== "float") {
    refuse(`the encoding ${encoding} holds no ${dtype}`, `${member}.dtype`);
  }
  const { format } = texture;
  const eightBits = format.endsWith("8");
  if (encoding === "unorm8" && !eightBits) {
    refuse(`the encoding unorm8 needs an 8-bit texture, not ${format}`, member);
  }
  if ((encoding === "float" || encoding === "y2rg") && eightBits) {
    refuse(`the encoding ${encoding} needs a float texture`, member);
  }
  if (signed && formatOf(texture).components < 2) {
    refuse(`the encoding ${encoding} needs two channels, not ${format}`, member);
  }
}

function checkPlanes(logical, texture, signed, member) {
  if (logical.length > MAP_RANK) {
    refuse(`planes hold up to ${MAP_RANK} axes, not ${logical.length}`, `${member}.shape`);
  }
  const [n, c, h, w] = asMap(logical);
  const { batch, channels, height, width } = texture;
  const fits = signed ? c === 1 && channels <= 2 : c === channels;
  if (fits && n === batch && h === height && w === width) return;
  const what = `N, C, H, W of ${n}, ${c}, ${h}, ${w} do not fit a texture of `;
  refuse(`${what}${batch}, ${channels}, ${height}, ${width}`, `${member}.shape`);
}

function lookUp(textures, name, member) {
  if (!textures.has(name)) refuse(`there is no texture '${name}'`, member);
  return textures.get(name);
}

/** Walk the passes in order; return the layers that they wrote, by texture. */
function checkPasses(passes, textures, buffers, inputs) {
  const written = new Map();
  const given = new Set([...textures.values()].filter((t) => t.data).map((t) => t.name));
  for (const name of inputs) given.add(name);
  const holds = (name, layer) => given.has(name) || written.get(name)?.has(layer);
  passes.forEach((pass, i) => {
    const member = `passes[${i}]`;
    const read = checkReads(pass, i, member, textures, holds);
    pass.blocks.forEach(({ buffer }, j) => {
      if (!buffers.has(buffer)) refuse(`there is no buffer '${buffer}'`, `${member}.blocks[${j}]`);
    });
    if (repeats(pass.blocks.map((b) => b.block))) {
      refuse("a block is given twice", `${member}.blocks`);
    }
    const placed = pass.reads.flatMap((r) => [r.uniform, r.matrix]).filter((n) => n !== undefined);
    if (repeats([...pass.uniforms.map((u) => u.name), ...placed])) {
      refuse("a uniform is given twice", member);
    }
    checkImages(pass, member, textures, inputs);
    pass.writes.forEach(({ texture: name, layer }, j) => {
      const place = `${member}.writes[${j}]`;
      const texture = lookUp(textures, name, place);
      if (given.has(name)) refuse(`'${name}' is an input or a constant`, place);
      if (layer >= texture.layers) refuse(`'${name}' has no layer ${layer}`, place);
      // a draw may not even sample other layers of what it draws to
      const layers = read.get(texture.slot);
      if (isCompute(pass) ? layers?.has(layer) : layers) {
        refuse(`it reads what it writes: '${name}' in slot ${texture.slot}`, place);
      }
      checkLifetime(texture, i, place);
      if (isCompute(pass)) return;
      const [width, height] = pass.viewport;
      if (width > texture.width || height > texture.height) {
        refuse(`the viewport is larger than '${name}'`, `${member}.viewport`);
      }
    });
    if (repeats(pass.writes.map((w) => `${w.layer} ${w.texture}`))) {
      refuse("it writes a layer twice", `${member}.writes`);
    }
    for (const { texture, layer } of pass.writes) add(written, texture, [layer]);
  });
  return written;
}

const repeats = (names) => new Set(names).size < names.length;

function add(sets, key, values) {
  if (!sets.has(key)) sets.set(key, new Set());
  for (const value of values) sets.get(key).add(value);
}

/** Check what a pass reads; return the layers of each slot. */
function checkReads(pass, index, member, textures, holds) {
  const found = new Map();
  pass.reads.forEach((read, j) => {
    const place = `${member}.reads[${j}]`;
    const { texture: name, layer } = read;
    const texture = lookUp(textures, name, place);
    const isArray = texture.kind === "array";
    if ((texture.kind === EXTERNAL) !== (read.matrix !== undefined)) {
      refuse("external textures, and no others, are read through a matrix", `${place}.matrix`);
    }
    if (layer !== undefined && (isArray || layer >= texture.layers)) {
      refuse(`'${name}' has no 2D texture ${layer} to read`, place);
    }
    if (layer === undefined && !isArray && texture.layers > 1) {
      refuse(`'${name}' has ${texture.layers} 2D textures: name a layer`, place);
    }
    let [first, count] = layer === undefined ? [0, texture.layers] : [layer, 1];
    if (read.layers) {
      [first, count] = read.layers;
      if (!isArray || first + count > texture.layers) {
        refuse(`'${name}' is no array with layer ${first + count - 1}`, `${place}.layers`);
      }
    }
    const layers = Array.from({ length: count }, (_, k) => first + k);
    for (const k of layers) {
      if (!holds(name, k)) refuse(`layer ${k} of '${name}' is read before it is written`, place);
    }
    checkLifetime(texture, index, place);
    if (texture.slot !== null) add(found, texture.slot, layers);
  });
  return found;
}

/** Check what a pass has bound to image units. */
function checkImages(pass, member, textures, inputs) {
  const images = imagesOf(pass);
  const units = images.map((read) => read.image);
  const names = images.map((read) => read.texture);
  for (const name of names) {
    if (inputs.has(name)) {
      refuse(`'${name}' is an input, which may have no images`, `${member}.reads`);
    }
  }
  if (isCompute(pass)) {
    units.push(pass.image);
    names.push(...pass.writes.map((write) => write.texture));
    const place = `${member}.writes`;
    if (pass.writes.some((w) => w.texture !== names.at(-1))) {
      refuse("a compute pass writes one texture", place);
    }
    const texture = lookUp(textures, names.at(-1), place);
    if (pass.writes.length > 1 && texture.kind !== "array") {
      refuse(`an image is one layer of '${texture.name}'`, place);
    }
  }
  if (repeats(units)) refuse("an image unit is given twice", member);
  for (const name of names) {
    const { format } = textures.get(name);
    if (!IMAGES.includes(format)) {
      refuse(`'${name}' is ${format}, of which there are no images`, member);
    }
  }
}

function checkLifetime({ name, first, last }, index, place) {
  if (first <= index && index <= last) return;
  refuse(`pass ${index} uses '${name}' outside its lifetime, ${first} to ${last}`, place);
}

function checkSlots(textures, outputs) {
  const sharing = new Map();
  for (const texture of textures) {
    if (texture.slot !== null) add(sharing, texture.slot, [texture]);
  }
  for (const [slot, found] of [...sharing].sort(([a], [b]) => a - b)) {
    const users = [...found].sort((a, b) => a.first - b.first);
    users.slice(1).forEach((after, i) => {
      const before = users[i];
      const place = `textures '${before.name}' and '${after.name}'`;
      if (["kind", "format", "width", "height"].some((key) => after[key] !== users[0][key])) {
        refuse(`they share slot ${slot} and differ in kind, format or size`, place);
      }
      if (after.first <= before.last) {
        refuse(`they share slot ${slot} and are alive together`, place);
      }
      for (const { name, data } of [before, after]) {
        if (data || outputs.has(name)) {
          refuse(`slot ${slot} is shared, and '${name}' may not share`, place);
        }
      }
    });
  }
}

/** The stated requirements must cover what the schedule does. */
function checkRequirements({ requires, passes, textures: all }, textures, buffers) {
  if (requires.glsl < 310) {
    if ([...buffers.values()].some((b) => b.kind === "storage")) {
      refuse("storage buffers need glsl 310", "requires.glsl");
    }
    if (passes.some((p) => isCompute(p) || imagesOf(p).length || p.barriers.length)) {
      refuse("compute passes, images and barriers need glsl 310", "requires.glsl");
    }
  }
  if (all.some((t) => t.kind === EXTERNAL) && !requires.extensions) {
    refuse("external textures need an extension", "requires.extensions");
  }
  for (const [name, used] of Object.entries(largestUse(passes, all, buffers))) {
    const stated = requires.limits[name];
    if (stated < used) refuse(`it is stated as ${stated}, and ${used} is used`, `requires.limits.${name}`);
  }
  const drawn = passes.flatMap((p) => p.writes.map((w) => textures.get(w.texture).format));
  for (const format of [...new Set(drawn)].sort()) {
    if (NEEDS[format.replace(/^[rgba]+/, "")] > COLOR_BUFFER[requires.color_buffer]) {
      refuse(`${format} is drawn to`, "requires.color_buffer");
    }
  }
}

function largestUse(passes, textures, buffers) {
  const draws = passes.filter((p) => !isCompute(p));
  const dispatches = passes.filter(isCompute);
  const most = (items, count) => items.reduce((n, item) => Math.max(n, count(item)), 0);
  const blocks = (kind) => (pass) =>
    pass.blocks.filter((b) => buffers.get(b.buffer).kind === kind).length;
  const bytes = (kind) => most([...buffers.values()], (b) => (b.kind === kind ? b.size : 0));
  return {
    texture_size: most(textures, (t) => Math.max(t.width, t.height)),
    array_texture_layers: most(textures, (t) => (t.kind === "array" ? t.layers : 0)),
    texture_units: most(draws, (p) => samplersOf(p).length),
    draw_buffers: most(draws, (p) => p.writes.length),
    fragment_images: most(draws, (p) => imagesOf(p).length),
    compute_images: most(dispatches, (p) => imagesOf(p).length + 1),
    compute_texture_units: most(dispatches, (p) => samplersOf(p).length),
    workgroup_invocations: most(dispatches, (p) => product(p.workgroup)),
    workgroup_count: most(dispatches, (p) => Math.max(...p.groups)),
    uniform_block_size: bytes("uniform"),
    uniform_blocks: most(draws, blocks("uniform")),
    storage_block_size: bytes("storage"),
    storage_blocks: most(draws, blocks("storage")),
    compute_uniform_blocks: most(dispatches, blocks("uniform")),
  };
}
