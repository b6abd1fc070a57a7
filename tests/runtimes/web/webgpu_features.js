// What test_webgpu.py asks of runners on WebGPU, one exported function for each test.

import { load, requestDevice, Runner } from "/web/webgpu/index.js";
import { context, imageData, refusal, sources, transparentSources, warmedUp } from "/tests/features.js";

export { context, imageData, load, refusal, Runner, transparentSources, warmedUp };

/** Return what open() chooses for a build: its variant, what it runs on, and what it computes. */
export async function opened(name, values, options = {}) {
  const { open } = await import("/web/auto.js");
  const made = await open(name, {}, options);
  made.upload("x", Float32Array.from(values));
  made.run();
  const found = { variant: made.build.variant ?? "", webgpu: Boolean(made.device) };
  found.numbers = [...(await made.read())];
  made.close();
  return found;
}

/** Return what two networks make of numbers, the second opened where the first one runs. */
export async function openedTogether(name, values) {
  const { open } = await import("/web/auto.js");
  const first = await open(name);
  const { device, gl } = first;
  const second = await open(name, {}, { device, gl });
  first.upload("x", Float32Array.from(values));
  second.bindInput("x", first.outputTexture());
  const encoder = device.createCommandEncoder();
  first.encode(encoder);
  second.encode(encoder);
  device.queue.submit([encoder.finish()]);
  const numbers = [...(await second.read())];
  const shared = second.device === device;
  first.close();
  second.close();
  return { numbers, shared };
}

const said = [];

export async function device() {
  const made = await requestDevice();
  made.onuncapturederror = ({ error }) => said.push(error.message);
  return made;
}

export async function runner(name, on = undefined, sizes = undefined) {
  const made = new Runner(await load(name, sizes), on ?? (await device()));
  await made.init();
  return made;
}

/** Return what a runner reads, or throw what WebGPU had to say by then. */
async function result(made) {
  const numbers = [...(await made.read())];
  if (said.length) throw Error(said.splice(0).join("\n"));
  return numbers;
}

/** Return a frame of a video, with alpha ("RGBA") or without ("RGBX"). */
const frameOf = (bytes, width, height, format) =>
  new VideoFrame(Uint8Array.from(bytes), { format, codedWidth: width, codedHeight: height, timestamp: 0 });

/** Return what a network makes of a picture in each form, frames of a video among them. */
export async function runAll(name, bytes, width, height, forms = sources) {
  const made = await runner(name);
  const found = await forms(bytes, width, height);
  const frames = ["RGBA", "RGBX"].map((format) => frameOf(bytes, width, height, format));
  [found["VideoFrame with alpha"], found.VideoFrame] = frames;
  const results = {};
  for (const [kind, source] of Object.entries(found)) {
    made.run(source);
    results[kind] = await result(made);
  }
  for (const frame of frames) frame.close();
  made.close();
  return results;
}

/** Return what a network makes of a frame where the browser has no external textures. */
export async function copied(name, bytes, width, height) {
  const made = await runner(name);
  const frame = frameOf(bytes, width, height, "RGBX");
  const [method, Type] = [GPUDevice.prototype.importExternalTexture, GPUExternalTexture];
  delete GPUDevice.prototype.importExternalTexture;
  delete globalThis.GPUExternalTexture;
  try {
    made.run(frame);
    return await result(made);
  } finally {
    GPUDevice.prototype.importExternalTexture = method;
    globalThis.GPUExternalTexture = Type;
    frame.close();
    made.close();
  }
}

/**
 * Return the pixels that a network's result shows on a canvas, of a picture and of a video's frame.
 *
 * The canvas has the size that the page left it with, before each of both.
 */
export async function shown(name, bytes, width, height) {
  const made = await runner(name);
  const { canvas: source } = await sources(bytes, width, height);
  const frame = frameOf(bytes, width, height, "RGBX");
  const canvas = document.createElement("canvas");
  const copy = document.createElement("canvas");
  const context = copy.getContext("2d", { willReadFrequently: true });
  const pixels = {};
  for (const [kind, given] of Object.entries({ canvas: source, frame })) {
    Object.assign(canvas, { width: 3, height: 200 });
    made.run(given);
    made.draw(canvas);
    Object.assign(copy, { width: canvas.width, height: canvas.height });
    context.drawImage(canvas, 0, 0); // in the same task: a canvas is shown and emptied after it
    pixels[kind] = [...context.getImageData(0, 0, copy.width, copy.height).data];
  }
  const [{ name: input, dtype }] = made.build.inputs;
  const grey = dtype === "uint8" ? 127 : 0.5;
  made.upload(input, new Float32Array(width * height * channelsOf(made)).fill(grey));
  made.run();
  made.draw(canvas);
  context.drawImage(canvas, 0, 0);
  pixels.numbers = [...context.getImageData(0, 0, copy.width, copy.height).data];
  await result(made);
  frame.close();
  made.close();
  return pixels;
}

const channelsOf = ({ build }) => build.inputs[0].shape[1];

/** Return what two networks make of numbers in one encoder, and one after another. */
export async function chained(name, values) {
  const on = await device();
  const [first, second] = [await runner(name, on), await runner(name, on)];
  first.upload("x", Float32Array.from(values));
  second.bindInput("x", first.outputTexture());
  const encoder = on.createCommandEncoder();
  first.encode(encoder);
  second.encode(encoder);
  on.queue.submit([encoder.finish()]);
  const together = await result(second);
  const between = await result(first);
  second.upload("x", Float32Array.from(between));
  second.run();
  const apart = await result(second);
  first.close();
  second.close();
  return { together, between, apart };
}

/** Return what a network writes to a texture of the page's, of bytes. */
export async function bound(name, values, width, height) {
  const made = await runner(name);
  const { TEXTURE_BINDING, COPY_SRC, RENDER_ATTACHMENT } = GPUTextureUsage;
  const usage = TEXTURE_BINDING | COPY_SRC | RENDER_ATTACHMENT;
  const given = made.device.createTexture({ size: [width, height], format: "rgba16float", usage });
  made.upload("x", Float32Array.from(values));
  made.bindOutput("y", given);
  await made.ready();
  made.run();
  const same = made.outputTexture() === given;
  made.bindOutput("y", made.device.createTexture({ size: [width, height], format: "rgba32float", usage }));
  await made.ready();
  made.run();
  const numbers = await result(made);
  made.close();
  return { same, numbers };
}

/** Lose the device; return what is said then, and what a runner computes before and on another one. */
export async function lost(name, values) {
  const made = await runner(name);
  const feed = async () => {
    made.upload("x", Float32Array.from(values));
    made.run();
    return result(made);
  };
  const before = await feed();
  const told = new Promise((resolve) => (made.onlost = (info) => resolve(info.reason)));
  made.device.destroy();
  const reason = await told;
  const error = await refusal(() => made.run());
  await made.init(await device());
  const after = await feed();
  made.close();
  return { before, reason, error, after };
}

/** Return how many objects a number of frames makes, by the functions of the device that make them. */
export async function objectsOf(name, values, frames) {
  const made = await runner(name);
  made.upload("x", Float32Array.from(values));
  made.run();
  const counts = {};
  for (const kind of ["Texture", "Buffer", "BindGroup", "ShaderModule", "RenderPipeline", "ComputePipeline"]) {
    const real = made.device[`create${kind}`].bind(made.device);
    made.device[`create${kind}`] = (...rest) => {
      counts[kind] = (counts[kind] ?? 0) + 1;
      return real(...rest);
    };
  }
  for (let i = 0; i < frames; i++) made.run();
  const found = { ...counts };
  const numbers = await result(made);
  made.close();
  return { found, finite: numbers.every(Number.isFinite) };
}

let soaked = null;

/**
 * Run frames of a picture and of a video's frame, in turns, and draw them to a canvas that the page resizes.
 *
 * Return how many textures, buffers and query sets live, and how many pipelines and modules were made. The
 * runner is kept for the next call.
 */
export async function soak(name, bytes, width, height, frames) {
  soaked ??= await started(name, bytes, width, height);
  const { made, canvas, sources, live } = soaked;
  for (let i = 0; i < frames; i++) {
    made.run(sources[i % 2], { timed: i % 10 === 0 });
    if (i % 3 === 0) canvas.width = 1 + (i % 20);
    made.draw(canvas);
    if (i % 50 === 49) await made.device.queue.onSubmittedWorkDone();
  }
  const numbers = await result(made);
  return { live: { ...live }, numbers, lost: await isLost(made.device) };
}

const isLost = ({ lost }) =>
  Promise.race([lost.then(() => true), new Promise((resolve) => setTimeout(resolve, 0, false))]);

async function started(name, bytes, width, height) {
  const live = {};
  const on = await device();
  for (const kind of ["Texture", "Buffer", "QuerySet", "ShaderModule", "RenderPipeline"]) {
    live[kind] = 0;
    const real = on[`create${kind}`].bind(on);
    on[`create${kind}`] = (...rest) => {
      const object = real(...rest);
      live[kind] += 1;
      const destroy = object.destroy?.bind(object);
      object.destroy = () => {
        live[kind] -= 1;
        destroy();
      };
      return object;
    };
  }
  const made = await runner(name, on);
  const picture = imageData(bytes, width, height);
  const sources = [picture, frameOf(bytes, width, height, "RGBX")];
  return { made, canvas: document.createElement("canvas"), sources, live };
}

/** Return what two networks compute that run in turns, each on a device of its own, and after one was lost. */
export async function sideBySide(name, values) {
  const both = [await runner(name), await runner(name)];
  both[0].upload("x", Float32Array.from(values));
  both[1].upload("x", Float32Array.from(values, (v) => v / 2));
  for (let i = 0; i < 20; i++) both[i % 2].run();
  const found = await Promise.all(both.map(result));
  both[0].device.destroy();
  both[1].run();
  found.push(await result(both[1]));
  for (const made of both) made.close();
  return found;
}

/** Return how many textures live after a network took other sizes again and again, and its last result. */
export async function resizedOften(name, sizes, times) {
  const on = await device();
  let live = 0;
  const real = on.createTexture.bind(on);
  on.createTexture = (...rest) => {
    const object = real(...rest);
    live += 1;
    const destroy = object.destroy.bind(object);
    object.destroy = () => {
      live -= 1;
      destroy();
    };
    return object;
  };
  const made = await runner(name, on);
  const canvas = document.createElement("canvas");
  const counts = [];
  const shown = [];
  for (let i = 0; i < times; i++) {
    const { width, height } = sizes[i % sizes.length];
    await made.resize({ width, height });
    made.run(imageData(Array(4 * width * height).fill(128), width, height));
    made.draw(canvas);
    counts.push(live);
    shown.push(`${canvas.width}x${canvas.height}`);
  }
  const numbers = await result(made);
  made.close();
  return { first: counts[0], last: counts.at(-1), after: live, shown: shown.slice(-sizes.length), size: numbers.length };
}

/** Return a texture of the page's. */
export function texture(on, format, width, height, usage = GPUTextureUsage.RENDER_ATTACHMENT) {
  return on.createTexture({ size: [width, height], format, usage });
}

/** Return what several calls of init() at once, and close() during one, leave of a runner. */
export async function begun(name, values) {
  const on = await device();
  const made = new Runner(await load(name), on);
  await Promise.all([made.init(), made.init()]);
  made.upload("x", Float32Array.from(values));
  made.run();
  const numbers = await result(made);
  made.close();
  const ended = refusal(() => made.init());
  made.close();
  return { numbers, ended: (await ended)?.code, after: (await refusal(() => made.run())).what };
}

export async function timed(name, values) {
  const made = await runner(name);
  made.upload("x", Float32Array.from(values));
  made.run();
  const without = await made.timings();
  made.run(undefined, { timed: true });
  const times = await made.timings();
  made.close();
  return { without, times, passes: made.build.passes.length };
}
