// Plays builds with the inputs beside them, for test_builds.py.

import * as webgl from "/web/shadergen.js";
import * as webgpu from "/web/webgpu/index.js";

const { load, Runner } = webgl;

const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, bool: Uint8Array };

export async function numbers(url) {
  return new Float32Array(await (await fetch(url)).arrayBuffer());
}

export function context() {
  return document.createElement("canvas").getContext("webgl2");
}

/** Return the largest error of each output of a case, relative to what it may be. */
export async function play(gl, folder, { load, Runner } = webgl) {
  const wanted = await (await fetch(`${folder}/case.json`)).json();
  const build = await load(`${folder}/build`);
  const runner = new Runner(build, gl);
  try {
    await runner.init();
    await runner.resize(wanted.sizes); // of none in builds of fixed sizes
    for (const { name, dtype, shape } of runner.build.inputs) {
      if (`${shape}` !== `${wanted.inputs[name]}`) throw Error(`${name} is ${shape}`);
      const given = await numbers(`${folder}/inputs/${name}.f32`);
      const big = dtype === "int64";
      runner.upload(name, big ? BigInt64Array.from(given, BigInt) : ARRAYS[dtype].from(given));
    }
    runner.run();
    runner.check?.();
    const errors = {};
    for (const { name, dtype } of runner.build.outputs) {
      const expected = await numbers(`${folder}/expected/${name}.f32`);
      const found = await runner.read(name);
      if (!(found instanceof ARRAYS[dtype])) throw Error(`${name} is no ${dtype}`);
      if (found.length !== expected.length) throw Error(`${name} has ${found.length} numbers`);
      let [worst, largest] = [0, 1];
      expected.forEach((value, i) => {
        const error = Math.abs(Number(found[i]) - value);
        worst = error <= worst ? worst : error; // NaN stays
        largest = Math.max(largest, Math.abs(value));
      });
      errors[name] = worst / (wanted.tolerance * largest);
    }
    return errors;
  } finally {
    runner.close();
  }
}

/** Play or refuse every case: { name: { errors } or { code, message } }. */
export async function playAll(names, onWebGpu = false) {
  const gl = onWebGpu ? await webgpu.requestDevice() : context();
  const said = [];
  gl.onuncapturederror = ({ error }) => said.push(error.message);
  const results = {};
  for (const name of names) {
    try {
      results[name] = { errors: await play(gl, `/builds/${name}`, onWebGpu ? webgpu : webgl) };
      if (said.length) throw Error(said.splice(0).join("\n"));
    } catch (error) {
      results[name] = { code: error.code ?? "", message: `${error.message}\n${error.stack}` };
    }
  }
  return results;
}
