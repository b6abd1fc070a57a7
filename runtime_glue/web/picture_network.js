// A network on pictures of any size, on WebGPU or WebGL 2, on a page or in a worker.
//
//     import { PictureNetwork } from "shadergen-web/picture-network";
//     const network = await PictureNetwork.open("builds/espcn");
//     await network.run(photo, canvas, { onTile: (done, all) => (bar.value = done / all) });
//
// The network turns a picture into a picture. Other builds are for open() of auto.js.

import { open } from "./auto.js";
import { crop } from "./crops.js";
import { makeCanvas, nextTask } from "./device.js";
import { ShadergenError } from "./errors.js";
import { bytesOf, contextOf, mapOf, named, pictureFor, pictureOf, sizeOf, sizeText } from "./pixels.js";
import { planAxis } from "./tiles.js";

const MOST_BYTES = 2 ** 29; // of a build's textures; what needs more is run in tiles, if it can be
const TILE = 768; // of a build of dynamic sizes, for each side
const CHROMA = 2; // pixels around a pixel that resizing chroma reads
const MULTIPLES = [1, 2, 4, 8, 16, 32, 64]; // of sizes, which networks with strides need
const MOST_PLANS = 8;

/** One opened build, and how it runs pictures of each size. */
export class PictureNetwork {
  #plans = new Map(); // by size
  #canvas = null; // that WebGPU draws tiles to
  #running = Promise.resolve(); // the run before, for which the next one waits
  #isOwner = false; // of the device or the context

  /** Fetch a build and get ready to run it; `options` are those of open() of auto.js. */
  static async open(url, options = {}) {
    const network = new this(await open(url, {}, options));
    network.#isOwner = !(options.device ?? options.gl);
    try {
      network.check();
    } catch (error) {
      network.close();
      throw error;
    }
    return network;
  }

  /** `runner` is initialised; who made it closes it, or calls close(). */
  constructor(runner) {
    this.runner = runner;
  }

  get build() {
    return this.runner.build;
  }

  /** Refuse, with SG0605, a build that does not turn one picture into another. */
  check() {
    const { inputs, outputs, textures } = this.build;
    for (const [kind, ports, picture] of [["input", inputs, pictureFor], ["output", outputs, pictureOf]]) {
      if (ports.length !== 1) {
        const names = ports.map(({ name }) => name).join(", ");
        throw new ShadergenError("SG0605", `the build has ${ports.length} ${kind}s: ${names}`, {
          supported: "one input and one output, both pictures",
          help: "run the build with open() of auto.js",
        });
      }
      picture(ports[0], textures.find(({ name }) => name === ports[0].texture));
    }
  }

  /**
   * Return how a picture of a size is run: { columns, rows, frame, result, build, note }.
   *
   * `columns` and `rows` are tiles, `frame` the width and height of one, `result` those of the result.
   * `build` is the build at the size of a tile. `note` says what a person should know, or is empty. Throws
   * SG0605 where the network cannot run such a picture.
   */
  plan(width, height) {
    const key = `${width} ${height}`;
    if (!this.#plans.has(key)) {
      if (this.#plans.size >= MOST_PLANS) this.#plans.clear();
      this.#plans.set(key, this.#plan(width, height));
    }
    return this.#plans.get(key);
  }

  #plan(width, height) {
    const build = this.#fit(width, height);
    const [input, output] = [build.inputs[0], build.outputs[0]];
    if (isTurned(input, output)) {
      throw new ShadergenError("SG0605", `the output '${output.name}' has rows and columns exchanged`, {
        help: "transpose the model's output, and compile the model again",
      });
    }
    const [taken, given] = [mapOf(input), mapOf(output)];
    const field = output.receptive_field;
    const beside = taken.channels === 1 ? CHROMA : 0;
    const axis = (name, length) => planAxis(name, length, taken[name], given[name], field?.[name], beside);
    const [columns, rows] = [axis("width", width), axis("height", height)];
    if (!columns || !rows) return this.untiled(build, [width, height], whyUntiled(field));
    const frame = [taken.width, taken.height];
    const counts = [columns.tiles.length, rows.tiles.length];
    const notes = [];
    if (counts[0] * counts[1] > 1) notes.push(`${counts.join(" × ")} tiles of ${frame.join(" × ")}, which overlap`);
    if (columns.extended || rows.extended) {
      const to = [width + columns.extended, height + rows.extended];
      notes.push(
        `the picture is padded to ${to.join(" × ")} by repeating its edge; near the padding, the result may differ`,
      );
    }
    const result = [columns.result, rows.result];
    return { columns: columns.tiles, rows: rows.tiles, frame, result, build, note: notes.join("; ") };
  }

  /** Return the plan for a picture that the build cannot run in tiles; this class refuses such pictures. */
  untiled({ inputs, sizes }, [width, height], why) {
    const taken = mapOf(inputs[0]);
    const frame = sizeText(taken.width, taken.height);
    const other = sizes ? "" : `, or compile with --input-size ${height}x${width} (height x width) or dynamic`;
    throw new ShadergenError("SG0605", `the picture has ${sizeText(width, height)}; the build takes ${frame}`, {
      why: `the build cannot be run in tiles: ${why}`,
      help: `scale the picture to ${frame}${other}`,
    });
  }

  /** Return a build of dynamic sizes at the size of a picture, or of tiles, and as little more as it takes. */
  #fit(width, height) {
    const { build } = this;
    if (!build.sizes) return build;
    const field = build.outputs[0].receptive_field;
    const whole = this.#accepted({ width, height });
    if (!field || field.unbounded_by || textureBytes(whole) <= MOST_BYTES) return whole;
    return this.#accepted({ width: Math.min(TILE, width), height: Math.min(TILE, height) });
  }

  /** Return the build at the smallest sizes not below a width and height that it takes, or at its largest. */
  #accepted(wanted) {
    let refusal = null;
    for (const multiple of MULTIPLES) {
      const sizes = {};
      for (const { name, min, max } of this.build.sizes.parameters) {
        if (!(name in wanted)) continue;
        const side = Math.ceil(Math.max(wanted[name], min) / multiple) * multiple;
        sizes[name] = Math.min(side, Math.floor(max / multiple) * multiple);
      }
      try {
        return this.build.resized(sizes);
      } catch (error) {
        if (error.code !== "SG0605") throw error;
        refusal ??= error;
      }
    }
    throw refusal;
  }

  /**
   * Run a picture, draw the result to a canvas, which takes its size, and wait for it. A second call waits
   * for the first.
   *
   * `onTile(done, all)` is called after each tile, and the page goes on between tiles. Where onTile returns
   * false, or a promise of it, the rest is not run. When `signal` is aborted, the promise is rejected with
   * its reason. With `alpha` false, a result without alpha gets none of the picture's, which saves time.
   * Returns whether all was run.
   */
  run(picture, canvas, options = {}) {
    const next = this.#running.catch(() => {}).then(() => this.#run(picture, canvas, { ...options }));
    this.#running = next;
    return next;
  }

  async #run(picture, canvas, options) {
    options.signal?.throwIfAborted();
    const plan = this.plan(...sizeOf(picture));
    const moves = (picture.videoWidth || picture.getContext) && plan.rows.length * plan.columns.length > 1;
    if (!moves && picture !== canvas) return this.#runStill(picture, canvas, plan, options);
    // All tiles are of one frame, and the result may go to the picture's own canvas.
    const still = await createImageBitmap(picture, { premultiplyAlpha: "none" });
    try {
      return await this.#runStill(still, canvas, plan, { alpha: !picture.videoWidth, ...options });
    } finally {
      still.close();
    }
  }

  async #runStill(picture, canvas, plan, options) {
    const { onTile, signal } = options;
    const { columns, rows, frame, result, build } = plan;
    const context = contextFor(canvas, result);
    await this.runner.resize(build.values);
    const all = rows.length * columns.length;
    let done = 0;
    for (const row of rows) {
      for (const column of columns) {
        signal?.throwIfAborted();
        const tile = await crop(picture, column.at, row.at, ...frame);
        this.runner.run(tile);
        if (tile !== picture) tile.close?.();
        await this.drawTile(context, plan, column, row, options);
        if (all === 1) await this.finish(context, plan, picture, options); // before the page goes on
        if (onTile || all > 1) await this.wait();
        if (all > 1) await nextTask(); // the page handles its events and draws
        if ((await onTile?.(++done, all)) === false) return false;
      }
    }
    if (all > 1) await this.finish(context, plan, picture, options);
    await this.wait();
    return true;
  }

  /** Draw the part of a tile's result that is used. */
  drawTile(context, { build }, column, row) {
    const { runner } = this;
    const { width, height } = mapOf(build.outputs[0]);
    if (runner.device) this.#canvas ??= makeCanvas();
    const drawn = this.#canvas ?? runner.gl.canvas;
    if (drawn.width !== width || drawn.height !== height) Object.assign(drawn, { width, height });
    runner.draw(drawn);
    const [x, y, w, h] = [column.from, row.from, column.to - column.from, row.to - row.from];
    context.clearRect(x, y, w, h);
    context.drawImage(drawn, column.inside, row.inside, w, h, x, y, w, h);
  }

  /** Complete the result once all tiles are drawn: one without alpha gets that of the picture. */
  async finish(context, { build, result }, picture, { alpha = true }) {
    if (!alpha || isOpaque(picture) || mapOf(build.outputs[0]).channels === 4) return;
    const drawn = picture.data ? await createImageBitmap(picture) : picture; // a 2D canvas draws no ImageData
    context.globalCompositeOperation = "destination-in";
    context.imageSmoothingQuality = "high";
    context.drawImage(drawn, 0, 0, ...result);
    context.globalCompositeOperation = "source-over";
    if (drawn !== picture) drawn.close();
  }

  /** Resolve when the GPU has done what it was given; the page goes on meanwhile. */
  wait() {
    return this.runner.wait();
  }

  /** Free the runner, and the device or context that open() made for it. */
  close() {
    const { runner } = this;
    runner.close();
    if (!this.#isOwner) return;
    runner.device?.destroy();
    runner.gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

/** Return whether the rows of an output are not those of the picture, as its receptive field says. */
function isTurned(input, { shape, axes, receptive_field: field }) {
  if (!field?.height) return false;
  const isMade = (from, to) => input.shape.length - input.axes[from] === shape.length - axes[to];
  return ["height", "width"].some((name) => !isMade(field[name].input_axis, field[name].output_axis));
}

/** Return why a build of a receptive field cannot be run in tiles. */
function whyUntiled(field) {
  if (!field) return "the build does not say what its results depend on: compile the model again";
  if (field.unbounded_by) return `layer '${field.unbounded_by}' sees the whole picture`;
  return "each pixel of the result depends on more of the picture than the build takes";
}

/** Whether a picture is a video or a frame of one that has no alpha, as its format says. */
const isOpaque = ({ videoWidth, format }) => videoWidth || (format && !format.includes("A"));

/** Return the bytes of a build's textures, of which some share memory. */
function textureBytes({ textures }) {
  const slots = new Map();
  for (const texture of textures) {
    const slot = texture.slot ?? texture.name;
    slots.set(slot, Math.max(bytesOf(texture), slots.get(slot) ?? 0));
  }
  return [...slots.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Return the 2D context of a canvas that gets a size; SG0605 where the browser has no room for it. */
function contextFor(canvas, [width, height]) {
  if (!canvas?.getContext) throw new ShadergenError("SG0605", `run() takes a canvas, not ${named(canvas)}`);
  const context = contextOf(canvas, "2d");
  if (canvas.width === width && canvas.height === height) return context;
  Object.assign(canvas, { width, height });
  context.fillRect(width - 1, height - 1, 1, 1);
  const probe = Object.assign(makeCanvas(), { width: 1, height: 1 }).getContext("2d");
  probe.drawImage(canvas, 1 - width, 1 - height);
  if (probe.getImageData(0, 0, 1, 1).data[3]) return context;
  Object.assign(canvas, { width: 1, height: 1 }); // it would stay empty, without a word
  throw new ShadergenError("SG0605", `the result has ${sizeText(width, height)}, more than this browser can show`, {
    help: "choose a smaller picture",
  });
}
