// One import for both kinds of browsers: WebGPU where the browser and the build have it, else WebGL 2.
//
//     import { open } from "shadergen-web/auto";
//     const runner = await open("builds/espcn");
//     runner.run(video);
//     runner.draw(canvas);
//
// What both runners have in common is for pages to use: run(), draw(canvas), upload(), timings(), close(),
// and with await read() and resize(). To chain networks, open the second one where the first one runs:
//
//     const { device, gl } = first;
//     const second = await open("builds/denoise", {}, { device, gl });

/**
 * Fetch a build, and return an initialised runner of it, at `sizes` if its sizes are dynamic.
 *
 * `options` are those of load(). With the page's own GPUDevice as `device`, or its WebGL 2 context as `gl`,
 * the build runs there or is refused. Otherwise each call makes one. WebGL 2 comes first where WebGPU would be
 * computed by software. What the first cannot run, the other tries; the error is that of the last. If a
 * file of the first is missing or damaged, the console warns.
 * `onprogress(compiled, total)` is called as shaders get ready.
 * `runner.device` is the GPUDevice on WebGPU, `runner.gl` the context on WebGL 2.
 */
export async function open(url, sizes, options = {}) {
  if (options.device) return onWebGpu(url, sizes, options);
  if (options.gl) return onWebGl(url, sizes, options);
  const adapter = await globalThis.navigator?.gpu?.requestAdapter(PREFERENCE);
  const ways = adapter ? [onWebGpu, onWebGl] : [onWebGl];
  if (adapter?.info?.isFallbackAdapter) ways.reverse();
  for (const way of ways.slice(0, -1)) {
    try {
      return await way(url, sizes, options);
    } catch (error) {
      if (error.code === "SG0605") throw error; // a mistake of the caller
      // a missing feature is expected; anything else, such as a missing file, should be known
      if (error.code !== "SG0601" && error.code !== "SG0602") console.warn(error.message);
    }
  }
  return ways.at(-1)(url, sizes, options);
}

const PREFERENCE = { powerPreference: "high-performance" };

async function onWebGpu(url, sizes, options) {
  const { load, requestDevice, Runner } = await import("./webgpu/index.js");
  const device = options.device ?? (await requestDevice(PREFERENCE));
  try {
    const runner = new Runner(await load(url, sizes, { ...options, device }), device);
    runner.onprogress = options.onprogress;
    await runner.init();
    return runner;
  } catch (error) {
    if (device !== options.device) device.destroy();
    throw error;
  }
}

async function onWebGl(url, sizes, options) {
  const { load, Runner, ShadergenError } = await import("./shadergen.js");
  const { ACCELERATION, makeCanvas } = await import("./device.js");
  const gl = options.gl ?? makeCanvas().getContext("webgl2");
  if (!gl) throw new ShadergenError("SG0601", "this browser offers no WebGL 2", { help: ACCELERATION });
  const runner = new Runner(await load(url, sizes, { ...options, gl }), gl);
  runner.onprogress = options.onprogress;
  await runner.init();
  return runner;
}
