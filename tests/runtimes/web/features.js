// What test_features.py asks of a runner, one exported function for each test.

import { Build, load, Runner, ShadergenError } from "/web/shadergen.js";

export { load, Runner };

export function context(width = 1, height = 1, options = {}) {
  return Object.assign(document.createElement("canvas"), { width, height }).getContext(
    "webgl2",
    options,
  );
}

export async function runner(name, gl = context(), sizes = undefined) {
  const made = new Runner(await load(name, sizes), gl);
  await made.init();
  return made;
}

/** Return { code, what } of what a function throws. */
export async function refusal(call) {
  try {
    await call();
    return null;
  } catch (error) {
    if (!(error instanceof ShadergenError)) throw error;
    return { code: error.code, what: error.what, message: error.message };
  }
}

export function imageData(bytes, width, height) {
  return new ImageData(Uint8ClampedArray.from(bytes), width, height);
}

/** Return a picture of RGBA bytes in each form that a page may have it in. */
export async function sources(bytes, width, height) {
  const data = imageData(bytes, width, height);
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d").putImageData(data, 0, 0);
  const image = new Image();
  image.src = canvas.toDataURL();
  await image.decode();
  return { ImageData: data, canvas, image, ImageBitmap: await createImageBitmap(data) };
}

/** Return a picture with transparency in each form, all of which upload its colours without alpha. */
export async function transparentSources(bytes, width, height) {
  const found = await sources(bytes, width, height);
  const { ImageData: data, canvas, image } = found;
  found["ImageBitmap as stored"] = await createImageBitmap(data, { premultiplyAlpha: "none" });
  found["ImageBitmap of a canvas"] = await createImageBitmap(canvas);
  found["ImageBitmap of an image"] = await createImageBitmap(image);
  const rows = Array.from({ length: height }, (_, y) => bytes.slice(4 * width * y, 4 * width * (y + 1)));
  const flipped = imageData(rows.reverse().flat(), width, height);
  for (const premultiplyAlpha of ["default", "none"]) {
    const options = { imageOrientation: "flipY", premultiplyAlpha };
    found[`ImageBitmap flipped, ${premultiplyAlpha}`] = await createImageBitmap(flipped, options);
  }
  found.OffscreenCanvas = new OffscreenCanvas(width, height);
  found.OffscreenCanvas.getContext("2d").putImageData(data, 0, 0);
  const frame = { format: "RGBA", codedWidth: width, codedHeight: height, timestamp: 0 };
  found["VideoFrame with alpha"] = new VideoFrame(Uint8Array.from(bytes), frame);
  for (const premultipliedAlpha of [true, false]) {
    const gl = context(width, height, { premultipliedAlpha, preserveDrawingBuffer: true });
    gl.enable(gl.SCISSOR_TEST);
    for (let i = 0; i < width * height; i++) {
      const [r, g, b, a] = bytes.slice(4 * i, 4 * i + 4).map((byte) => byte / 255);
      const by = premultipliedAlpha ? a : 1;
      gl.scissor(i % width, height - 1 - Math.floor(i / width), 1, 1);
      gl.clearColor(r * by, g * by, b * by, a);
      gl.clear(gl.COLOR_BUFFER_BIT);
    }
    found[`WebGL canvas, ${premultipliedAlpha}`] = gl.canvas;
  }
  return found;
}

/** Return what a network makes of a picture in each form. */
export async function runAll(name, bytes, width, height, forms = sources) {
  const made = await runner(name);
  const results = {};
  for (const [kind, source] of Object.entries(await forms(bytes, width, height))) {
    made.run(source);
    made.check();
    results[kind] = [...made.read()];
  }
  made.close();
  return results;
}

/** Return what runners compute after warmUp(): of its blank frame, and of a picture. */
export async function warmedUp(made, bytes, width, height) {
  const { warmUp } = await import("/web/warm_up.js");
  await warmUp(made);
  const [{ name }] = made.build.outputs;
  const blank = [...(await made.read(name))];
  for (const port of made.build.inputs) made.upload(port.name, imageData(bytes, width, height));
  made.run();
  const shown = [...(await made.read(name))];
  made.close();
  return { blank, shown };
}

/** Return the pixels that a network's result shows on a 2D canvas and on the context's own. */
/** Return how often wait() asked a fence that was not yet signalled, and what it says of a stale one. */
export async function waited(name) {
  const made = await runner(name);
  const { gl } = made;
  const ask = gl.getSyncParameter.bind(gl);
  let asked = 0;
  made.run(new ImageData(made.build.inputs[0].shape.at(-1), made.build.inputs[0].shape.at(-2)));
  gl.getSyncParameter = (...which) => (++asked < 4 ? gl.UNSIGNALED : ask(...which));
  await made.wait();
  const drawn = asked;
  gl.getSyncParameter = () => null; // of a fence from before a context was restored
  const stale = await refusal(() => made.wait());
  made.close();
  return { drawn, stale };
}

export async function shown(name, bytes, width, height) {
  const made = await runner(name);
  made.run(imageData(bytes, width, height));
  const canvas = document.createElement("canvas");
  made.draw(canvas);
  const pixels = (c) => [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data];
  const copied = pixels(canvas);
  made.draw();
  const own = document.createElement("canvas");
  Object.assign(own, { width: canvas.width, height: canvas.height });
  own.getContext("2d").drawImage(made.gl.canvas, 0, 0);
  const { width: columns, height: rows } = canvas;
  return { copied, own: pixels(own), columns, rows };
}

/** Return whether each way to give other numbers after a picture leaves none of its colours. */
export async function greyAgain(name, bytes, width, height) {
  const made = await runner(name);
  const canvas = document.createElement("canvas");
  const isGrey = () => {
    made.draw(canvas);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.every((v, i) => i % 4 === 3 || v === data[i - (i % 4)]);
  };
  const [port] = made.build.inputs;
  const numbers = new Float32Array(width * height).fill(0.5);
  const ways = {
    upload: () => made.upload(port.name, numbers),
    run: () => made.run(numbers),
    bindInput: () => made.bindInput(port.name, texture(made.gl, "RGBA32F", width, height)),
  };
  const found = {};
  for (const [way, give] of Object.entries(ways)) {
    made.run(imageData(bytes, width, height));
    const before = isGrey();
    give();
    made.run();
    found[way] = [before, isGrey()];
  }
  made.close();
  return found;
}

/** Return a texture of an application's: filtered linearly, of floats or bytes. */
export function texture(gl, format, width, height, data = null) {
  const made = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, made);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl[format], width, height);
  const type = format.endsWith("8") ? gl.UNSIGNED_BYTE : gl.FLOAT;
  if (data) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, gl.RGBA, type, data);
  gl.bindTexture(gl.TEXTURE_2D, null);
  return made;
}

/** Let a network read and write textures of the application's; return what it wrote. */
export async function zeroCopy(name, values, width, height) {
  const made = await runner(name);
  const { gl } = made;
  const given = texture(gl, "RGBA32F", width, height, Float32Array.from(values));
  const taken = texture(gl, "RGBA32F", width, height);
  const before = made.outputTexture();
  made.bindOutput(made.build.outputs[0].name, taken);
  made.run(given);
  const result = [...made.read()];
  made.close();
  return {
    result,
    bound: before !== taken && gl.isTexture(taken) && gl.isTexture(given),
    error: gl.getError(),
  };
}

/** Lose and restore the context; return what is refused meanwhile and the results around it. */
export async function lose(name, bytes, width, height) {
  const made = await runner(name);
  const { gl } = made;
  const picture = imageData(bytes, width, height);
  made.run(picture);
  const before = [...made.read()];
  const extension = gl.getExtension("WEBGL_lose_context");
  const restored = new Promise((resolve) => (made.onrestored = resolve));
  const lost = new Promise((resolve) => gl.canvas.addEventListener("webglcontextlost", resolve));
  extension.loseContext();
  await lost;
  const meanwhile = await refusal(() => made.run(picture));
  const init = await refusal(() => made.init());
  await new Promise((next) => setTimeout(next));
  extension.restoreContext();
  await restored;
  const empty = await refusal(() => made.run());
  made.run(picture);
  return { before, meanwhile, init, empty, after: [...made.read()] };
}

/** Count the calls of a context by name while something is done. */
export async function traced(gl, action) {
  const calls = {};
  for (let part = gl; part; part = Object.getPrototypeOf(part)) {
    for (const key of Object.getOwnPropertyNames(part)) {
      const value = Object.getOwnPropertyDescriptor(part, key).value;
      if (typeof value !== "function" || Object.hasOwn(gl, key)) continue;
      gl[key] = (...rest) => {
        calls[key] = (calls[key] ?? 0) + 1;
        return value.apply(gl, rest);
      };
    }
  }
  await action();
  for (const key of Object.keys(gl)) if (typeof gl[key] === "function") delete gl[key];
  return calls;
}

/** Run a build of dynamic sizes at several, with uploads of 0, 1, 2...; return what it reads. */
export async function resized(url, all) {
  const made = await runner(url);
  const found = [];
  for (const sizes of all) {
    const calls = await traced(made.gl, () => made.resize(sizes));
    const { shape } = made.build.inputs[0];
    const size = shape.reduce((a, b) => a * b, 1);
    made.upload("x", Float32Array.from({ length: size }, (_, i) => (i % 50) / 8));
    made.run();
    made.check();
    found.push({ calls, up: [...made.read("up")], half: [...made.read("half")] });
  }
  return found;
}

export { Build };
