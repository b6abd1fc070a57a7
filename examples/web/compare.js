// Runs a network on WebGL 2 and on WebGPU, in turns on the same picture, and compares times and results.

import { requestDevice } from "./shadergen/webgpu/index.js";
import { sizeOf } from "./decode.js";
import { Network } from "./network.js";
import { $, isMoving, nextFrame, onChange, report, say, source, take } from "./source.js";
import { rendererText, timeText } from "./texts.js";

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
/** Return the elements of one side: 0 is WebGL 2, 1 is WebGPU. */
const side = (i, name) => document.querySelectorAll(`.${name}`)[i];

/** Open a network on both. What one of them lacks is said on its side. */
async function choose(url) {
  const mine = ++choice;
  turn++;
  const entry = networks.find((one) => one.url === url);
  say("");
  for (const network of opened ?? []) network?.close();
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
    } catch (error) {
      if (mine !== choice) break;
      side(i, "wrong").textContent = error.message;
      side(i, "shown").hidden = true;
    }
  }
  if (mine !== choice) return found.forEach((network) => network?.close());
  report();
  opened = found;
  for (const network of opened) {
    if (!network) continue;
    const { runner } = network;
    if (runner.gl) runner.onrestored = show;
    else runner.onlost = ({ message }) => say(`the WebGPU device was lost: ${message}`);
  }
  await show();
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

/** Return the numbers that a network computes for a picture, of all tiles. */
async function numbersOf(network, picture, plan) {
  const all = [];
  const onTile = async () => all.push(await network.runner.read()) > 0;
  await network.run(picture, plan, document.createElement("canvas"), { onTile });
  return all;
}

/** Return the largest difference of two results; NaN where one of them has NaN. */
async function difference(plans, picture) {
  const [a, b] = [await numbersOf(opened[0], picture, plans.get(0)), await numbersOf(opened[1], picture, plans.get(1))];
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

/** Show the source through both, for as long as network and source are the ones chosen. */
async function work(mine) {
  const which = [...opened.keys()].filter((i) => opened[i]);
  for (const name of ["ratio", "difference"]) $(name).textContent = "–";
  if (!which.length) return;
  try {
    const [width, height] = sizeOf(source);
    const plans = new Map();
    for (const i of which) plans.set(i, await opened[i].plan(width, height));
    report();
    if (mine !== turn) return;
    const { result, note } = plans.get(which[0]);
    document.body.style.setProperty("--ratio", result[0] / result[1]);
    $("size").textContent = `${width} × ${height} → ${result.join(" × ")}`;
    $("note").textContent = note;
    $("macs").textContent = opened[which[0]].amount(plans.get(which[0]));
    const times = which.map(() => []);
    const end = performance.now() + MEASURED_TIME;
    const more = (i) => i <= 1 || (i <= MEASURED_FRAMES && performance.now() < end);
    for (let i = 0; isMoving() || more(i); i++) {
      const picture = take(input);
      for (const [k, one] of which.entries()) {
        const start = performance.now();
        await opened[one].run(picture, plans.get(one), side(one, "shown"), { onTile: () => mine === turn });
        if (mine !== turn) return;
        if (i) times[k] = [...times[k], performance.now() - start].slice(-MEASURED_FRAMES); // the first prepares
        if (i) side(one, "time").textContent = timeText(median(times[k]));
      }
      if (i && which.length === 2) {
        const [fast, slow] = which.map((one, k) => [median(times[k]), opened[one]]).sort(([a], [b]) => a - b);
        $("ratio").textContent = `${fast[1].api} is ${(slow[0] / fast[0]).toFixed(2)} times as fast`;
      }
      await (isMoving() ? nextFrame(() => mine === turn) : new Promise(requestAnimationFrame));
      if (mine !== turn) return;
    }
    const worst = which.length === 2 ? await difference(plans, take(input)) : null;
    if (mine !== turn) return;
    if (worst !== null) $("difference").textContent = worst === 0 ? "none" : worst.toExponential(1);
    document.body.dataset.shown = $("network").value;
  } catch (error) {
    if (mine === turn) say(error);
  }
}

$("network").addEventListener("change", (event) => choose(event.target.value));
onChange(show);
choose($("network").value);
