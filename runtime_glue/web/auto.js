// One import for both kinds of browsers: WebGPU where the browser and the build have it, else WebGL 2.
//
//     import { open } from "shadergen-web/auto";
//     const runner = await open("builds/espcn");
//     runner.run(video);
//     runner.draw(canvas);
//
// Only the modules of the runtime that is chosen are fetched. What both runners have in common is theirs
// to use: run(), draw(canvas), upload(), timings(), close(), and with await read() and resize().

/**
 * Fetch a build, and return an initialised runner of it, at `sizes` if its sizes are dynamic.
 *
 * `options` are those of load(). WebGL 2 is chosen where WebGPU would be computed by software, unless
 * only WebGPU can run the build. `runner.device` is a GPUDevice on WebGPU; `runner.gl` a context on WebGL.
 */
export async function open(url, sizes, options = {}) {
  const adapter = await globalThis.navigator?.gpu?.requestAdapter();
  const gl = document.createElement("canvas").getContext("webgl2");
  const isSoftware = adapter?.info?.isFallbackAdapter ?? adapter?.isFallbackAdapter;
  const webgpu = adapter && (await import("./webgpu/index.js"));
  if (webgpu) {
    const device = await webgpu.requestDevice();
    const build = await webgpu.load(url, sizes, { ...options, device });
    const elsewhere = build.source.variant !== undefined || !build.requires.wgsl;
    if (build.requires.wgsl && !(isSoftware && gl && elsewhere)) {
      return initialised(new webgpu.Runner(build, device));
    }
    device.destroy();
  }
  const webgl = await import("./shadergen.js");
  return initialised(new webgl.Runner(await webgl.load(url, sizes, { ...options, gl }), gl));
}

async function initialised(runner) {
  await runner.init();
  return runner;
}
