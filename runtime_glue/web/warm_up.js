// Draw a frame ahead of time: drivers finish compiling when they draw, after init() has linked all programs.
//
//     await runner.init();
//     await warmUp(runner);

import { pictureFor, product } from "./pixels.js";

/**
 * Draw a frame of zeros on WebGL 2 or WebGPU; resolve when the GPU has drawn it. The page goes on meanwhile.
 *
 * Call it before you bind inputs or outputs: inputs read zeros from then on, until they are given something.
 */
export async function warmUp(runner) {
  const { build } = runner;
  for (const port of build.inputs) {
    runner.upload(port.name, blank(port, build.textures.find(({ name }) => name === port.texture)));
  }
  runner.run();
  await runner.wait();
  runner.check?.(); // of WebGL; WebGPU reports errors by itself
}

/** Return a black picture for an input that takes one, otherwise an array: of zeros, if its range has them. */
function blank(port, texture) {
  const [low, high] = port.range ?? [0, 0];
  const value = Math.min(Math.max(0, low), high);
  try {
    const { width, height } = pictureFor(port, texture);
    if (!value) return new ImageData(width, height);
  } catch {
    // Its input takes numbers.
  }
  return new Float32Array(product(port.shape)).fill(value);
}
