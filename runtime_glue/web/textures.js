// Textures and framebuffers on GL. The textures of a tensor are a list: one array texture, or one 2D
// texture for each layer. Texel row 0 is the top row of an image.

import { ShadergenError } from "./errors.js";
import { formatOf } from "./pixels.js";

export const isArray = (texture) => texture.kind === "array";
export const targetOf = (gl, texture) => (isArray(texture) ? gl.TEXTURE_2D_ARRAY : gl.TEXTURE_2D);

/** Create the GL textures of a tensor, without content, nearest and clamped. */
export function makeTextures(gl, texture) {
  const { width, height, layers, format } = texture;
  const target = targetOf(gl, texture);
  const internal = gl[format.toUpperCase()];
  const made = Array.from({ length: isArray(texture) ? 1 : layers }, () => {
    const name = gl.createTexture();
    gl.bindTexture(target, name);
    if (isArray(texture)) gl.texStorage3D(target, 1, internal, width, height, layers);
    else gl.texStorage2D(target, 1, internal, width, height);
    sampleNearest(gl, (parameter, value) => gl.texParameteri(target, parameter, value));
    return name;
  });
  gl.bindTexture(target, null);
  return made;
}

/** Set the sampling that every texture is read with. */
export function sampleNearest(gl, set) {
  set(gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  set(gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  set(gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  set(gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
}

/** Fill a tensor's textures with texels, layer after layer: bytes of its format, or float32. */
export function fillTextures(gl, texture, names, texels) {
  const { width, height, layers } = texture;
  const { components, type } = formatOf(texture);
  const target = targetOf(gl, texture);
  const external = { 1: gl.RED, 2: gl.RG, 4: gl.RGBA }[components];
  let [View, kind] = [Uint8Array, gl.UNSIGNED_BYTE];
  if (type !== "8") [View, kind] = [Float32Array, gl.FLOAT];
  if (type === "16f" && !(texels instanceof Float32Array)) [View, kind] = [Uint16Array, gl.HALF_FLOAT];
  // bytes of the weights may lie where no such number can
  if (!(texels instanceof View)) texels = new View(texels.slice().buffer);
  withPlainUnpacking(gl, () => {
    names.forEach((name, i) => {
      gl.bindTexture(target, name);
      if (isArray(texture)) {
        gl.texSubImage3D(target, 0, 0, 0, 0, width, height, layers, external, kind, texels);
      } else {
        const start = i * width * height * components;
        gl.texSubImage2D(target, 0, 0, 0, width, height, external, kind, texels, start);
      }
    });
    gl.bindTexture(target, null);
  });
}

/** Upload with nothing flipped, scaled, converted or skipped; leave WebGL's defaults behind. */
export function withPlainUnpacking(gl, upload) {
  gl.bindBuffer(gl.PIXEL_UNPACK_BUFFER, null);
  for (const name of ["ROW_LENGTH", "IMAGE_HEIGHT", "SKIP_ROWS", "SKIP_PIXELS", "SKIP_IMAGES"]) {
    gl.pixelStorei(gl[`UNPACK_${name}`], 0);
  }
  for (const name of ["FLIP_Y", "PREMULTIPLY_ALPHA", "COLORSPACE_CONVERSION"]) {
    gl.pixelStorei(gl[`UNPACK_${name}_WEBGL`], 0); // false, or gl.NONE
  }
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  try {
    upload();
  } finally {
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
    gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.BROWSER_DEFAULT_WEBGL);
  }
}

/** Attach a layer of a tensor's textures to the bound framebuffer. */
export function attachLayer(gl, target, point, texture, names, layer) {
  if (isArray(texture)) gl.framebufferTextureLayer(target, point, names[0], 0, layer);
  else gl.framebufferTexture2D(target, point, gl.TEXTURE_2D, names[layer], 0);
}

/** Let a framebuffer draw to layers, [texture, names, layer] each; SG0602 where GL cannot. */
export function attach(gl, framebuffer, layers) {
  const target = gl.DRAW_FRAMEBUFFER;
  gl.bindFramebuffer(target, framebuffer);
  const points = layers.map((_, i) => gl.COLOR_ATTACHMENT0 + i);
  layers.forEach((layer, i) => attachLayer(gl, target, points[i], ...layer));
  gl.drawBuffers(points);
  const status = gl.checkFramebufferStatus(target);
  gl.bindFramebuffer(target, null);
  if (status === gl.FRAMEBUFFER_COMPLETE) return;
  const list = (key) => [...new Set(layers.map(([texture]) => texture[key]))].join(", ");
  throw new ShadergenError("SG0602", `this GL cannot draw to '${list("name")}' (${list("format")})`, {
    why: `the framebuffer's status is 0x${status.toString(16)}`,
    help: "bind a texture of the schedule's kind with a color-renderable format",
  });
}

/**
 * Return a tensor's texels and how many components of each: four, or the only one where GL reads it
 * alone. They are bytes where GL holds bytes, else float32.
 */
export function readTextures(gl, framebuffer, texture, names) {
  const { width, height, layers } = texture;
  const [target, point] = [gl.READ_FRAMEBUFFER, gl.COLOR_ATTACHMENT0];
  gl.bindFramebuffer(target, framebuffer);
  attachLayer(gl, target, point, texture, names, 0);
  gl.readBuffer(point);
  gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
  for (const name of ["ROW_LENGTH", "SKIP_ROWS", "SKIP_PIXELS"]) gl.pixelStorei(gl[`PACK_${name}`], 0);
  gl.pixelStorei(gl.PACK_ALIGNMENT, 1); // no gaps between rows of bytes
  // the application's texture may be of another type than the schedule's
  const type = gl.FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE;
  const floats = gl.getFramebufferAttachmentParameter(target, point, type) === gl.FLOAT;
  const kind = floats ? gl.FLOAT : gl.UNSIGNED_BYTE;
  const offered = (what) => gl.getParameter(gl[`IMPLEMENTATION_COLOR_READ_${what}`]);
  const alone =
    formatOf(texture).components < 2 && offered("FORMAT") === gl.RED && offered("TYPE") === kind;
  const [components, order] = alone ? [1, gl.RED] : [4, gl.RGBA];
  const size = width * height * components;
  const texels = new (floats ? Float32Array : Uint8Array)(size * layers);
  for (let layer = 0; layer < layers; layer++) {
    attachLayer(gl, target, point, texture, names, layer);
    gl.readPixels(0, 0, width, height, order, kind, texels, layer * size);
  }
  gl.pixelStorei(gl.PACK_ALIGNMENT, 4);
  gl.bindFramebuffer(target, null);
  return [texels, components];
}
