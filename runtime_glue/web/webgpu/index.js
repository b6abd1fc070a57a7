// The web runtime on WebGPU: runs builds for --device webgpu.
//
//     import { load, requestDevice, Runner } from "shadergen-web/webgpu";
//     const runner = new Runner(await load("builds/espcn"), await requestDevice());
//     await runner.init();
//     runner.run(video);
//     runner.draw(canvas);

export { ShadergenError } from "../errors.js";
export { Build, load } from "../loading.js";
export { requestDevice } from "./device.js";
export { Runner } from "./runner.js";
