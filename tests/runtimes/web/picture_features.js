// What test_picture_network.py asks of a PictureNetwork, on a page and in a worker.

import { open } from "/web/auto.js";
import { PictureNetwork } from "/web/picture_network.js";

export { PictureNetwork };

/** Return a picture of the server as an ImageBitmap, its colours not multiplied by alpha. */
export async function bitmap(url) {
  const blob = await (await fetch(url)).blob();
  return createImageBitmap(blob, { premultiplyAlpha: "none" });
}

/** Return a picture of the server in each form that a page may have it in. */
export async function forms(url) {
  const picture = await bitmap(url);
  const image = Object.assign(new Image(), { src: url });
  await image.decode();
  const { width, height } = picture;
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const stored = await createImageBitmap(image); // its colours multiplied by alpha
  const data = context.getImageData(0, 0, width, height);
  const frame = new VideoFrame(canvas, { timestamp: 0 });
  return { ImageBitmap: picture, stored, image, canvas, ImageData: data, VideoFrame: frame };
}

const made = (width = 1, height = 1) => new OffscreenCanvas(width, height);

/** Return the size and the bytes of a canvas. */
export function contentOf(canvas) {
  const { width, height } = canvas;
  return { width, height, pixels: [...canvas.getContext("2d").getImageData(0, 0, width, height).data] };
}

/** Call a function with an opened network; close the network. */
export async function using(url, call) {
  const network = await PictureNetwork.open(url);
  try {
    return await call(network);
  } finally {
    network.close();
  }
}

/** Return what a network makes of a picture, in tiles where it needs them. */
export function tiled(url, picture) {
  return using(url, async (network) => {
    const [source, canvas, counts] = [await bitmap(picture), made(), []];
    const isDone = await network.run(source, canvas, { onTile: (...count) => counts.push(count) });
    const { note } = network.plan(source.width, source.height);
    return { ...contentOf(canvas), note, counts, isDone, api: network.runner.device ? "WebGPU" : "WebGL 2" };
  });
}

/** Return what a network makes of each form of a picture. */
export function ofForms(url, picture) {
  return using(url, async (network) => {
    const found = {};
    for (const [form, source] of Object.entries(await forms(picture))) {
      const canvas = made();
      await network.run(source, canvas);
      found[form] = contentOf(canvas);
    }
    return found;
  });
}

/** Return what a build makes of a picture of its size. */
export async function whole(url, picture) {
  const runner = await open(url);
  const drawn = document.createElement("canvas");
  runner.run(await bitmap(picture));
  runner.draw(drawn);
  const canvas = made(drawn.width, drawn.height);
  canvas.getContext("2d").drawImage(drawn, 0, 0);
  runner.close();
  return contentOf(canvas);
}

/** Return what a run to the picture's own canvas gives, and one to another canvas. */
export function inPlace(url, picture) {
  return using(url, async (network) => {
    const { canvas } = await forms(picture);
    const other = made();
    await network.run(canvas, other);
    await network.run(canvas, canvas);
    return [canvas, other].map(contentOf);
  });
}

/** Return what two runs give, the second of which is started while the first goes on. */
export function together(url, ...pictures) {
  return using(url, async (network) => {
    const sources = await Promise.all(pictures.map(bitmap));
    const canvases = pictures.map(() => made());
    await Promise.all(sources.map((source, i) => network.run(source, canvases[i])));
    return canvases.map(contentOf);
  });
}

/** Stop a run after two tiles, by a signal or by what onTile returns; return how it ends, and the next run. */
export function stopped(url, picture, bySignal) {
  return using(url, async (network) => {
    const [source, stop] = [await bitmap(picture), new AbortController()];
    let tiles = 0;
    const onTile = (done) => {
      tiles = done;
      if (done === 2 && bySignal) stop.abort();
      return bySignal || done < 2;
    };
    const end = await network.run(source, made(), { onTile, signal: stop.signal }).catch(({ name }) => name);
    return { end, tiles, next: await network.run(source, made()) };
  });
}

/** Return { code, what, why, supported, help } of what a call throws. */
export async function refusal(call) {
  try {
    await call();
    return null;
  } catch (error) {
    const { code, what, why, supported, help } = error;
    if (!code) throw error;
    return { code, what, why, supported, help };
  }
}

/** Return the refusal of a picture, or of what else is given. */
export const refused = (url, source, canvas = made()) =>
  refusal(() => using(url, async (network) => network.run(await source, canvas)));

/** Return whether the page's own device or context works after close(). */
export async function kept(url, picture) {
  const { device, gl } = await open(url);
  const network = await PictureNetwork.open(url, { device, gl });
  await network.run(await bitmap(picture), made());
  network.close();
  const next = await PictureNetwork.open(url, { device, gl });
  return next.run(await bitmap(picture), made());
}

/** Return what a worker answers. */
export function inWorker(url, picture) {
  return new Promise((go, fail) => {
    const worker = new Worker("/picture_worker.js", { type: "module" });
    const answer = (act) => ({ data, message }) => (worker.terminate(), act(data ?? Error(message)));
    Object.assign(worker, { onmessage: answer(go), onerror: answer(fail) });
    worker.postMessage([url, picture]);
  });
}
