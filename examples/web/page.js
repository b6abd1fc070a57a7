// Shows a picture, a video or the webcam before and after a network, with a slider between them.

import { load, Runner } from "./shadergen/shadergen.js";
import { sample } from "./sample.js";

const $ = (id) => document.getElementById(id);
const MEASURED_FRAMES = 5;
const SMOOTHING = 0.1; // of the frame time shown
const LARGEST_SIDE = 1280; // of a source, for networks with dynamic sizes

const gl = document.createElement("canvas").getContext("webgl2");
const input = document.createElement("canvas"); // the source, of the size that the network takes
const networks = await (await fetch("networks.json")).json();
let runner = null;
let source = sample();
let stream = null;
let turn = 0; // counts networks and sources; what belongs to an earlier one stops
let milliseconds = 0;

for (const { name, url } of networks) $("network").add(new Option(name, url));

/** Say what went wrong, or nothing. */
function say(error) {
  $("message").hidden = !error;
  $("message").textContent = error ? (error.message ?? error) : "";
}

/** Return the width and height of a picture, video or canvas. */
function sizeOf(thing) {
  return [thing.videoWidth ?? thing.width, thing.videoHeight ?? thing.height];
}

/** Return the width and height of a port whose logical tensor is N, C, H, W. */
function picture({ shape, axes }) {
  if (shape.length !== 4) throw Error(`a shape of ${shape.join("x")} is not a picture`);
  return [3, 2].map((axis) => shape[axes.indexOf(axis)]);
}

/** Resize a network with dynamic sizes to the source's size, if it supports this size. */
function fit() {
  const [width, height] = sizeOf(source);
  const parameters = runner.build.sizes?.parameters ?? [];
  const most = (name) => parameters.find((p) => p.name === name)?.max ?? 0;
  const largest = [most("width") / width, most("height") / height];
  if (!Math.min(...largest)) return;
  const scale = Math.min(1, LARGEST_SIDE / Math.max(width, height), ...largest);
  try {
    runner.resize({ height: Math.floor(height * scale), width: Math.floor(width * scale) });
  } catch (error) {
    if (error.code !== "SG0605") throw error; // it stays at the size it has
  }
}

/** Return what draws, in its own words: a GPU, or what stands in for one where there is none. */
function renderer() {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  return gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
}

/** Draw the source to the input's size, cut where its shape is another. */
function take() {
  const [width, height] = sizeOf(source);
  const scale = Math.max(input.width / width, input.height / height);
  const [w, h] = [input.width / scale, input.height / scale];
  const from = [(width - w) / 2, (height - h) / 2, w, h];
  const context = input.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(source, ...from, 0, 0, input.width, input.height);
}

/** Play one frame and wait for it; return its milliseconds. */
function frame() {
  take();
  const start = performance.now();
  runner.run(input);
  runner.draw($("after"));
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits for the GPU
  return performance.now() - start;
}

/** Show the source through the network, for as long as both are the ones chosen. */
async function show() {
  const mine = ++turn;
  if (!runner) return;
  try {
    fit();
    const { inputs, outputs, passes } = runner.build;
    const [from, to] = [picture(inputs[0]), picture(outputs[0])];
    [input.width, input.height] = from;
    const before = $("before");
    [before.width, before.height] = to;
    $("stage").style.setProperty("--ratio", to[0] / to[1]);
    $("size").textContent = `${from.join(" × ")} → ${to.join(" × ")}`;
    $("passes").textContent = passes.length;
    $("macs").textContent = amount(passes.reduce((sum, pass) => sum + pass.macs, 0));
    milliseconds = 0;
    const moving = source instanceof HTMLVideoElement;
    frame(); // the first is not measured: drivers still prepare
    for (let i = 0; (moving || i < MEASURED_FRAMES) && mine === turn; i++) {
      const took = frame();
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

function amount(number) {
  if (!number) return "none";
  const [value, unit] = number >= 1e9 ? [number / 1e9, " G"] : [number / 1e6, " M"];
  return value.toPrecision(3) + unit;
}

async function choose(url) {
  const mine = ++turn;
  say("");
  try {
    const next = new Runner(await load(url, {}, { gl }), gl);
    await next.init();
    if (mine !== turn) return next.close();
    runner?.close();
    runner = next;
    runner.onrestored = show;
    await show();
  } catch (error) {
    say(error);
  }
}

function stop() {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  $("webcam").setAttribute("aria-pressed", "false");
}

async function play(video) {
  Object.assign(video, { muted: true, loop: true, playsInline: true });
  await video.play();
  return video;
}

/** Show a file that a person gave. */
async function open(file) {
  stop();
  say("");
  try {
    const url = URL.createObjectURL(file);
    if (file.type.startsWith("video/")) {
      source = await play(Object.assign(document.createElement("video"), { src: url }));
    } else {
      source = await createImageBitmap(file);
      URL.revokeObjectURL(url);
    }
  } catch {
    return say(`${file.name} is no picture or video that this browser can show`);
  }
  return show();
}

$("network").addEventListener("change", (event) => choose(event.target.value));
$("slider").addEventListener("input", (event) => {
  $("stage").style.setProperty("--at", `${event.target.value}%`);
});
$("file").addEventListener("change", (event) => {
  if (event.target.files[0]) open(event.target.files[0]);
});
$("webcam").addEventListener("click", async () => {
  say("");
  if (stream) {
    stop();
    source = sample();
  } else {
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: true });
      source = await play(Object.assign(document.createElement("video"), { srcObject: stream }));
      $("webcam").setAttribute("aria-pressed", "true");
    } catch (error) {
      return say(`the webcam cannot be used: ${error.message}`);
    }
  }
  return show();
});
for (const type of ["dragenter", "dragover", "dragleave", "drop"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", type === "dragenter" || type === "dragover");
    if (type === "drop" && event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
}

if (gl) {
  $("renderer").textContent = renderer();
  choose($("network").value);
} else say("this browser has no WebGL 2");
