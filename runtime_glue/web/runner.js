// Run a build: create all GL objects once; a frame then only binds and draws.

import { ACCELERATION, checkErrors, checkRequirements, forgetErrors, lost, nextTask, until } from "./device.js";
import { ShadergenError } from "./errors.js";
import { Pictures } from "./pictures.js";
import { checkCanvas, checkPicture, contextOf, decode, encode, formatOf, MAP_RANK, pictureFor, pictureOf, places, product } from "./pixels.js";
import { Constants, Sized } from "./resources.js";
import { fillTextures, isArray, makeTextures, readTextures, targetOf } from "./textures.js";
import { Timer } from "./timer.js";

/**
 * Runs one build on one WebGL 2 context.
 *
 * A frame resets its bindings to null (textures and samplers of the units it used, uniform buffers,
 * vertex array, program, draw framebuffer). It turns off blending, culling, dithering, depth,
 * scissor and stencil tests, rasterizer discard, alpha-to-coverage and sample coverage, and changes the
 * viewport. The application must set its own state afterwards.
 *
 * While the context is lost, methods that need it throw SG0604. When the browser restores it, the
 * runner recreates everything from the build and calls `onrestored`: bind and upload inputs there.
 */
export class Runner {
  #constants = null;
  #sized = null;
  #pictures = null;
  #timer = null;
  #frame = null;
  #uploads = new Map();
  #pictured = null; // the input that has the luma of the picture taken last
  #hasRun = false; // a frame, at the current sizes
  #making = null;
  #listeners = {
    webglcontextlost: (event) => {
      event.preventDefault(); // which asks for it back
      this.#forget();
    },
    webglcontextrestored: () => this.init().then(() => this.onrestored?.(), () => {}),
  };

  constructor(build, gl) {
    if (!(gl && gl.texStorage2D && gl.canvas)) {
      throw new ShadergenError("SG0601", "a runner needs a WebGL 2 context", {
        help: gl === null ? ACCELERATION : "pass it canvas.getContext('webgl2')",
      });
    }
    Object.assign(this, { build, gl, onrestored: null, onprogress: null });
    for (const name in this.#listeners) gl.canvas.addEventListener(name, this.#listeners[name]);
  }

  // once

  /** Check the requirements and make all GL objects. A second call does nothing. */
  async init() {
    this.#making ??= this.#make();
    const making = this.#making;
    try {
      await making;
    } catch (error) {
      if (this.#making === making) this.#making = null;
      throw error instanceof ShadergenError ? error.at(this.build.url) : error;
    }
  }

  async #make() {
    const { gl, build } = this;
    if (gl.isContextLost()) throw lost();
    checkRequirements(gl, build);
    forgetErrors(gl);
    const constants = new Constants(gl);
    try {
      await constants.fill(build, (...counts) => this.onprogress?.(...counts));
      const sized = new Sized(gl, build, constants);
      if ([...build.inputs, ...build.outputs].some(({ shape }) => shape.length === MAP_RANK)) {
        this.#pictures = await Pictures.make(gl, constants, build);
      }
      this.#timer = new Timer(gl, constants, build.passes.length);
      [this.#constants, this.#sized] = [constants, sized];
    } catch (error) {
      constants.delete();
      throw error;
    }
  }

  /**
   * Change dynamic sizes; sizes not named stay.
   *
   * Creates new textures: bind and upload again. Programs and weights stay. If SG0605, SG0602 or SG0604
   * is thrown, nothing has changed.
   */
  resize(sizes) {
    const build = this.build.resized(sizes);
    if (build === this.build) return;
    if (this.#making) {
      const before = this.#ready();
      checkRequirements(this.gl, build);
      forgetErrors(this.gl);
      this.#sized = new Sized(this.gl, build, this.#constants);
      before.delete();
    }
    this.build = build;
    this.#frame = null;
    this.#hasRun = false;
    this.#uploads.clear();
  }

  // textures in and out

  /**
   * Read an input from the application's texture: an array texture, or its 2D textures. It is sampled
   * nearest and clamped, with row 0 as the top.
   */
  bindInput(name, texture) {
    const [port, sized] = this.#port("input", name);
    this.#read(port, sized, this.#check(port, texture, sized));
  }

  /** Write an output to the application's texture: an array texture, or its 2D textures. */
  bindOutput(name, texture) {
    const [port, sized] = this.#port("output", name);
    const before = sized.textures.get(port.texture);
    sized.textures.set(port.texture, this.#check(port, texture, sized));
    this.#frame = null;
    try {
      sized.rebind(port.texture);
    } catch (error) {
      sized.textures.set(port.texture, before);
      sized.rebind(port.texture);
      const { code, why, help } = error;
      if (code !== "SG0602") throw error;
      const what = `this GL cannot draw to the texture of '${port.name}'`; // WebGL does not tell its format
      throw new ShadergenError(code, what, { where: `output '${port.name}'`, why, help });
    }
  }

  /** Return the GL texture of an output: its array texture, or the 2D texture of `layer`. */
  outputTexture(name, layer = 0) {
    const [port, sized] = this.#port("output", name);
    const names = sized.textures.get(port.texture);
    if (names[layer]) return names[layer];
    throw new ShadergenError("SG0605", `the output '${port.name}' has no texture ${layer}`, {
      supported: `0 to ${names.length - 1}`,
    });
  }

  /**
   * Copy a typed array of the model's own shape, or a picture, to a texture of the runner's, and read
   * that. An input of encoding "unorm8" takes bytes from 0 to 255 or floats from 0 to 1.
   */
  upload(name, source) {
    const [port, sized] = this.#port("input", name);
    const texture = sized.tensors.get(port.texture);
    if (!ArrayBuffer.isView(source)) {
      const wanted = pictureFor(port, texture);
      checkPicture(source, wanted);
      this.#uploadPicture(port, sized, source, wanted);
      this.#pictured = wanted.channels === 1 ? port.name : null;
      return;
    }
    const size = product(port.shape);
    if (source.length !== size) {
      const shape = port.shape.join("x");
      const what = `the input '${port.name}' takes an array of ${shape}, ${size} numbers`;
      throw new ShadergenError("SG0605", `${what}, not ${source.length ?? "bytes"}`);
    }
    const { components } = formatOf(texture);
    let texels;
    try {
      texels = encode(source, port, texture, this.#places(port, components));
    } catch (error) {
      throw error instanceof ShadergenError ? error.at(`input '${port.name}'`) : error;
    }
    forgetErrors(this.gl);
    fillTextures(this.gl, texture, this.#uploaded(port, sized), texels);
    checkErrors(this.gl, `the input '${port.name}' is uploaded`);
  }

  #uploadPicture(port, sized, source, wanted) {
    const texture = sized.tensors.get(port.texture);
    const picture = this.#pictures.take(source, wanted);
    if (texture.format === "rgba8" && texture.kind === "2d" && wanted.channels > 1) {
      return this.#read(port, sized, [picture]);
    }
    const [low, high] = port.range ?? [0, 1];
    if (low <= 0 && high >= 1) {
      try {
        return this.#pictures.convert(wanted, texture, this.#uploaded(port, sized));
      } catch (error) {
        if (error.code !== "SG0602") throw error; // it cannot be drawn to, then it is filled
      }
    }
    this.upload(port.name, this.#pictures.numbers(port, wanted));
  }

  /** Return the textures of the runner's for an input, which is read from there from now on. */
  #uploaded(port, sized) {
    if (!this.#uploads.has(port.name)) {
      const texture = sized.tensors.get(port.texture);
      this.#uploads.set(port.name, sized.ownTextures(makeTextures(this.gl, texture)));
    }
    const names = this.#uploads.get(port.name);
    this.#read(port, sized, names);
    return names;
  }

  #read(port, sized, names) {
    if (this.#pictured === port.name) this.#pictured = null;
    const known = sized.textures.get(port.texture);
    if (known && names.every((name, i) => name === known[i])) return;
    sized.textures.set(port.texture, names);
    this.#frame = null;
  }

  /** Return an output, by default the only one, as a typed array in the model's own order; waits. */
  read(name) {
    const { gl } = this;
    const [port, sized] = this.#port("output", name);
    const texture = sized.tensors.get(port.texture);
    forgetErrors(gl);
    const names = sized.textures.get(port.texture);
    const [texels, components] = readTextures(gl, this.#constants.framebuffer, texture, names);
    checkErrors(gl, `the output '${port.name}' is read`);
    return decode(texels, port, this.#places(port, components));
  }

  /**
   * Resolve when the GPU has done what it was given; the page goes on meanwhile. Throws SG0604 where the
   * context is lost before.
   */
  async wait() {
    const { gl } = this;
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    let status; // null of a fence from before the context was lost and restored
    const isDone = () =>
      gl.isContextLost() || (status = gl.getSyncParameter(fence, gl.SYNC_STATUS)) !== gl.UNSIGNALED;
    await until(isDone, globalThis.document?.hidden ? nextTask : undefined);
    if (status !== gl.SIGNALED) throw lost();
    gl.deleteSync(fence);
  }

  // every frame

  /**
   * Draw a frame. With a source (a picture, video, canvas, ImageData, ImageBitmap or texture) the only
   * input is taken from it. `timed` measures each pass, for timings(), where the browser can.
   */
  run(source, { timed = false } = {}) {
    if (source !== undefined || arguments.length === 1) {
      const [port] = this.#port("input");
      if (source instanceof WebGLTexture) this.bindInput(port.name, source);
      else this.upload(port.name, source);
    }
    const { before, passes, after } = this.#frame ?? this.#record();
    before();
    if (timed) this.#timer.run(passes);
    else for (const calls of passes) for (const call of calls) call();
    after();
    this.#hasRun = true;
  }

  #record() {
    const sized = this.#ready();
    for (const { name, texture } of this.build.inputs) {
      if (sized.textures.has(texture)) continue;
      throw new ShadergenError("SG0605", `the input '${name}' has no texture`, {
        help: "call bindInput() or upload() before run(), or give run() a picture",
      });
    }
    this.#checkApart(sized);
    this.#frame = sized.record();
    return this.#frame;
  }

  /**
   * Refuse an output in an input's texture, if the input is read in the output's pass or later: WebGL
   * does not draw, or the input is overwritten before it is read.
   */
  #checkApart({ textures }) {
    for (const output of this.build.outputs) {
      for (const input of this.build.inputs) {
        const read = textures.get(input.texture);
        if (!textures.get(output.texture).some((name) => read.includes(name))) continue;
        let written = false;
        this.build.passes.forEach(({ reads, writes }, i) => {
          written ||= writes.some(({ texture }) => texture === output.texture);
          if (!written || !reads.some(({ texture }) => texture === input.texture)) return;
          const what = `the output '${output.name}' has the texture of the input '${input.name}'`;
          throw new ShadergenError("SG0605", what, {
            why: `GPU pass ${i} reads the input, and this pass or an earlier one writes the output`,
            help: "bind another texture to the output",
          });
        });
      }
    }
  }

  /**
   * Draw an output that is a picture, by default the only one, to a canvas: over all of the context's
   * own, or to a 2D one, for which the context's own takes the output's size.
   */
  draw(canvas = this.gl.canvas, name) {
    const { gl } = this;
    const [port, sized] = this.#port("output", name);
    const texture = sized.tensors.get(port.texture);
    const picture = pictureOf(port, texture);
    checkCanvas(canvas, this.#hasRun);
    const context = canvas === gl.canvas ? null : contextOf(canvas, "2d");
    if (context) {
      const { width, height } = picture;
      Object.assign(canvas, { width, height });
      if (gl.canvas.width !== width || gl.canvas.height !== height) {
        Object.assign(gl.canvas, { width, height });
      }
    }
    const names = sized.textures.get(port.texture);
    this.#pictures.show(picture, port.encoding, texture, names, this.#pictured !== null);
    context?.drawImage(gl.canvas, 0, 0);
  }

  /** Return the milliseconds of each pass in the last timed frame; none where there are none. */
  async timings() {
    this.#ready();
    return this.#timer.milliseconds();
  }

  /** Throw what GL has to report since the last check, SG0604. */
  check() {
    this.#ready();
    checkErrors(this.gl, "frames are drawn or the application calls GL");
  }

  // last

  /** Delete all GL objects; the application's textures stay. A second call does nothing. */
  close() {
    const { gl } = this;
    for (const name in this.#listeners) gl.canvas.removeEventListener(name, this.#listeners[name]);
    for (const objects of [this.#pictures, this.#sized, this.#constants]) objects?.delete();
    this.#forget();
  }

  // helpers

  #forget() {
    this.#constants = this.#sized = this.#pictures = this.#timer = this.#frame = this.#making = null;
    this.#pictured = null;
    this.#hasRun = false;
    this.#uploads.clear();
  }

  #ready() {
    if (this.gl.isContextLost()) throw lost();
    if (this.#sized) return this.#sized;
    throw new ShadergenError("SG0605", "the runner is not initialised, or closed", { help: "await init()" });
  }

  /** Return an input or output, by default the only one. */
  #port(kind, name) {
    const sized = this.#ready();
    const ports = this.build[`${kind}s`];
    const names = ports.map((port) => port.name);
    if (name === undefined && ports.length !== 1) {
      const what = `the build has ${ports.length} ${kind}s: ${names.join(", ")}`;
      throw new ShadergenError("SG0605", what, { help: "name one" });
    }
    const port = name === undefined ? ports[0] : ports.find((p) => p.name === name);
    if (port) return [port, sized];
    throw new ShadergenError("SG0605", `the build has no ${kind} '${`${name}`.slice(0, 64)}'`, {
      supported: names.join(", "),
    });
  }

  /** Return the places of a port's elements, or null where they lie in their own order. */
  #places(port, components) {
    const { places: known, tensors } = this.#ready();
    const key = `${components} ${port.texture}`;
    if (!known.has(key)) {
      const map = places(port, tensors.get(port.texture), components);
      known.set(key, map.every((place, i) => place === i) ? null : map);
    }
    return known.get(key);
  }

  /** Return the application's textures for a port, checked as far as WebGL tells. */
  #check(port, given, sized) {
    const { gl } = this;
    const texture = sized.tensors.get(port.texture);
    const names = [given].flat();
    const count = isArray(texture) ? 1 : texture.layers;
    if (names.length !== count || !names.every((name) => name instanceof WebGLTexture)) {
      const flat = texture.layers === 1 ? "a 2D texture" : `${count} 2D textures`;
      throw new ShadergenError("SG0605", `'${port.name}' takes ${isArray(texture) ? "an array texture" : flat}`, {
        help: "give each as a WebGLTexture",
      });
    }
    forgetErrors(gl);
    const target = targetOf(gl, texture);
    for (const name of names) gl.bindTexture(target, name);
    gl.bindTexture(target, null);
    checkErrors(gl, `the texture of '${port.name}' is bound as ${texture.kind}`);
    return names;
  }
}
