// Uses of the web runtime's types, which test_load.py gives to the TypeScript compiler.

import { load, Player, Runner, ShadergenError, type Build, type Numbers } from "../../../runtime_glue/web/shadergen.js";
import { warmUp } from "../../../runtime_glue/web/warm_up.js";

export async function show(canvas: HTMLCanvasElement, video: HTMLVideoElement): Promise<Numbers> {
  const gl = canvas.getContext("webgl2")!;
  const build: Build = await load("builds/espcn", { height: 360, width: 640 });
  const runner: Runner = new Player(build, gl);
  await runner.init();
  await warmUp(runner);
  runner.onrestored = () => runner.upload("x", new Float32Array(4));
  runner.resize({ height: 720 });
  runner.run(video, { timed: true });
  runner.run(gl.createTexture());
  runner.bindInput("x", [gl.createTexture()!]);
  runner.draw();
  const times: number[] = await runner.timings();
  if (times.length !== build.passes.length) throw new ShadergenError();
  // @ts-expect-error: arrays are typed ones
  runner.upload("x", [1, 2]);
  // @ts-expect-error: builds come from load()
  new Runner({}, gl);
  return runner.read();
}
