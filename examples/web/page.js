// Shows a picture, a video or the webcam before and after a network, with a slider between them.

import { open } from "./shadergen/auto.js";
import { amount, apiOf, fit, frame, picture, release, rendererOf } from "./network.js";
import { $, isMoving, onChange, say, source, take } from "./source.js";

const MEASURED_FRAMES = 5;
const SMOOTHING = 0.1; // of the frame time shown
const MOST_LOSSES = 3; // of a GPU, after which a network is not opened again

const input = document.createElement("canvas"); // the source, of the size that the network takes
const networks = await (await fetch("networks.json")).json();
let runner = null;
let turn = 0; // counts networks and sources; what belongs to an earlier one stops
let losses = 0;

for (const { name, url } of networks) $("network").add(new Option(name, url));

/** Show the source through the network, for as long as both are the ones chosen. */
async function show() {
  const mine = ++turn;
  if (!runner) return;
  try {
    await fit(runner, source);
    if (mine !== turn) return;
    const { build } = runner;
    const [from, to] = [picture(build.inputs[0]), picture(build.outputs[0])];
    [input.width, input.height] = from;
    const before = $("before");
    [before.width, before.height] = to;
    $("stage").style.setProperty("--ratio", to[0] / to[1]);
    $("size").textContent = `${from.join(" × ")} → ${to.join(" × ")}`;
    $("passes").textContent = build.passes.length;
    $("macs").textContent = amount(build);
    let milliseconds = 0;
    take(input);
    await frame(runner, input, $("after")); // the first is not measured: drivers still prepare
    for (let i = 0; (isMoving() || i < MEASURED_FRAMES) && mine === turn; i++) {
      take(input);
      const took = await frame(runner, input, $("after"));
      if (mine !== turn) return;
      milliseconds += (took - milliseconds) * (milliseconds ? SMOOTHING : 1);
      $("time").textContent = `${milliseconds.toFixed(1)} ms`;
      const context = before.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(input, 0, 0, before.width, before.height);
      await new Promise(requestAnimationFrame);
    }
    if (mine === turn) document.body.dataset.shown = $("network").value;
  } catch (error) {
    if (mine === turn) say(error);
  }
}

/** Open a network: on WebGPU if this browser and the build have it, else on WebGL 2. */
async function choose(url) {
  const mine = ++turn;
  say("");
  try {
    const next = await open(url);
    if (mine !== turn) return release(next);
    // A canvas shows what one of both draws, and no longer the other.
    if (!runner || apiOf(runner) !== apiOf(next)) $("after").replaceWith($("after").cloneNode());
    release(runner);
    runner = next;
    if (runner.gl) runner.onrestored = show;
    else runner.onlost = () => ++losses <= MOST_LOSSES && choose(url);
    $("api").textContent = apiOf(runner);
    $("renderer").textContent = rendererOf(runner);
    const { runs_on: both = [] } = networks.find((network) => network.url === url);
    $("compare").hidden = both.length < 2;
    $("compare").href = `compare.html?network=${encodeURIComponent(url)}`;
    await show();
  } catch (error) {
    if (mine === turn) say(error);
  }
}

$("network").addEventListener("change", (event) => choose(event.target.value));
$("slider").addEventListener("input", (event) => {
  $("stage").style.setProperty("--at", `${event.target.value}%`);
});
onChange(show);
choose($("network").value);
