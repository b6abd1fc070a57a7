// A network on a picture of any size, whatever its build runs on: WebGPU or WebGL 2.

import { open } from "./shadergen/auto.js";
import { classesOf, Greys, painted } from "./classes.js";
import { part, scaled, sizeOf } from "./decode.js";
import { bytesOf, describe, isTurned } from "./tensors.js";
import { amountText } from "./texts.js";
import { planAxis } from "./tiles.js";

const MOST_BYTES = 2 ** 29; // of a frame's textures; what needs more is run by tiles, if it can be
const TILE = 768; // of a build of dynamic sizes, for each side
const MULTIPLES = [1, 2, 4, 8, 16, 32, 64]; // of sizes, which networks with strides need

/** One opened build, and what it needs to know of pictures. */
export class Network {
  #plans = new Map(); // by size
  #canvas = null; // that WebGPU draws tiles to

  /**
   * Open a network of networks.json. `report(text, part)` is told what takes time, and how much of it is
   * done, from 0 to 1. `options` are those of open() of the runtime.
   */
  static async open({ url, kind }, report = () => {}, options = {}) {
    let [asked, here] = [0, 0];
    const fetched = async (file) => {
      report(`Loading ${here} of ${++asked} files`, here / asked);
      const response = await fetch(file);
      report(`Loading ${++here} of ${asked} files`, here / asked);
      return response;
    };
    const onprogress = (done, all) => report(`Compiling shaders: ${done} of ${all}`, done / all);
    const runner = await open(url, {}, { fetch: fetched, onprogress, ...options });
    return new Network(runner, kind);
  }

  /** `kind` is what the network makes of a picture: "picture", "map", "classes" or "scores". */
  constructor(runner, kind) {
    Object.assign(this, { runner, kind });
  }

  get api() {
    return this.runner.device ? "WebGPU" : "WebGL 2";
  }

  get build() {
    return this.runner.build;
  }

  get input() {
    return describe(this.build.inputs[0]);
  }

  get output() {
    return describe(this.build.outputs[0]);
  }

  /** The name of the GPU or of the software renderer, as the driver gives it. */
  get renderer() {
    const { device, gl } = this.runner;
    if (device) {
      const { description, vendor, architecture } = device.adapterInfo ?? {};
      return description || [vendor, architecture].filter(Boolean).join(" ") || "this device";
    }
    const info = gl.getExtension("WEBGL_debug_renderer_info");
    return gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  }

  /** The multiply-adds of a picture, all tiles together, as people read them. */
  amount({ columns, rows }) {
    const ofTile = this.build.passes.reduce((sum, pass) => sum + pass.macs, 0);
    return amountText(ofTile * columns.length * rows.length);
  }

  /**
   * Return how a picture of a size is run, and get ready for it: { columns, rows, frame, size, result, note }.
   *
   * `columns` and `rows` are tiles, `frame` the size of one, `size` that of the picture as it is run,
   * `result` that of the result. `note` says what a person should know. Throws where the result
   * would be less than what was given.
   */
  async plan(width, height) {
    const key = `${width} ${height}`;
    if (!this.#plans.has(key)) {
      if (this.#plans.size > 8) this.#plans.clear();
      this.#plans.set(key, await this.#plan(width, height));
    }
    const plan = this.#plans.get(key);
    const [w, h] = plan.frame;
    await this.runner.resize(this.#sizes({ width: w, height: h }));
    return plan;
  }

  async #plan(width, height) {
    await this.#fit(width, height);
    const { input, output } = this;
    const [source, target] = [this.build.inputs[0], this.build.outputs[0]];
    const field = target.receptive_field;
    if (isTurned(source, target)) {
      throw Error(
        `The output '${target.name}' has rows and columns exchanged, which this page cannot show.\n` +
          "Transpose the model's output, and compile the model again.",
      );
    }
    const axis = (length, name) => planAxis(length, input[name], output[name], field?.[name]);
    const [frame, given] = [input, output].map((port) => [port.width, port.height]);
    const size = [width, height];
    const [columns, rows] = [axis(width, "width"), axis(height, "height")];
    if (columns && rows) {
      const counts = [columns.tiles.length, rows.tiles.length];
      const notes = [];
      if (counts[0] * counts[1] > 1) notes.push(`${counts.join(" × ")} tiles of ${frame.join(" × ")}, which overlap`);
      if (columns.extended || rows.extended) {
        const to = [width + columns.extended, height + rows.extended];
        notes.push(
          `the picture is padded to ${to.join(" × ")} by repeating its edge; near the padding, the result may differ`,
        );
      }
      const note = notes.join("; ");
      return { columns: columns.tiles, rows: rows.tiles, frame, size, result: [columns.result, rows.result], note };
    }
    const because = field?.unbounded_by
      ? `layer ${field.unbounded_by} sees the whole picture`
      : field
        ? "each pixel of the result depends on more of the picture than the build takes"
        : "the build does not say what its results depend on: compile the model again";
    // The whole picture, at the build's size; but never less than what was given.
    if (given.some((side, i) => side > frame[i] && side < size[i])) {
      throw Error(
        `This picture has ${size.join(" × ")} pixels, more than the result of this build: the build takes ` +
          `${frame.join(" × ")} and gives ${given.join(" × ")}. The build cannot be run in tiles: ${because}.\n` +
          (this.build.sizes ? "Choose a smaller picture." : `Compile the model with --input-size ${height}x${width} or dynamic.`),
      );
    }
    const [one, other] = [axis(frame[0], "width"), axis(frame[1], "height")];
    const note = `the picture is scaled to ${frame.join(" × ")}: ${because}`;
    return { columns: one.tiles, rows: other.tiles, frame, size: frame, result: given, note };
  }

  /** Return the given height and width, without the sizes that the build fixes. */
  #sizes(all) {
    const names = (this.build.sizes?.parameters ?? []).map(({ name }) => name);
    return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
  }

  /** Give a build of dynamic sizes the size of a picture, or one for tiles, and as little more as it takes. */
  async #fit(width, height) {
    const { build, runner } = this;
    if (!build.sizes) return;
    const canTile = build.outputs[0].receptive_field && !build.outputs[0].receptive_field.unbounded_by;
    const whole = this.#accepted({ width, height });
    const isLarge = canTile && bytesOf(build.resized(whole)) > MOST_BYTES;
    await runner.resize(isLarge ? this.#accepted({ width: Math.min(TILE, width), height: Math.min(TILE, height) }) : whole);
  }

  /** Return the smallest sizes not below a width and height that the build takes, or its largest. */
  #accepted(wanted) {
    let refusal = null;
    for (const multiple of MULTIPLES) {
      const sizes = this.#sizes(wanted);
      for (const { name, min, max } of this.build.sizes.parameters) {
        const side = Math.ceil(Math.max(sizes[name], min) / multiple) * multiple;
        if (name in sizes) sizes[name] = Math.min(side, Math.floor(max / multiple) * multiple);
      }
      try {
        this.build.resized(sizes);
        return sizes;
      } catch (error) {
        if (error.code !== "SG0605") throw error;
        refusal ??= error;
      }
    }
    throw refusal;
  }

  /**
   * Run a picture as planned, draw the result to a canvas, which takes its size, and wait for it.
   *
   * `onTile(done, all)` is called after each tile; where it returns false, the rest is not run. `counts`
   * is a map that gets the pixels of each class. `onScaled(low, high)` is called with the numbers that are
   * black and white, if a map of one number is not within 0..1. Returns whether all was run.
   */
  async run(picture, plan, canvas, { onTile, counts, onScaled } = {}) {
    const { columns, rows, frame, result } = plan;
    const given = picture;
    if (`${sizeOf(picture)}` !== `${plan.size}`) picture = await scaled(picture, plan.size);
    if (`${[canvas.width, canvas.height]}` !== `${result}`) {
      [canvas.width, canvas.height] = result;
      checkRoom(canvas);
    }
    const context = canvas.getContext("2d");
    const greys = this.kind === "map" ? new Greys(...result) : null;
    const all = rows.length * columns.length;
    let done = 0;
    for (const row of rows) {
      for (const column of columns) {
        this.runner.run(await part(picture, column.at, row.at, ...frame));
        await this.#show(context, column, row, { counts, greys });
        if (onTile || all > 1) await this.wait();
        if (all > 1) await nextTask(); // the page stays usable
        if ((await onTile?.(++done, all)) === false) return false;
      }
    }
    if (greys?.isScaled) {
      context.putImageData(greys.scaled(), 0, 0);
      onScaled?.(greys.low, greys.high);
    }
    if (this.kind === "picture" && this.output.channels < 4) keepAlpha(context, given, result);
    await this.wait();
    return true;
  }

  /** Draw the part of a tile's result that is used. */
  async #show(context, column, row, { counts, greys }) {
    const { runner, output, kind } = this;
    const [x, y] = [column, row].map(({ from, to, inside }) => ({ inside, start: from, size: to - from }));
    if (greys) {
      const image = greys.add(await runner.read(), this.build.outputs[0], output, x, y);
      context.putImageData(image, x.start - x.inside, y.start - y.inside, x.inside, y.inside, x.size, y.size);
      return;
    }
    if (kind !== "picture") {
      const classes = classesOf(await runner.read(), this.build.outputs[0], output, kind);
      const image = painted(classes, output.width, output.height);
      context.putImageData(image, x.start - x.inside, y.start - y.inside, x.inside, y.inside, x.size, y.size);
      for (let j = y.inside; counts && j < y.inside + y.size; j++) {
        for (let i = x.inside; i < x.inside + x.size; i++) {
          const number = classes[j * output.width + i];
          counts.set(number, (counts.get(number) ?? 0) + 1);
        }
      }
      return;
    }
    if (runner.device) this.#canvas ??= document.createElement("canvas");
    const drawn = runner.gl?.canvas ?? this.#canvas;
    if (drawn.width !== output.width || drawn.height !== output.height) {
      Object.assign(drawn, { width: output.width, height: output.height });
    }
    runner.draw(drawn);
    context.clearRect(x.start, y.start, x.size, y.size);
    context.drawImage(drawn, x.inside, y.inside, x.size, y.size, x.start, y.start, x.size, y.size);
  }

  /** Wait until the GPU has done what it was given. */
  async wait() {
    const { device, gl } = this.runner;
    if (device) await device.queue.onSubmittedWorkDone();
    else gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** Free the runner, and the device or context that open() made for it. */
  close() {
    const { runner } = this;
    runner.close();
    runner.device?.destroy();
    runner.gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

/** Let the page handle its events and draw; unlike a timer, not slower in a tab that is not shown. */
function nextTask() {
  return new Promise((go) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (port1.close(), go());
    port2.postMessage(null);
  });
}

/** Refuse a canvas that the browser has no room for; it would stay empty, without a word. */
function checkRoom(canvas) {
  const context = canvas.getContext("2d");
  context?.fillRect(canvas.width - 1, canvas.height - 1, 1, 1);
  const probe = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  probe.drawImage(canvas, 1 - canvas.width, 1 - canvas.height);
  if (probe.getImageData(0, 0, 1, 1).data[3]) return;
  const size = `${canvas.width} × ${canvas.height}`;
  [canvas.width, canvas.height] = [1, 1];
  throw Error(`The result has ${size} pixels, more than this browser can show. Choose a smaller picture.`);
}

/** Give a result without alpha that of the picture. */
function keepAlpha(context, picture, [width, height]) {
  if (!(picture instanceof ImageBitmap)) return; // videos and webcams have none
  context.globalCompositeOperation = "destination-in";
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, width, height);
  context.globalCompositeOperation = "source-over";
}
