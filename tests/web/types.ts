// Uses of the web runtime's types, which tests/test_web_load.py gives to the TypeScript compiler.

import { load, Player, ShadergenError, type Build, type Numbers } from "../../runtime_glue/web/shadergen.js";

export async function show(canvas: HTMLCanvasElement, video: HTMLVideoElement): Promise<Numbers> {
  const gl = canvas.getContext("webgl2")!;
  const build: Build = await load("builds/espcn", { height: 360, width: 640 });
  const player = new Player(build, gl);
  await player.init();
  player.onrestored = () => player.upload("x", new Float32Array(4));
  player.resize({ height: 720 });
  player.run(video, { timed: true });
  player.run(gl.createTexture());
  player.bindInput("x", [gl.createTexture()!]);
  player.draw();
  const times: number[] = await player.timings();
  if (times.length !== build.passes.length) throw new ShadergenError();
  // @ts-expect-error: arrays are typed ones
  player.upload("x", [1, 2]);
  // @ts-expect-error: builds come from load()
  new Player({}, gl);
  return player.read();
}
