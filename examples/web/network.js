// What pages do with a runner of either kind: on WebGPU it has a `device`, on WebGL 2 a context `gl`.

import { sizeOf } from "./source.js";

const LARGEST_SIDE = 1280; // of a source, for networks with dynamic sizes

export const apiOf = (runner) => (runner.device ? "WebGPU" : "WebGL 2");

/** Return what computes, in its own words: a GPU, or what stands in for one where there is none. */
export function rendererOf({ device, gl }) {
  if (device) {
    const { description, vendor, architecture } = device.adapterInfo ?? {};
    return description || [vendor, architecture].filter(Boolean).join(" ") || "this device";
  }
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  return gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
}

/** Return the width and height of a port whose logical tensor is N, C, H, W. */
export function picture({ shape, axes }) {
  if (shape.length !== 4) throw Error(`a shape of ${shape.join("x")} is not a picture`);
  return [3, 2].map((axis) => shape[axes.indexOf(axis)]);
}

/** Resize a network with dynamic sizes to a source's size, if it supports this size. */
export async function fit(runner, source) {
  const [width, height] = sizeOf(source);
  const parameters = runner.build.sizes?.parameters ?? [];
  const most = (name) => parameters.find((p) => p.name === name)?.max ?? 0;
  const largest = [most("width") / width, most("height") / height];
  if (!Math.min(...largest)) return;
  const scale = Math.min(1, LARGEST_SIDE / Math.max(width, height), ...largest);
  try {
    await runner.resize({ height: Math.floor(height * scale), width: Math.floor(width * scale) });
  } catch (error) {
    if (error.code !== "SG0605") throw error; // it stays at the size it has
  }
}

/** Run one frame, show it on a canvas and wait for it; return its milliseconds. */
export async function frame(runner, input, canvas) {
  const { device, gl } = runner;
  const start = performance.now();
  runner.run(input);
  runner.draw(canvas);
  if (device) await device.queue.onSubmittedWorkDone();
  else gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits for the GPU
  return performance.now() - start;
}

/** Free a runner, and the device or context that open() made for it. */
export function release(runner) {
  runner?.close();
  runner?.device?.destroy();
  runner?.gl?.getExtension("WEBGL_lose_context")?.loseContext();
}

/** Return a number of multiply-adds as people read it. */
export function amount({ passes }) {
  const number = passes.reduce((sum, pass) => sum + pass.macs, 0);
  if (!number) return "none";
  const [value, unit] = number >= 1e9 ? [number / 1e9, " G"] : [number / 1e6, " M"];
  return value.toPrecision(3) + unit;
}
