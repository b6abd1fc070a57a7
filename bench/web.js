// The contenders of bench/web.py, on one page. Each is {name, frame, resident}: a frame from numbers
// in memory to numbers in memory, and one from an input that stays on the GPU to an output there.

import { load, Runner } from "/shadergen/shadergen.js";

const [HEIGHT, WIDTH] = [360, 640];
const SLICE = 1000; // milliseconds of frames in a turn: what disturbs short frames evens out

async function numbers(name) {
  return new Float32Array(await (await fetch(`/model/${name}.f32`)).arrayBuffer());
}

async function own(build) {
  const gl = document.createElement("canvas").getContext("webgl2");
  const runner = new Runner(await load(`/model/${build}`), gl);
  await runner.init();
  const [{ name }] = runner.build.inputs;
  return {
    frame: async (x) => {
      runner.upload(name, x);
      runner.run();
      return runner.read();
    },
    resident: async () => {
      runner.run();
      const texture = runner.outputTexture();
      const framebuffer = gl.createFramebuffer();
      gl.bindFramebuffer(gl.READ_FRAMEBUFFER, framebuffer);
      const point = gl.COLOR_ATTACHMENT0;
      gl.framebufferTexture2D(gl.READ_FRAMEBUFFER, point, gl.TEXTURE_2D, texture, 0);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.FLOAT, new Float32Array(4)); // waits
      gl.deleteFramebuffer(framebuffer);
    },
  };
}

async function tensorflow(layers) {
  await import("/tfjs/tf.min.js");
  const { tf } = globalThis;
  await tf.setBackend("webgl");
  const weights = [];
  for (const { kernel, bias, shape } of layers) {
    weights.push([tf.tensor4d(await numbers(kernel), shape), tf.tensor1d(await numbers(bias))]);
  }
  const last = weights.length - 1;
  const apply = (x) =>
    tf.tidy(() => {
      const y = weights.reduce((value, [kernel, bias], i) => {
        const sum = tf.add(tf.conv2d(value, kernel, 1, "same"), bias);
        return i < last ? tf.tanh(sum) : sum;
      }, x);
      return tf.depthToSpace(y, 2);
    });
  let kept = null;
  return {
    version: tf.version.tfjs,
    frame: async (x) => {
      kept?.dispose();
      kept = tf.tensor4d(x, [1, HEIGHT, WIDTH, 1]);
      const y = apply(kept);
      const result = await y.data();
      y.dispose();
      return result;
    },
    resident: async () => {
      const y = apply(kept);
      const one = tf.slice(y, [0, 0, 0, 0], [1, 1, 1, 1]);
      await one.data(); // waits
      tf.dispose([y, one]);
    },
  };
}

async function onnxruntime(provider) {
  const ort = await import("/ort/ort.all.min.mjs");
  ort.env.wasm.wasmPaths = "/ort/";
  ort.env.logLevel = "fatal";
  const session = await ort.InferenceSession.create("/model/model.onnx", {
    executionProviders: [provider],
  });
  return {
    version: ort.env.versions.web,
    frame: async (x) => {
      const feeds = { x: new ort.Tensor("float32", x, [1, 1, HEIGHT, WIDTH]) };
      return (await session.run(feeds)).y.data;
    },
  };
}

const CONTENDERS = {
  "shadergen": () => own("build"),
  "TensorFlow.js, WebGL": tensorflow,
  "onnxruntime-web, WASM": () => onnxruntime("wasm"),
  "onnxruntime-web, WebGL": () => onnxruntime("webgl"),
};

/** Return what each contender took and how far it is from the first; those that fail, why. */
export async function compare(layers, turns) {
  const x = await numbers("x");
  const results = {};
  const running = {};
  let reference = null;
  for (const [name, start] of Object.entries(CONTENDERS)) {
    try {
      const begun = performance.now();
      const contender = await start(layers);
      const y = await contender.frame(x);
      reference ??= y;
      const error = y.reduce((worst, v, i) => Math.max(worst, Math.abs(v - reference[i])), 0);
      const first = performance.now() - begun;
      running[name] = contender;
      results[name] = { version: contender.version, first, error, frame: [], resident: [] };
    } catch (error) {
      results[name] = { failed: `${error.message ?? error}` };
    }
  }
  for (let turn = 0; turn < turns; turn++) {
    for (const [name, contender] of Object.entries(running)) {
      await contender.frame(x); // it pays for what the contender before left behind
      for (const kind of ["frame", "resident"]) {
        if (!contender[kind]) continue;
        const begun = performance.now();
        let frames = 0;
        let took = 0;
        for (; took < SLICE; took = performance.now() - begun, frames++) await contender[kind](x);
        results[name][kind].push(took / frames);
      }
    }
  }
  return results;
}
