// The web runtime: play a build of shadergen on WebGL 2.
//
//     import { load, Player } from "shadergen-web";
//     const player = new Player(await load("builds/espcn"), canvas.getContext("webgl2"));
//     await player.init();
//     player.run(photo);
//     player.draw();

export { ShadergenError } from "./errors.js";
export { Build, load } from "./loading.js";
export { Player } from "./player.js";
