// Shows a picture, a video or the webcam before and after a network, with a line between them.

import { sizeOf } from "./shadergen/pixels.js";
import { showLegend } from "./classes.js";
import { Network } from "./network.js";
import { drawBefore, Panes } from "./panes.js";
import { $, isMoving, nextFrame, onChange, painted, report, say, source, sourceName, take } from "./source.js";
import { rendererText, timeText } from "./texts.js";

const MEASURED_FRAMES = 5; // of a still picture that is run at once
const MEASURED_TIME = 1000; // milliseconds: no more frames of a still picture after it
const SMOOTHING = 0.1; // of the frame time shown
const MOST_LOSSES = 3; // of a GPU, after which a network is not opened again

const input = document.createElement("canvas"); // a frame of a moving source
const networks = await (await fetch("networks.json")).json();
const view = new Panes($("view"), { wheel: true, name: () => `${sourceName}-${chosen().model}`, fail: say });
let network = null; // the chosen one, once it is open
let isOpening = false;
let choice = 0; // counts networks: one that is open only after another was chosen is closed
let turn = 0; // counts networks and sources; what is shown of an earlier one stops
let losses = 0;
let working = Promise.resolve();

const wanted = new URLSearchParams(location.search).get("network");
for (const { name, url } of networks) $("network").add(new Option(name, url, false, url === wanted));
const chosen = () => networks.find(({ url }) => url === $("network").value);

/** Show the source through the network, once what was shown before has stopped: both use one runner. */
function show() {
  const mine = ++turn;
  if (!network) return isOpening ? showWaiting() : choose(); // again, where opening it failed
  working = working.then(() => mine === turn && work(() => mine === turn));
  return working;
}

/** Show the source through the network, for as long as both are the ones chosen. */
async function work(isCurrent) {
  try {
    view.buttons.save.disabled = true;
    showLegend($("legend"), new Map());
    const [width, height] = sizeOf(source);
    const plan = network.plan(width, height);
    const space = plan.result.map((side, axis) => Math.max(side, [width, height][axis]));
    view.resize(...space);
    view.kind = network.kind;
    $("size").textContent = `${width} × ${height} → ${plan.result.join(" × ")}`;
    $("note").textContent = plan.note;
    $("passes").textContent = network.build.passes.length;
    $("macs").textContent = network.amount(plan);
    await (isMoving() ? animate : still)(plan, space, isCurrent);
    if (!isCurrent()) return;
    report();
    document.body.dataset.shown = $("network").value;
  } catch (error) {
    if (!isCurrent()) return;
    report();
    say(error);
  }
}

/** Show a picture: what is done is seen as it is done. */
async function still(plan, space, isCurrent) {
  drawBefore(view.before, source, space);
  view.isWaiting = true;
  const onTile = (done, all) => {
    if (!isCurrent()) return false;
    view.isWaiting = false;
    if (all > 1) report(`Running tiles: ${done} of ${all}`, done / all);
    return true;
  };
  const counts = new Map();
  report("Running the network");
  await painted();
  if (!isCurrent()) return;
  const start = performance.now();
  if (!(await network.run(source, view.after, { onTile, counts, onScaled: showScaled(plan) }))) return;
  view.isWaiting = false;
  let milliseconds = performance.now() - start; // with what drivers prepare, unless a later frame tells
  report();
  showTime(milliseconds);
  showLegend($("legend"), counts, chosen().labels);
  view.buttons.save.disabled = false;
  for (let i = 0; i < MEASURED_FRAMES && isCurrent() && performance.now() - start < MEASURED_TIME; i++) {
    const before = performance.now();
    if (!(await network.run(source, view.after, { onTile: isCurrent }))) return;
    const took = performance.now() - before;
    milliseconds += (took - milliseconds) * (i ? SMOOTHING : 1);
    showTime(milliseconds);
    await new Promise(requestAnimationFrame);
  }
}

async function animate(plan, space, isCurrent) {
  const size = `${sizeOf(source)}`;
  let milliseconds = 0;
  report();
  for (let i = 0; isCurrent(); i++) {
    const picture = take(input);
    if (`${sizeOf(source)}` !== size) return void show(); // a webcam was turned, say
    const counts = new Map();
    const start = performance.now();
    if (!(await network.run(picture, view.after, { counts, onTile: isCurrent, onScaled: showScaled(plan) }))) return;
    const took = performance.now() - start;
    if (i) { // the first is not measured: drivers still prepare
      milliseconds += (took - milliseconds) * (i > 1 ? SMOOTHING : 1);
      showTime(milliseconds);
    }
    drawBefore(view.before, picture, space);
    view.isWaiting = false;
    showLegend($("legend"), counts, chosen().labels);
    view.buttons.save.disabled = false;
    await nextFrame(isCurrent);
  }
}

const showTime = (milliseconds) => ($("time").textContent = timeText(milliseconds));

/** Return what says which numbers of a map are black and white. */
const showScaled = ({ note }) => (...range) => {
  const [low, high] = range.map((number) => +number.toPrecision(4));
  $("note").textContent = [note, `${low} is black, ${high} is white`].filter(Boolean).join("; ");
};

/** Whether this browser offers WebGPU; one may have the interface without a device. */
const hasWebGpu = async () => Boolean(await navigator.gpu?.requestAdapter());

/** Show what there is before a network is ready: the picture. */
function showWaiting() {
  view.isWaiting = true;
  view.buttons.save.disabled = true;
  for (const name of ["size", "passes", "macs", "time"]) $(name).textContent = "–";
  $("note").textContent = "";
  view.resize(...sizeOf(source));
  drawBefore(view.before, source, sizeOf(source));
}

/** Open the chosen network, on WebGPU if this browser and the build have it, else on WebGL 2, and show it. */
async function choose() {
  const mine = ++choice;
  turn++;
  network?.close();
  network = null;
  isOpening = true;
  const entry = chosen();
  say("");
  showWaiting();
  try {
    const next = await Network.open(entry, (...all) => mine === choice && report(...all));
    if (mine !== choice) return next.close();
    network = next;
  } catch (error) {
    if (mine !== choice) return;
    report();
    say(error);
    return;
  } finally {
    if (mine === choice) isOpening = false;
  }
  const { runner } = network;
  if (runner.gl) runner.onrestored = show;
  else runner.onlost = () => ++losses <= MOST_LOSSES && choose();
  $("api").textContent = network.api;
  $("renderer").textContent = rendererText(network.renderer);
  $("renderer").title = network.renderer;
  $("where").hidden = false;
  show();
  const canCompare = (entry.runs_on ?? []).length > 1 && (await hasWebGpu());
  if (mine !== choice) return;
  $("compare").hidden = !canCompare;
  $("compare").href = `compare.html?network=${encodeURIComponent(entry.url)}`;
}

$("network").addEventListener("change", choose);
onChange(show);
choose();
