// The contenders of bench/web.py, on one page for each network. Each is {name, frame, resident}: a frame
// from numbers in memory to numbers in memory, and one from an input that stays on the GPU to an output
// there.

const SLICE = 1000; // milliseconds of frames in a turn: what disturbs short frames evens out

async function numbers(name) {
  return new Float32Array(await (await fetch(`/model/${name}.f32`)).arrayBuffer());
}

async function onWebGl() {
  const { load, Runner } = await import("/shadergen/shadergen.js");
  const gl = document.createElement("canvas").getContext("webgl2");
  const runner = new Runner(await load("/model/webgl"), gl);
  await runner.init();
  const [{ name }] = runner.build.inputs;
  const [output] = runner.build.outputs;
  const { kind } = runner.build.textures.find((texture) => texture.name === output.texture);
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
      const [target, point] = [gl.READ_FRAMEBUFFER, gl.COLOR_ATTACHMENT0];
      gl.bindFramebuffer(target, framebuffer);
      if (kind === "array") gl.framebufferTextureLayer(target, point, texture, 0, 0);
      else gl.framebufferTexture2D(target, point, gl.TEXTURE_2D, texture, 0);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.FLOAT, new Float32Array(4)); // waits
      gl.deleteFramebuffer(framebuffer);
    },
  };
}

async function onWebGpu() {
  const { load, requestDevice, Runner } = await import("/shadergen/webgpu/index.js");
  const device = await requestDevice();
  const runner = new Runner(await load("/model/webgpu"), device);
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
      await device.queue.onSubmittedWorkDone();
    },
  };
}

async function tensorflow({ layers, shape: [, , height, width] }, backend) {
  if (!layers.length) throw Error("it reads no ONNX");
  await import("/tfjs/tf.min.js");
  if (backend === "webgpu") await import("/tfjs-webgpu/tf-backend-webgpu.min.js");
  const { tf } = globalThis;
  if (!(await tf.setBackend(backend))) throw Error(`there is no backend ${backend}`);
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
      await tf.setBackend(backend);
      kept?.dispose();
      kept = tf.tensor4d(x, [1, height, width, 1]);
      const y = apply(kept);
      const result = await y.data();
      y.dispose();
      return result;
    },
    resident: async () => {
      await tf.setBackend(backend);
      const y = apply(kept);
      const one = tf.slice(y, [0, 0, 0, 0], [1, 1, 1, 1]);
      await one.data(); // waits
      tf.dispose([y, one]);
    },
  };
}

async function onnxruntime({ input, shape }, provider) {
  const ort = await import("/ort/ort.all.min.mjs");
  ort.env.wasm.wasmPaths = "/ort/";
  ort.env.logLevel = "fatal";
  const session = await ort.InferenceSession.create("/model/model.onnx", {
    executionProviders: [provider],
  });
  return {
    version: ort.env.versions.web,
    frame: async (x) => {
      const results = await session.run({ [input]: new ort.Tensor("float32", x, shape) });
      return results[session.outputNames[0]].data;
    },
  };
}

const CONTENDERS = {
  "shadergen, WebGL 2": onWebGl,
  "shadergen, WebGPU": onWebGpu,
  "TensorFlow.js, WebGL": (model) => tensorflow(model, "webgl"),
  "TensorFlow.js, WebGPU": (model) => tensorflow(model, "webgpu"),
  "onnxruntime-web, WASM": (model) => onnxruntime(model, "wasm"),
  "onnxruntime-web, WebGL": (model) => onnxruntime(model, "webgl"),
  "onnxruntime-web, WebGPU": (model) => onnxruntime(model, "webgpu"),
};

/** Return the bytes that the page has fetched so far. */
const fetched = () =>
  performance.getEntriesByType("resource").reduce((sum, entry) => sum + entry.encodedBodySize, 0);

/** Return the milliseconds until a contender's first result, and the bytes fetched by then. */
export async function start(name, model) {
  performance.setResourceTimingBufferSize(10000);
  const x = await numbers("x");
  const [begun, before] = [performance.now(), fetched()];
  await (await CONTENDERS[name](model)).frame(x);
  return { first: performance.now() - begun, bytes: fetched() - before };
}

/** Return the times of frames of each contender and how far it is from the first; those that fail, why. */
export async function compare(model, turns, against) {
  const x = await numbers("x");
  const results = {};
  const running = {};
  let reference = null;
  const isChosen = ([name]) =>
    !against.length || ["shadergen", ...against].some((word) => name.toLowerCase().includes(word));
  for (const [name, make] of Object.entries(CONTENDERS).filter(isChosen)) {
    try {
      const contender = await make(model);
      const y = await contender.frame(x);
      reference ??= y;
      const error = y.reduce((worst, v, i) => Math.max(worst, Math.abs(v - reference[i])), 0);
      running[name] = contender;
      results[name] = { version: contender.version, error, frame: [], resident: [] };
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
