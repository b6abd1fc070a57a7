// Run a build on WebGPU: create all objects once; a frame then only encodes and submits.

import { ShadergenError } from "../errors.js";
import { checkCanvas, decode, encode, formatOf, MAP_RANK, pictureFor, pictureOf, places, product } from "../pixels.js";
import { checkRequirements } from "./device.js";
import { Pictures } from "./pictures.js";
import { dimensionOf, Pipelines } from "./pipelines.js";
import { makeBuffer, makeSized, Objects } from "./resources.js";
import { fillTexture, nameOf, readTexture } from "./textures.js";
import { Timer } from "./timer.js";

const SCOPES = ["validation", "out-of-memory"];
const RESIZE = "give a texture of the build's size, or resize() a build compiled with --input-size dynamic";

/** Return the formats of what a draw writes. */
const formatsOf = (pass, textures) =>
  pass.vertex ? pass.writes.map(({ texture }) => textures.get(texture).format) : [];

/**
 * Runs one build on one GPUDevice, the page's own or that of requestDevice().
 *
 * Once the device is lost, methods throw SG0604 and `onlost` is called: give init() another device, then
 * bind and upload inputs again.
 */
export class Runner {
  #making = null; // what init() waits for
  #resizing = Promise.resolve();
  #made = null; // what init() makes: pipelines, buffers, pictures
  #sized = null; // what resize() makes anew: tensors, textures, passes
  #timer = null;
  #timed = false;
  #pictured = null; // the input that has the luma of the picture taken last
  #lost = null;

  constructor(build, device) {
    if (!device?.createCommandEncoder) {
      throw new ShadergenError("SG0601", "a runner needs a WebGPU device", {
        help: "pass it await requestDevice()",
      });
    }
    Object.assign(this, { build, device, onlost: null, onprogress: null });
  }

  // once

  /** Check the requirements, make all objects, compile all shaders; on another device, if one is given. */
  async init(device = this.device) {
    if (device !== this.device || this.#lost) this.close();
    this.device = device;
    this.#making ??= this.#make(device);
    const making = this.#making;
    try {
      await making;
    } catch (error) {
      if (this.#making === making) this.close();
      throw error instanceof ShadergenError ? error.at(this.build.url) : error;
    }
  }

  async #make(device) {
    const { build } = this;
    checkRequirements(device, build);
    const made = { pipelines: new Pipelines(device), buffers: new Map(), own: new Objects() };
    this.#made = made; // close() destroys what there is of it
    made.sampler = device.createSampler(); // nearest and clamped by default
    for (const buffer of build.buffers) made.buffers.set(buffer.name, made.own.add(makeBuffer(device, build, buffer)));
    if ([...build.inputs, ...build.outputs].some(({ shape }) => shape.length === MAP_RANK)) {
      made.pictures = made.own.add(new Pictures(device));
    }
    this.#sized = await this.#makeSized(build);
    device.lost.then((info) => {
      if (this.#made !== made) return;
      this.#lost = info;
      this.onlost?.(info);
    });
  }

  /** Change dynamic sizes; sizes not named stay. Bind and upload inputs again. */
  async resize(sizes) {
    const before = this.#resizing;
    this.#resizing = before.catch(() => {}).then(() => this.#resize(sizes));
    return this.#resizing;
  }

  async #resize(sizes) {
    const build = this.build.resized(sizes);
    if (build === this.build) return;
    if (this.#made) {
      this.#ready();
      checkRequirements(this.device, build);
      const sized = await this.#makeSized(build);
      this.#deleteSized();
      this.#sized = sized;
    }
    this.build = build;
  }

  /** Make what depends on sizes; SG0604 where WebGPU refuses it, SG0605 if the runner was closed. */
  async #makeSized(build) {
    const { device } = this;
    const made = this.#made;
    for (const kind of SCOPES) device.pushErrorScope(kind);
    const sized = makeSized(device, build);
    let compiled = 0;
    this.onprogress?.(compiled, build.passes.length);
    const count = (pipeline) => (this.onprogress?.(++compiled, build.passes.length), pipeline);
    const pipelines = Promise.all(build.passes.map((pass) => this.#pipelineOf(sized, pass).then(count)));
    const scopes = SCOPES.map(() => device.popErrorScope());
    const [pipeline, ...errors] = await Promise.allSettled([pipelines, ...scopes]);
    const said = errors.map(({ value }) => value?.message).find(Boolean);
    let error = pipeline.reason;
    if (said) error ??= new ShadergenError("SG0604", "WebGPU cannot make the build's objects", { why: said });
    if (made !== this.#made) error ??= new ShadergenError("SG0605", "the runner was closed");
    if (error) {
      sized.own.destroy();
      throw error;
    }
    sized.pipelines = pipeline.value;
    return sized;
  }

  async #pipelineOf({ build, tensors, textures }, pass) {
    const formats = formatsOf(pass, textures);
    return { formats: `${formats}`, ...(await this.#made.pipelines.of(build, tensors, pass, formats)) };
  }

  // textures in and out

  /** Read an input from the page's GPUTexture: of its width, height and layers. */
  bindInput(name, texture) {
    const [port, sized] = this.#port("input", name);
    this.#bind(port, sized, texture, GPUTextureUsage.TEXTURE_BINDING);
    if (this.#pictured === port.name) this.#pictured = null;
  }

  /** Write an output to the page's GPUTexture. A draw may write to other formats; await ready() then. */
  bindOutput(name, texture) {
    const [port, sized] = this.#port("output", name);
    this.#bind(port, sized, texture, GPUTextureUsage.RENDER_ATTACHMENT);
  }

  #bind(port, sized, texture, use) {
    const t = sized.tensors.get(port.texture);
    const wanted = `${t.width}x${t.height}x${t.layers}`;
    const found = texture && `${texture.width}x${texture.height}x${texture.depthOrArrayLayers}`;
    const stored = sized.build.passes.some((p) => !p.vertex && p.writes[0].texture === port.texture);
    if (stored) use = GPUTextureUsage.STORAGE_BINDING;
    let wrong = "";
    if (wanted !== found) wrong = `takes a GPUTexture of ${wanted}, not ${found}`;
    else if (texture.dimension !== "2d" || texture.sampleCount !== 1) {
      wrong = "takes a GPUTexture of dimension 2d with one sample";
    } else if (!(texture.usage & use)) {
      wrong = "takes a GPUTexture with usage TEXTURE_BINDING (inputs), RENDER_ATTACHMENT or STORAGE_BINDING (outputs)";
    } else if (!/float|unorm/.test(texture.format)) wrong = `takes floats, not ${texture.format}`;
    else if (stored && texture.format !== nameOf(t)) {
      wrong = `takes a GPUTexture of format ${nameOf(t)}, not ${texture.format}`;
    }
    const help = wanted !== found ? RESIZE : "";
    if (wrong) throw new ShadergenError("SG0605", `'${port.name}' ${wrong}`, { help });
    if (sized.textures.get(port.texture) === texture && sized.given.has(port.texture)) return;
    sized.textures.set(port.texture, texture);
    sized.given.add(port.texture);
    sized.filled.add(port.texture);
    sized.passes = null;
  }

  /** Wait for shaders that a bound output of another format needs. */
  async ready() {
    const sized = this.#ready();
    sized.pipelines = await Promise.all(sized.build.passes.map((pass) => this.#pipelineOf(sized, pass)));
    sized.passes = null;
  }

  /** Return the GPUTexture of an output; each of its layers is a plane. */
  outputTexture(name) {
    const [port, sized] = this.#port("output", name);
    return sized.textures.get(port.texture);
  }

  /**
   * Copy a typed array of the model's own shape, or a picture or video frame, to the runner's texture, and
   * read that. An input of encoding "unorm8" takes bytes from 0 to 255 or floats from 0 to 1.
   */
  upload(name, source) {
    const [port, sized] = this.#port("input", name);
    const texture = sized.tensors.get(port.texture);
    if (!ArrayBuffer.isView(source)) {
      const wanted = pictureFor(port, texture);
      const [low, high] = port.range ?? [0, 1];
      if (low > 0 || high < 1) {
        throw new ShadergenError("SG0605", `the input '${port.name}' takes ${low} to ${high}, a picture has 0 to 1`);
      }
      this.#made.pictures.take(source, wanted, this.#own(port, sized));
      this.#pictured = wanted.channels === 1 ? port.name : null;
      return;
    }
    const size = product(port.shape);
    if (source.length !== size) {
      const what = `the input '${port.name}' takes an array of ${port.shape.join("x")}, ${size} numbers`;
      throw new ShadergenError("SG0605", `${what}, not ${source.length ?? "bytes"}`);
    }
    let texels;
    try {
      texels = encode(source, port, texture, this.#places(port, sized));
    } catch (error) {
      throw error instanceof ShadergenError ? error.at(`input '${port.name}'`) : error;
    }
    fillTexture(this.device, texture, this.#own(port, sized), texels);
    if (this.#pictured === port.name) this.#pictured = null;
  }

  /** Return the runner's own texture of an input, which is read from now on. */
  #own(port, sized) {
    sized.filled.add(port.texture);
    if (sized.given.delete(port.texture)) {
      sized.textures.set(port.texture, sized.mine.get(port.texture));
      sized.passes = null;
    }
    return sized.textures.get(port.texture);
  }

  /** Return an output, by default the only one, as a typed array in the model's own order. */
  async read(name) {
    const [port, sized] = this.#port("output", name);
    const texture = sized.tensors.get(port.texture);
    const made = sized.textures.get(port.texture);
    if (made.format !== nameOf(texture) || !(made.usage & GPUTextureUsage.COPY_SRC)) {
      throw new ShadergenError("SG0605", `'${port.name}' cannot be read from the texture bound to it`, {
        supported: `format ${nameOf(texture)} with the usage COPY_SRC`,
      });
    }
    const texels = await this.#awaited(readTexture(this.device, texture, made));
    return decode(texels, port, this.#places(port, sized));
  }

  /** Resolve when the GPU has done what it was given. */
  wait() {
    return this.device.queue.onSubmittedWorkDone();
  }

  // every frame

  /**
   * Run a frame. With a source (a picture, video, canvas, ImageData, ImageBitmap, VideoFrame or GPUTexture)
   * the only input is taken from it. `timed` measures each pass, for timings(), where the device can.
   */
  run(source, { timed = false } = {}) {
    if (source !== undefined || arguments.length === 1) {
      const [port] = this.#port("input");
      if (source instanceof GPUTexture) this.bindInput(port.name, source);
      else this.upload(port.name, source);
    }
    const encoder = this.device.createCommandEncoder();
    this.encode(encoder, { timed });
    this.device.queue.submit([encoder.finish()]);
  }

  /** Record a frame into the page's GPUCommandEncoder; of several runners, each reads what those before wrote. */
  encode(encoder, { timed = false } = {}) {
    const sized = this.#ready();
    sized.passes ??= this.#record(sized);
    this.#timed = timed && this.device.features.has("timestamp-query");
    if (this.#timed) this.#timer ??= new Timer(this.device, sized.passes.length);
    sized.hasRun = true;
    sized.passes.forEach((record, i) => record(encoder, this.#timed ? this.#timer.of(i) : {}));
    if (this.#timed) this.#timer.resolve(encoder);
  }

  #record({ build, tensors, textures, filled, pipelines, offsets, numbers }) {
    const { device } = this;
    for (const { name, texture } of build.inputs) {
      if (filled.has(texture)) continue;
      throw new ShadergenError("SG0605", `the input '${name}' has no texture`, {
        help: "call bindInput() or upload() before run(), or give run() a picture",
      });
    }
    const { buffers } = this.#made;
    const layerOf = (name, layer) =>
      textures.get(name).createView({ dimension: "2d", baseArrayLayer: layer, arrayLayerCount: 1 });
    const viewOf = (name, layer = 0) => {
      const dimension = dimensionOf(tensors.get(name));
      return dimension === "2d" ? layerOf(name, layer) : textures.get(name).createView({ dimension });
    };
    return build.passes.map((pass, i) => {
      const { pipeline, group, formats } = pipelines[i];
      if (formats !== `${formatsOf(pass, textures)}`) {
        throw new ShadergenError("SG0605", "shaders for the format of a bound output are not compiled", {
          help: "await ready() after bindOutput()",
        });
      }
      const bound = [];
      if (offsets.has(pass)) {
        bound.push({ buffer: numbers, offset: offsets.get(pass), size: 4 * pass.uniforms.length });
      }
      for (const { texture, layer } of pass.reads) bound.push(viewOf(texture, layer));
      for (const { buffer } of pass.blocks) bound.push({ buffer: buffers.get(buffer) });
      const [{ texture, layer }] = pass.writes;
      if (!pass.vertex) bound.push(viewOf(texture, layer));
      bound.push(this.#made.sampler);
      const entries = bound.map((resource, binding) => ({ binding, resource }));
      const bindGroup = device.createBindGroup({ layout: group, entries });
      if (!pass.vertex) {
        return (encoder, times) => {
          const dispatch = encoder.beginComputePass(times);
          dispatch.setPipeline(pipeline);
          dispatch.setBindGroup(0, bindGroup);
          dispatch.dispatchWorkgroups(...pass.groups);
          dispatch.end();
        };
      }
      // What the viewport leaves out holds nothing, so that no old content need be loaded.
      const colorAttachments = pass.writes.map((write) => ({
        view: layerOf(write.texture, write.layer),
        loadOp: "clear",
        storeOp: "store",
      }));
      return (encoder, times) => {
        const draw = encoder.beginRenderPass({ colorAttachments, ...times });
        draw.setPipeline(pipeline);
        draw.setBindGroup(0, bindGroup);
        draw.setViewport(0, 0, ...pass.viewport, 0, 1);
        draw.draw(3);
        draw.end();
      };
    });
  }

  /** Draw an output that is a picture, by default the only one, to a canvas, which takes its size. */
  draw(canvas, name) {
    const [port, sized] = this.#port("output", name);
    const texture = sized.tensors.get(port.texture);
    const wanted = pictureOf(port, texture);
    checkCanvas(canvas, sized.hasRun);
    const view = sized.textures.get(port.texture).createView({ dimension: "2d", arrayLayerCount: 1 });
    this.#made.pictures.show(canvas, wanted, port.encoding, view, this.#pictured !== null);
  }

  /** Return the milliseconds of each pass in the last frame; none if it was not timed. */
  async timings() {
    this.#ready();
    return this.#timed ? this.#awaited(this.#timer.milliseconds()) : [];
  }

  // last

  /** Destroy all that the runner made; the page's textures stay. A second call does nothing. */
  close() {
    this.#deleteSized();
    this.#made?.own.destroy();
    this.#made = this.#making = this.#lost = this.#pictured = null;
    this.#timed = false;
  }

  #deleteSized() {
    this.#sized?.own.destroy();
    this.#timer?.destroy();
    this.#sized = this.#timer = null;
  }

  // helpers

  /** Wait for what the GPU does; SG0604 if the device is lost meanwhile. */
  async #awaited(work) {
    try {
      return await work;
    } catch (error) {
      this.#ready(); // says that the device is lost
      throw error;
    }
  }

  #ready() {
    if (this.#lost) {
      throw new ShadergenError("SG0604", "the WebGPU device was lost", {
        why: this.#lost.message,
        help: "await init(await requestDevice())",
      });
    }
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
  #places(port, { tensors, maps }) {
    if (!maps.has(port.texture)) {
      const texture = tensors.get(port.texture);
      const map = places(port, texture, formatOf(texture).components);
      maps.set(port.texture, map.every((place, i) => place === i) ? null : map);
    }
    return maps.get(port.texture);
  }
}
