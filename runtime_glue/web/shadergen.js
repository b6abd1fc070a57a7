// The web runtime: run a build of shadergen on WebGL 2.
//
//     import { load, Runner } from "shadergen-web";
//     const runner = new Runner(await load("builds/espcn"), canvas.getContext("webgl2"));
//     await runner.init();
//     runner.run(photo);
//     runner.draw();

export { ShadergenError } from "./errors.js";
export { Build, load } from "./loading.js";
export { Runner, Runner as Player } from "./runner.js"; // Player: deprecated, the name before 1.0
