// Uses of the types of the web runtime on WebGPU, which test_load.py gives to the TypeScript compiler.

import { open } from "../../../runtime_glue/web/auto.js";
import { PictureNetwork, type Plan } from "../../../runtime_glue/web/picture_network.js";
import { load, requestDevice, Runner, type Build, type Numbers } from "../../../runtime_glue/web/webgpu/index.js";

export async function show(canvas: HTMLCanvasElement, video: HTMLVideoElement): Promise<Numbers> {
  const device = await requestDevice({ powerPreference: "low-power" });
  const build: Build = await load("builds/espcn", { height: 360, width: 640 }, { device });
  const [first, second] = [new Runner(build, device), new Runner(build, device)];
  await first.init();
  first.onlost = async (info) => first.init(info.reason === "destroyed" ? device : await requestDevice());
  await first.resize({ height: 720 });
  first.run(video, { timed: true });
  second.bindInput("x", first.outputTexture());
  const encoder = device.createCommandEncoder();
  second.encode(encoder);
  device.queue.submit([encoder.finish()]);
  second.draw(canvas);
  // @ts-expect-error: reading takes time
  const numbers: Numbers = second.read();
  // @ts-expect-error: a runner needs a device
  new Runner(build, canvas.getContext("webgl2"));
  return numbers;
}

export async function chain(canvas: HTMLCanvasElement, video: HTMLVideoElement): Promise<void> {
  const first = await open("builds/denoise");
  const { device, gl } = first;
  const second = await open("builds/espcn", {}, { device, gl });
  first.run(video);
  second.draw(canvas);
  if (first.device && second.device) second.bindInput("x", first.outputTexture());
  // @ts-expect-error: a context is no device
  await open("builds/espcn", {}, { device: canvas.getContext("webgl2") });
}

export async function enlarge(canvas: OffscreenCanvas, picture: ImageBitmap, signal: AbortSignal): Promise<boolean> {
  const network = await PictureNetwork.open("builds/espcn", { onprogress: (compiled, total) => compiled / total });
  const { note, result }: Plan = network.plan(picture.width, picture.height);
  const isDone: boolean = await network.run(picture, canvas, { onTile: (done, all) => done < all && note !== "", signal });
  await new PictureNetwork(await open("builds/denoise")).run(picture, canvas, { alpha: false });
  // @ts-expect-error: a width and a height
  network.plan(result);
  // @ts-expect-error: numbers are no picture
  await network.run(new Float32Array(4), canvas);
  network.close();
  return isDone;
}
