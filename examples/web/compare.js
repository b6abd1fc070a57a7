// Runs a network on WebGL 2 and on WebGPU, in turns on the same picture, and compares times and results.

import { requestDevice } from "./shadergen/webgpu/index.js";
import { sizeOf } from "./shadergen/pixels.js";
import { Network } from "./network.js";
import { $, isMoving, nextFrame, onChange, painted, report, say, source, take } from "./source.js";
import { rendererText, timeText } from "./texts.js";

const NAMES = ["WebGL 2", "WebGPU"]; // of the sides
const [WEBGL, WEBGPU] = [0, 1]; // the numbers of the sides
const LOST = "SG0604"; // the code of errors that the GPU reports, a lost one included

const MEASURED_FRAMES = 20; // of a still picture at most; of a video, the last ones count
const MEASURED_TIME = 3000; // milliseconds: no more frames of a still picture after it

const input = document.createElement("canvas"); // a frame of a moving source
const networks = await (await fetch("networks.json")).json();
const wanted = new URLSearchParams(location.search).get("network");
let working = Promise.resolve();
let opened = null; // by side, once both are open; what a side lacks is undefined
let choice = 0; // counts networks: one that is open only after another was chosen is closed
let turn = 0; // counts networks and sources; what is shown of an earlier one stops

for (const { name, url } of networks) $("network").add(new Option(name, url, false, url === wanted));

const WAYS = [
  async () => {
    const gl = document.createElement("canvas").getContext("webgl2");
    if (!gl) throw Error("this browser has no WebGL 2");
    return { gl };
  },
  async () => ({ device: await requestDevice() }),
];

/** Free a network, and the device or context that was made for it. */
function close(network) {
  const { device, gl } = network?.runner ?? {};
  network?.close();
  device?.destroy();
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
}

/** Return an element of one side. */
const side = (i, name) => document.querySelectorAll(`.${name}`)[i];

/** Say on one side what went wrong there, in place of its result. */
function fail(i, error) {
  const hasFailed = error.code === LOST || error instanceof DOMException; // other messages are for visitors
  const failure = `${NAMES[i]} failed in this browser; reload to try again.`;
  const details = error.why || error.what || error.message;
  side(i, "wrong").textContent = hasFailed ? [failure, details].filter(Boolean).join("\n") : error.message;
  side(i, "shown").hidden = true;
  side(i, "time").textContent = "–";
  for (const name of ["ratio", "difference"]) $(name).textContent = "–";
}

/** Open a network on both. What one of them lacks is said on its side. */
async function choose(url) {
  const mine = ++choice;
  turn++;
  const entry = networks.find((one) => one.url === url);
  say("");
  opened?.forEach(close);
  opened = null;
  const found = [];
  for (const i of WAYS.keys()) {
    for (const name of ["time", "start", "passes", "renderer"]) side(i, name).textContent = "–";
    side(i, "wrong").textContent = "";
    side(i, "shown").hidden = false;
    try {
      const start = performance.now();
      const progress = (...all) => mine === choice && report(...all);
      found[i] = await Network.open(entry, progress, await WAYS[i]());
      if (mine !== choice) break;
      side(i, "start").textContent = timeText(performance.now() - start);
      side(i, "passes").textContent = found[i].build.passes.length;
      side(i, "renderer").textContent = rendererText(found[i].renderer);
      side(i, "renderer").title = found[i].renderer;
    } catch (error) {
      if (mine !== choice) break;
      fail(i, error);
    }
  }
  if (mine !== choice) return found.forEach(close);
  report();
  opened = found;
  for (const network of opened) {
    if (!network) continue;
    const { runner } = network;
    if (runner.gl) {
      const why = "the WebGL 2 context was lost"; // with WebGPU's device, where one process serves both
      const isShown = () => opened?.[WEBGL] === network; // closing one loses its context, too
      runner.gl.canvas.addEventListener("webglcontextlost", () => isShown() && fail(WEBGL, { code: LOST, why }));
      runner.onrestored = show;
    } else runner.onlost = ({ message: why }) => fail(WEBGPU, { code: LOST, why });
  }
  await show();
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

/** Return the numbers that a network computes for a picture, of all tiles. */
async function numbersOf(network, picture) {
  const all = [];
  const onTile = async () => all.push(await network.runner.read()) > 0;
  await network.run(picture, document.createElement("canvas"), { onTile });
  return all;
}

/** Return the largest difference of two results, given by tiles; NaN where one of them has NaN. */
function difference(a, b) {
  const worst = (one, other) => one.reduce((most, value, i) => Math.max(most, Math.abs(Number(value - other[i]))), 0);
  return Math.max(...a.map((tile, i) => worst(tile, b[i])));
}

/** Show the source through both, once they are open and what was shown before has stopped. */
function show() {
  const mine = ++turn;
  if (!opened) return;
  working = working.then(() => mine === turn && work(mine));
  return working;
}

/**
 * Show the source through both, for as long as network and source are the ones chosen. Where one of them
 * fails, the other goes on.
 */
async function work(mine) {
  const running = new Set([...opened.keys()].filter((i) => opened[i]));
  const onEach = async (act) => {
    for (const i of [...running]) {
      try {
        await act(i);
      } catch (error) {
        if (mine !== turn) return false;
        running.delete(i);
        fail(i, error);
      }
      if (mine !== turn) return false;
    }
    return running.size > 0;
  };
  for (const name of ["ratio", "difference"]) $(name).textContent = "–";
  for (const i of running) {
    side(i, "wrong").textContent = "";
    side(i, "shown").hidden = false;
  }
  try {
    const [width, height] = sizeOf(source);
    const plans = new Map();
    const isPlanned = await onEach(async (i) => plans.set(i, opened[i].plan(width, height)));
    report();
    if (!isPlanned) return;
    const [first] = running;
    const { result, note } = plans.get(first);
    document.body.style.setProperty("--ratio", result[0] / result[1]);
    $("size").textContent = `${width} × ${height} → ${result.join(" × ")}`;
    $("note").textContent = note;
    $("macs").textContent = opened[first].amount(plans.get(first));
    const times = opened.map(() => []);
    const end = performance.now() + MEASURED_TIME;
    const more = (i) => i <= 1 || (i <= MEASURED_FRAMES && performance.now() < end);
    for (let frame = 0; isMoving() || more(frame); frame++) {
      const picture = take(input);
      const isDrawn = await onEach(async (i) => {
        if (!frame) {
          report(`Running the network on ${NAMES[i]}`);
          await painted();
          if (mine !== turn) return;
        }
        const start = performance.now();
        await opened[i].run(picture, side(i, "shown"), { onTile: () => mine === turn });
        if (mine !== turn || !frame) return; // the first prepares
        times[i] = [...times[i], performance.now() - start].slice(-MEASURED_FRAMES);
        side(i, "time").textContent = timeText(median(times[i]));
      });
      if (mine === turn) report();
      if (!isDrawn) return;
      if (frame && running.size === 2) {
        const [fast, slow] = [...running].sort((a, b) => median(times[a]) - median(times[b]));
        $("ratio").textContent = `${NAMES[fast]} is ${(median(times[slow]) / median(times[fast])).toFixed(2)} times as fast`;
      }
      await (isMoving() ? nextFrame(() => mine === turn) : new Promise(requestAnimationFrame));
      if (mine !== turn) return;
    }
    if (running.size === 2) {
      const numbers = [];
      const picture = take(input);
      if (!(await onEach(async (i) => (numbers[i] = await numbersOf(opened[i], picture))))) return;
      if (running.size === 2) {
        const worst = difference(...numbers);
        $("difference").textContent = worst === 0 ? "none" : worst.toExponential(1);
      }
    }
    document.body.dataset.shown = $("network").value;
  } catch (error) {
    if (mine === turn) say(error);
  }
}

$("network").addEventListener("change", (event) => choose(event.target.value));
onChange(show);
choose($("network").value);
