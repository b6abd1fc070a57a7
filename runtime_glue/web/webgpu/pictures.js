// Pictures as network inputs and outputs on WebGPU; what a picture means is as in ../pictures.js.

import { checkPicture, contextOf, LUMA } from "../pixels.js";

const TRIANGLE = `
@vertex
fn cover(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
  return vec4f(select(-1.0, 3.0, i == 1u), select(-1.0, 3.0, i == 2u), 0.0, 1.0);
}
fn luma(c: vec3f) -> f32 { return dot(c, vec3f(${LUMA})); }
`;
// Of a video, the frame itself is read, and kept for its chroma while it is there.
const take = (channels, isVideo, white) => `${TRIANGLE}
@group(0) @binding(0) var picture: ${isVideo ? "texture_external" : "texture_2d<f32>"};
struct Taken { @location(0) numbers: vec4f, ${isVideo ? "@location(1) picture: vec4f" : ""} }
@fragment
fn main(@builtin(position) at: vec4f) -> Taken {
  let c = textureLoad(picture, vec2u(at.xy)${isVideo ? "" : ", 0"});
  let numbers = ${channels === 1 ? "vec4f(luma(c.rgb), 0, 0, 0)" : channels === 4 ? "c" : "vec4f(c.rgb, 0)"};
  return Taken(${white > 1 ? `floor(numbers * ${white} + 0.5)` : "numbers"}${isVideo ? ", c" : ""});
}`;
const show = `${TRIANGLE}
struct Frame { green: f32, channels: i32, white: f32 }
@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var picture: texture_2d<f32>;
@group(0) @binding(2) var result: texture_2d<f32>;
fn cubic(t: f32) -> vec4f {
  let x = abs(vec4f(t + 1.0, t, 1.0 - t, 2.0 - t));
  let inner = (1.5 * x - 2.5) * x * x + 1.0;
  let outer = ((2.5 - 0.5 * x) * x - 4.0) * x + 2.0;
  return mix(inner, outer, step(vec4f(1.0), x));
}
fn resized(at: vec2f) -> vec3f {
  let size = vec2i(textureDimensions(picture));
  let p = at * vec2f(size) - 0.5;
  let wx = cubic(fract(p.x));
  let wy = cubic(fract(p.y));
  var sum = vec4f(0.0);
  for (var j = 0; j < 4; j++) {
    var row = vec4f(0.0);
    let y = i32(floor(p.y)) + j - 1;
    for (var i = 0; i < 4; i++) {
      let x = i32(floor(p.x)) + i - 1;
      if (x >= 0 && x < size.x) { row += vec4f(textureLoad(picture, vec2i(x, clamp(y, 0, size.y - 1)), 0).rgb, 1.0) * wx[i]; }
    }
    if (y >= 0 && y < size.y) { sum += vec4f(clamp(row.rgb / row.a, vec3f(0.0), vec3f(1.0)), 1.0) * wy[j]; }
  }
  return clamp(sum.rgb / sum.a, vec3f(0.0), vec3f(1.0));
}
@fragment
fn main(@builtin(position) position: vec4f) -> @location(0) vec4f {
  let y = textureLoad(result, vec2u(position.xy), 0) / frame.white;
  if (frame.channels >= 3) {
    return vec4f(y.rgb, 1.0) * select(1.0, clamp(y.a, 0.0, 1.0), frame.channels == 4);
  }
  var base = vec3f(0.0);
  if (frame.channels == 1) { base = resized(position.xy / vec2f(textureDimensions(result))); }
  return vec4f(base - luma(base) + y.r + frame.green * y.g, 1.0);
}`;
const FORMAT = "rgba8unorm"; // of the picture taken
// Chromium multiplies colours of external textures by alpha, so that frames with alpha ("RGBA") are copied.
const isVideo = (source) =>
  (globalThis.HTMLVideoElement && source instanceof HTMLVideoElement) ||
  (globalThis.VideoFrame && source instanceof VideoFrame && !/A/.test(source.format));

/** Takes pictures in and shows results, by shaders of its own. */
export class Pictures {
  #pipelines = new Map();
  #picture = null;
  #empty = null;

  constructor(device) {
    this.device = device;
    const { UNIFORM, COPY_DST } = GPUBufferUsage;
    this.frame = device.createBuffer({ size: 12, usage: UNIFORM | COPY_DST });
  }

  /** Write a picture's numbers to the texture of an input, its size being as wanted. */
  take(source, wanted, texture) {
    const { device } = this;
    const { channels, width, height, white } = wanted;
    checkPicture(source, wanted);
    if (this.#picture?.width !== width || this.#picture.height !== height) {
      this.#picture?.destroy();
      const { TEXTURE_BINDING, COPY_DST, RENDER_ATTACHMENT } = GPUTextureUsage;
      const usage = TEXTURE_BINDING | COPY_DST | RENDER_ATTACHMENT;
      this.#picture = device.createTexture({ size: [width, height], format: FORMAT, usage });
    }
    // A frame of a video is read where it is; anything else is copied first.
    const video = isVideo(source) && "importExternalTexture" in device; // Firefox had none at first
    const to = { texture: this.#picture };
    if (!video) device.queue.copyExternalImageToTexture({ source }, to, [width, height]);
    const from = video ? device.importExternalTexture({ source }) : this.#picture.createView();
    const targets = [texture.createView({ dimension: "2d", arrayLayerCount: 1 })];
    if (video) targets.push(this.#picture.createView());
    const formats = [texture.format, FORMAT].slice(0, targets.length);
    this.#draw(`take ${[channels, video, white]}`, take(channels, video, white), formats, [from], targets);
  }

  /** Draw a picture in an output to a canvas, which takes its size; luma with the chroma of the picture taken. */
  show(canvas, { channels, width, height, white }, encoding, view, isPictured) {
    const { device } = this;
    const context = contextOf(canvas, "webgpu");
    if (context.getConfiguration?.()?.device !== device) {
      const format = navigator.gpu.getPreferredCanvasFormat();
      context.configure({ device, format, alphaMode: "premultiplied" });
    }
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const target = context.getCurrentTexture();
    const green = { y2rg: 1, y2rg_half: -1 }[encoding] ?? 0;
    const numbers = new DataView(new ArrayBuffer(12));
    numbers.setFloat32(0, green, true);
    numbers.setInt32(4, channels === 1 && !isPictured ? 0 : channels, true);
    numbers.setFloat32(8, white, true);
    device.queue.writeBuffer(this.frame, 0, numbers.buffer);
    const picture = isPictured ? this.#picture : this.#blank();
    const bound = [{ buffer: this.frame }, picture.createView(), view];
    this.#draw("show", show, [target.format], bound, [target.createView()]);
  }

  #blank() {
    const usage = GPUTextureUsage.TEXTURE_BINDING;
    this.#empty ??= this.device.createTexture({ size: [1, 1], format: FORMAT, usage });
    return this.#empty;
  }

  #draw(name, code, formats, bound, targets) {
    const { device } = this;
    const pipeline = this.#pipeline(name, code, formats, bound);
    const entries = bound.map((resource, binding) => ({ binding, resource }));
    const encoder = device.createCommandEncoder();
    const draw = encoder.beginRenderPass({
      colorAttachments: targets.map((view) => ({ view, loadOp: "clear", storeOp: "store" })),
    });
    draw.setPipeline(pipeline);
    draw.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    draw.draw(3);
    draw.end();
    device.queue.submit([encoder.finish()]);
  }

  #pipeline(name, code, formats, bound) {
    const key = `${name} ${formats}`;
    if (!this.#pipelines.has(key)) {
      const { device } = this;
      const module = device.createShaderModule({ code });
      // Results are 32-bit floats, which no device need filter.
      const texture = { sampleType: "unfilterable-float" };
      const entries = bound.map((resource, binding) => ({
        binding,
        visibility: GPUShaderStage.FRAGMENT,
        ...(resource.buffer ? { buffer: {} } : resource instanceof GPUTextureView ? { texture } : { externalTexture: {} }),
      }));
      const layout = device.createPipelineLayout({
        bindGroupLayouts: [device.createBindGroupLayout({ entries })],
      });
      const fragment = { module, targets: formats.map((format) => ({ format })) };
      const pipeline = device.createRenderPipeline({ layout, vertex: { module }, fragment });
      this.#pipelines.set(key, pipeline);
    }
    return this.#pipelines.get(key);
  }

  destroy() {
    for (const object of [this.#picture, this.#empty, this.frame]) object?.destroy();
  }
}
