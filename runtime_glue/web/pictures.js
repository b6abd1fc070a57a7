// Pictures as network inputs and outputs. What a picture means is what `shadergen run` means by it: a
// network of 3 or 4 channels takes RGB or RGBA as stored, 0..1, alpha not multiplied in; one of 1
// channel takes luma (ITU-R BT.601, full range), and its result gets the picture's chroma back,
// resized bicubically. Rows run from the top, as in the textures.

import { makeCanvas } from "./device.js";
import { LUMA, places, unreadable } from "./pixels.js";
import { startProgram, untilLinked } from "./programs.js";
import { bindTexture, leave, Objects, prepare } from "./resources.js";
import { attach, makeTextures, readTextures, targetOf, withPlainUnpacking } from "./textures.js";

const HEAD = `#version 300 es
precision highp float;
precision highp sampler2D;
precision highp sampler2DArray;
uniform sampler2D u_picture;
uniform int u_channels;
uniform float u_white;
out vec4 o;
float luma(vec3 c) { return dot(c, vec3(${LUMA})); }
`;
const TAKE = `${HEAD}
void main() {
  vec4 c = texelFetch(u_picture, ivec2(gl_FragCoord.xy), 0);
  o = u_channels == 1 ? vec4(luma(c.rgb), 0.0, 0.0, 0.0) : vec4(c.rgb, u_channels == 4 ? c.a : 0.0);
  if (u_white > 1.0) o = floor(o * u_white + 0.5);
}`;
// WebGL uploads an ImageBitmap as stored, its colours multiplied by alpha or not; no property says which.
// u_y is the bitmap by way of a 2D canvas, which multiplies. A stored pixel is multiplied if it equals u_y
// as it is, and is not if it equals u_y after a multiplication, rounded to 8 bits.
const STRAIGHTEN = `${HEAD}
uniform sampler2D u_y;
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  vec4 c = texelFetch(u_picture, at, 0);
  vec3 drawn = texelFetch(u_y, at, 0).rgb;
  bool multiplied = any(greaterThan(abs(drawn - c.rgb * c.a), abs(drawn - c.rgb) + 0.502 / 255.0));
  o = vec4(multiplied ? c.rgb / c.a : c.rgb, c.a);
}`;
const PLACE = "ivec2(at * vec2(textureSize(u_y, 0).xy))"; // in an output
// u_frame: the canvas's size, whose pixels are multiplied by alpha, as is a canvas's default. Its
// row 0 is the lowest, the texture's the top one.
const show = (sampler, place) => `${HEAD}
uniform ${sampler} u_y;
uniform vec2 u_frame;
uniform float u_green;
vec4 cubic(float t) {
  vec4 x = abs(vec4(t + 1.0, t, 1.0 - t, 2.0 - t));
  vec4 inner = (1.5 * x - 2.5) * x * x + 1.0;
  vec4 outer = ((2.5 - 0.5 * x) * x - 4.0) * x + 2.0;
  return mix(inner, outer, step(1.0, x));
}
vec3 resized(vec2 at) {
  ivec2 size = textureSize(u_picture, 0);
  vec2 p = at * vec2(size) - 0.5;
  vec4 wx = cubic(fract(p.x)), wy = cubic(fract(p.y));
  vec4 sum = vec4(0.0);
  for (int j = 0; j < 4; j++) {
    vec4 row = vec4(0.0);
    ivec2 q = ivec2(floor(p)) + ivec2(-1, j - 1);
    for (int i = 0; i < 4; i++, q.x++) {
      if (q.x >= 0 && q.x < size.x) row += vec4(texelFetch(u_picture, q, 0).rgb, 1.0) * wx[i];
    }
    if (q.y >= 0 && q.y < size.y) sum += vec4(clamp(row.rgb / row.a, 0.0, 1.0), 1.0) * wy[j];
  }
  return clamp(sum.rgb / sum.a, 0.0, 1.0);
}
void main() {
  vec2 at = vec2(gl_FragCoord.x, u_frame.y - gl_FragCoord.y) / u_frame;
  vec4 y = texelFetch(u_y, ${place}, 0) / u_white;
  if (u_channels >= 3) o = vec4(y.rgb, 1.0) * (u_channels == 4 ? clamp(y.a, 0.0, 1.0) : 1.0);
  else {
    vec3 base = u_channels == 1 ? resized(at) : vec3(0.0);
    o = vec4(base - luma(base) + y.r + u_green * y.g, 1.0);
  }
}`;
const PICTURE = 0; // texture units
const RESULT = 1;

/** Takes pictures in and shows results, by programs of its own. */
export class Pictures extends Objects {
  static async make(gl, constants, { files, passes }) {
    const vertex = files.shaders.get(passes[0].vertex); // every draw's covers the viewport
    const made = new Pictures(gl);
    made.constants = constants;
    const sources = {
      take: TAKE,
      straighten: STRAIGHTEN,
      "2d": show("sampler2D", PLACE),
      array: show("sampler2DArray", `ivec3(${PLACE}, 0)`),
    };
    made.programs = {};
    for (const name in sources) {
      const { program, shaders } = startProgram(gl, [vertex, sources[name]]);
      made.programs[name] = made.own("deleteProgram", program);
      for (const shader of shaders) gl.deleteShader(shader);
    }
    await untilLinked(gl, Object.values(made.programs).map((program) => ({ program })));
    return made;
  }

  /** Copy a picture to a texture of bytes, its size being as wanted. */
  take(source, wanted) {
    const { gl } = this;
    const { width, height } = wanted;
    const size = `${width} ${height}`;
    const texture = { kind: "2d", format: "rgba8", width, height, layers: 1 };
    if (this.size !== size) {
      gl.deleteTexture(this.picture ?? null);
      [this.picture] = this.ownTextures(makeTextures(gl, texture));
      this.size = size;
    }
    try {
      if (globalThis.ImageBitmap && source instanceof ImageBitmap) this.#takeBitmap(source, texture);
      else this.#fill(this.picture, source, wanted);
    } catch (error) {
      throw unreadable(error, source);
    }
    return this.picture;
  }

  /** Copy a bitmap, its colours not multiplied by alpha. */
  #takeBitmap(bitmap, texture) {
    const { gl } = this;
    const { width, height } = texture;
    const [stored, drawn] = makeTextures(gl, { ...texture, layers: 2 });
    try {
      this.#fill(stored, bitmap, texture); // throws for one of another site, which would spoil the canvas
      this.context ??= makeCanvas().getContext("2d");
      const { canvas } = this.context;
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
      this.context.globalCompositeOperation = "copy";
      this.context.drawImage(bitmap, 0, 0);
      this.#fill(drawn, canvas, texture, true);
      this.#target(texture, [this.picture]);
      bindTexture(gl, RESULT, gl.TEXTURE_2D, drawn);
      this.#draw("straighten", { width, height }, 0, stored);
    } finally {
      for (const name of [stored, drawn]) gl.deleteTexture(name);
    }
  }

  #fill(name, source, { width, height }, multiply = false) {
    const { gl } = this;
    withPlainUnpacking(gl, () => {
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, multiply);
      gl.bindTexture(gl.TEXTURE_2D, name);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, source);
      gl.bindTexture(gl.TEXTURE_2D, null);
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    });
  }

  /** Let the next draw write to textures. */
  #target(texture, names) {
    const { gl, constants } = this;
    attach(gl, constants.framebuffer, [[texture, names, 0]]);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, constants.framebuffer);
  }

  /** Draw the picture taken to the textures of an input, as its numbers. */
  convert(wanted, texture, names) {
    this.#target(texture, names);
    this.#draw("take", wanted);
  }

  /** Return the numbers of the picture taken, in the order of an input. */
  numbers(port, { channels, width, height, white }) {
    const tensor = { packing: "planes", kind: "2d", format: "rgba8", layers: 1, width, height };
    const [bytes] = readTextures(this.gl, this.constants.framebuffer, tensor, [this.picture]);
    return Float32Array.from(places(port, tensor, 4), (at) => {
      const byte = channels > 1 ? bytes[at] : LUMA.reduce((sum, weight, i) => sum + weight * bytes[at + i], 0);
      return white > 1 ? Math.round(byte) : byte / 255;
    });
  }

  /**
   * Draw a picture in an output's textures to the canvas of the context, over all of it; luma with the
   * chroma of the picture taken, or grey where the input is not its luma.
   */
  show({ channels, white }, encoding, texture, names, isPictured) {
    const { gl } = this;
    const { width, height } = gl.canvas;
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    const green = { y2rg: 1, y2rg_half: -1 }[encoding] ?? 0;
    bindTexture(gl, RESULT, targetOf(gl, texture), names[0]);
    const grey = channels === 1 && !isPictured;
    this.#draw(texture.kind, { channels: grey ? 0 : channels, width, height, white }, green);
    bindTexture(gl, RESULT, targetOf(gl, texture), null);
    gl.activeTexture(gl.TEXTURE0);
  }

  #draw(name, { channels, width, height, white }, green = 0, picture = this.picture) {
    const { gl } = this;
    const program = this.programs[name];
    prepare(gl, this.constants, [PICTURE, RESULT]);
    gl.useProgram(program);
    const at = (uniform) => gl.getUniformLocation(program, uniform);
    gl.uniform1i(at("u_picture"), PICTURE);
    gl.uniform1i(at("u_y"), RESULT);
    gl.uniform1i(at("u_channels"), channels);
    gl.uniform2f(at("u_frame"), width, height);
    gl.uniform1f(at("u_green"), green);
    gl.uniform1f(at("u_white"), white);
    bindTexture(gl, PICTURE, gl.TEXTURE_2D, picture);
    gl.viewport(0, 0, width, height);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    bindTexture(gl, PICTURE, gl.TEXTURE_2D, null);
    leave(gl, [PICTURE, RESULT]);
  }
}
