// Runs a network in a Chromium of its own, in a tab that another one hides, for test_webgpu.py.
//
//     node --experimental-websocket hidden.mjs CHROMIUM PROFILE ADDRESS BUILD ARGUMENTS...
//
// Playwright cannot: to Chromium, all of its pages are in front.

import { spawn } from "node:child_process";

const [program, profile, address, build, ...rest] = process.argv.slice(2);
const chromium = spawn(program, [
  ...rest,
  "--remote-debugging-port=0",
  "--remote-allow-origins=*",
  `--user-data-dir=${profile}`,
  "about:blank",
]);
let said = "";
const url = await new Promise((resolve, reject) => {
  chromium.on("exit", () => reject(Error(said)));
  chromium.stderr.on("data", (text) => {
    const found = (said += text).match(/ws:\S+/);
    if (found) resolve(found[0]);
  });
});
const socket = new WebSocket(url);
await new Promise((resolve) => (socket.onopen = resolve));
const waiting = [];
socket.onmessage = ({ data }) => {
  const { id, result, error } = JSON.parse(data);
  if (id !== undefined) waiting[id](error ?? result);
};
const send = (method, params = {}, sessionId = undefined) =>
  new Promise((resolve) => {
    const id = waiting.push(resolve) - 1;
    socket.send(JSON.stringify({ id, method, params, sessionId }));
  });

/** In the page: draw frames of a canvas by requestAnimationFrame and by a timer. */
async function begin(build) {
  const { load, requestDevice, Runner } = await import("/web/webgpu/index.js");
  const device = await requestDevice();
  const runner = new Runner(await load(build), device);
  await runner.init();
  const state = { frames: 0, timers: 0, errors: [] };
  device.onuncapturederror = ({ error }) => state.errors.push(error.message);
  device.lost.then(({ message }) => state.errors.push(message));
  const canvas = document.body.appendChild(document.createElement("canvas"));
  const [width, height] = [runner.build.inputs[0].shape[3], runner.build.inputs[0].shape[2]];
  const source = Object.assign(document.createElement("canvas"), { width, height });
  const context = source.getContext("2d");
  const frame = (red) => {
    context.fillStyle = `rgb(${red} 100 60)`;
    context.fillRect(0, 0, width, height);
    runner.run(source);
    runner.draw(canvas);
  };
  const next = () => {
    frame(state.frames++ % 256);
    requestAnimationFrame(next);
  };
  next();
  setInterval(() => frame(state.timers++ % 256), 20);
  window.look = async (red) => {
    frame(red);
    const [value] = await runner.read();
    return { ...state, seen: document.visibilityState, value };
  };
}

const { targetId } = await send("Target.createTarget", { url: address });
const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
const evaluate = async (expression) => {
  const options = { expression, awaitPromise: true, returnByValue: true };
  const answer = await send("Runtime.evaluate", options, sessionId);
  const { result, exceptionDetails } = answer;
  if (!result || exceptionDetails) throw Error(JSON.stringify(exceptionDetails ?? answer));
  return result.value;
};
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Wait until the page is in a state, and has run frames in it. */
async function looks(state, red) {
  for (let i = 0; (await evaluate("document.visibilityState")) !== state; i++) {
    if (i === 100) throw Error(`the page is not ${state}`);
    await pause(100);
  }
  await pause(1500);
  return evaluate(`look(${red})`);
}

try {
  // A new target is about:blank, and complete, until its own page arrives.
  const arrived = `location.href !== "about:blank" && document.readyState === "complete"`;
  while (!(await evaluate(arrived).catch(() => false))) await pause(50);
  await evaluate(`(${begin})(${JSON.stringify(build)})`);
  const states = [await looks("visible", 50)];
  const other = await send("Target.createTarget", { url: "about:blank" });
  await send("Target.activateTarget", other);
  states.push(await looks("hidden", 100), await looks("hidden", 150));
  await send("Target.activateTarget", { targetId });
  states.push(await looks("visible", 200));
  console.log(JSON.stringify(states));
} finally {
  chromium.removeAllListeners("exit");
  chromium.kill();
  socket.close();
}
