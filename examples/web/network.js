// A network as the pages show it: also one that makes classes or a map of a picture, and what to tell people.

import { PictureNetwork } from "./shadergen/picture_network.js";
import { mapOf, sizeOf } from "./shadergen/pixels.js";
import { classesOf, Greys, painted } from "./classes.js";
import { amountText } from "./texts.js";

/** A PictureNetwork of one of these kinds: "picture", "map", "classes" or "scores". */
export class Network extends PictureNetwork {
  kind = "picture";

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
    const network = await super.open(url, { fetch: fetched, onprogress, ...options });
    return Object.assign(network, { kind });
  }

  /** Take the build as it is: who made the page has checked it. */
  check() {}

  get api() {
    return this.runner.device ? "WebGPU" : "WebGL 2";
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
  amount({ build, columns, rows }) {
    const ofTile = build.passes.reduce((sum, pass) => sum + pass.macs, 0);
    return amountText(ofTile * columns.length * rows.length);
  }

  /**
   * Plan to scale a picture that cannot be run in tiles, unless the result would be less than what was
   * given. `scaled` is the size to which run() scales the picture.
   */
  untiled(build, size, why) {
    const [frame, given] = [build.inputs[0], build.outputs[0]].map(mapOf).map(({ width, height }) => [width, height]);
    if (given.some((side, i) => side > frame[i] && side < size[i])) return super.untiled(build, size, why);
    return { ...this.plan(...frame), scaled: frame, note: `the picture is scaled to ${frame.join(" × ")}: ${why}` };
  }

  /**
   * Run a picture, as PictureNetwork does. `counts` is a map that gets the pixels of each class.
   * `onScaled(low, high)` is called with the numbers that are black and white, if a map of one number is not
   * within 0..1.
   */
  async run(picture, canvas, options) {
    const { scaled } = this.plan(...sizeOf(picture));
    const alpha = picture instanceof ImageBitmap; // the sample, videos and webcams have none
    if (scaled) {
      const [resizeWidth, resizeHeight] = scaled;
      const size = { resizeWidth, resizeHeight, resizeQuality: "high", premultiplyAlpha: "none" };
      picture = await createImageBitmap(picture, size);
    }
    return super.run(picture, canvas, { alpha, ...options });
  }

  async drawTile(context, plan, column, row, options) {
    const { kind, runner } = this;
    if (kind === "picture") return super.drawTile(context, plan, column, row, options);
    const output = plan.build.outputs[0];
    const size = mapOf(output);
    const numbers = await runner.read();
    const [x, y] = [column, row].map(({ from, to, inside }) => ({ inside, start: from, size: to - from }));
    const show = (image) =>
      context.putImageData(image, x.start - x.inside, y.start - y.inside, x.inside, y.inside, x.size, y.size);
    if (kind === "map") {
      options.greys ??= new Greys(...plan.result);
      return show(options.greys.add(numbers, output, size, x, y));
    }
    const classes = classesOf(numbers, output, size, kind);
    show(painted(classes, size.width, size.height));
    const { counts } = options;
    for (let j = y.inside; counts && j < y.inside + y.size; j++) {
      for (let i = x.inside; i < x.inside + x.size; i++) {
        const number = classes[j * size.width + i];
        counts.set(number, (counts.get(number) ?? 0) + 1);
      }
    }
  }

  async finish(context, plan, picture, options) {
    const { greys, onScaled } = options;
    if (this.kind === "picture") await super.finish(context, plan, picture, options);
    if (!greys?.isScaled) return;
    context.putImageData(greys.scaled(), 0, 0);
    onScaled?.(greys.low, greys.high);
  }
}
