// Runs a network on WebGL 2 and on WebGPU, in turns on the same picture, and compares times and results.

import { open } from "./shadergen/auto.js";
import { requestDevice } from "./shadergen/webgpu/index.js";
import { amount, apiOf, fit, frame, picture, release, rendererOf } from "./network.js";
import { $, isMoving, onChange, say, source, take } from "./source.js";

const MEASURED_FRAMES = 20; // of a still picture at most; of a video, the last ones count
const MEASURED_TIME = 3000; // milliseconds: no more frames of a still picture after it

const input = document.createElement("canvas"); // the source, of the size that the network takes
const networks = await (await fetch("networks.json")).json();
const wanted = new URLSearchParams(location.search).get("network");
let runners = [];
let turn = 0; // counts networks and sources; what belongs to an earlier one stops

for (const { name, url } of networks) $("network").add(new Option(name, url, false, url === wanted));

const WAYS = [
  async (url) => {
    const gl = document.createElement("canvas").getContext("webgl2");
    if (!gl) throw Error("this browser has no WebGL 2");
    return open(url, {}, { gl });
  },
  async (url) => open(url, {}, { device: await requestDevice() }),
];
/** Return the elements of one side: 0 is WebGL 2, 1 is WebGPU. */
const side = (i, name) => document.querySelectorAll(`.${name}`)[i];

/** Open a network on both. What one of them lacks is said on its side. */
async function choose(url) {
  const mine = ++turn;
  say("");
  for (const runner of runners) release(runner);
  runners = [];
  const opened = [];
  for (const i of WAYS.keys()) {
    for (const name of ["time", "start", "passes", "renderer"]) side(i, name).textContent = "–";
    side(i, "wrong").textContent = "";
    side(i, "shown").hidden = false;
    try {
      const start = performance.now();
      opened[i] = await WAYS[i](url);
      side(i, "start").textContent = `${(performance.now() - start).toFixed(0)} ms`;
      side(i, "passes").textContent = opened[i].build.passes.length;
      side(i, "renderer").textContent = rendererOf(opened[i]);
    } catch (error) {
      side(i, "wrong").textContent = error.message;
      side(i, "shown").hidden = true;
    }
    if (mine !== turn) return opened.forEach(release);
  }
  runners = opened.filter(Boolean);
  for (const runner of runners) {
    if (runner.gl) runner.onrestored = show;
    else runner.onlost = ({ message }) => say(`the WebGPU device was lost: ${message}`);
  }
  await show();
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

/** Return the largest difference of two results, by the numbers that the network computed. */
async function difference([first, second]) {
  const [a, b] = [await first.read(), await second.read()];
  return a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i])), 0);
}

/** Show the source through both, for as long as network and source are the ones chosen. */
async function show() {
  const mine = ++turn;
  const all = runners;
  for (const name of ["ratio", "difference"]) $(name).textContent = "–";
  if (!all.length) return;
  try {
    for (const runner of all) await fit(runner, source);
    if (mine !== turn) return;
    const { build } = all[0];
    const [from, to] = [picture(build.inputs[0]), picture(build.outputs[0])];
    [input.width, input.height] = from;
    document.body.style.setProperty("--ratio", to[0] / to[1]);
    $("size").textContent = `${from.join(" × ")} → ${to.join(" × ")}`;
    $("macs").textContent = amount(build);
    const times = all.map(() => []);
    const end = performance.now() + MEASURED_TIME;
    const more = (i) => i <= 1 || (i <= MEASURED_FRAMES && performance.now() < end);
    for (let i = 0; isMoving() || more(i); i++) {
      take(input);
      for (const [k, runner] of all.entries()) {
        const which = runner.device ? 1 : 0;
        const took = await frame(runner, input, side(which, "shown"));
        if (mine !== turn) return;
        if (i) times[k] = [...times[k], took].slice(-MEASURED_FRAMES); // the first prepares
        if (i) side(which, "time").textContent = `${median(times[k]).toFixed(1)} ms`;
      }
      if (i && all.length === 2) {
        const [fast, slow] = all.map((_, k) => [median(times[k]), all[k]]).sort(([a], [b]) => a - b);
        $("ratio").textContent = `${apiOf(fast[1])} is ${(slow[0] / fast[0]).toFixed(2)} times as fast`;
      }
      await new Promise(requestAnimationFrame);
      if (mine !== turn) return;
    }
    const worst = all.length === 2 ? await difference(all) : null;
    if (mine !== turn) return;
    if (worst !== null) $("difference").textContent = worst ? worst.toExponential(1) : "none";
    document.body.dataset.shown = $("network").value;
  } catch (error) {
    if (mine === turn) say(error);
  }
}

$("network").addEventListener("change", (event) => choose(event.target.value));
onChange(show);
choose($("network").value);
