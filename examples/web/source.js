// What a page shows: the sample, a picture or video that a person opened, or the webcam.

import { bytesOfBitmap } from "./shadergen/crops.js";
import { sizeOf } from "./shadergen/pixels.js";
import { decode, play } from "./decode.js";
import { noisy, sample } from "./sample.js";
import { clockText } from "./texts.js";

export const $ = (id) => document.getElementById(id);

let opened = sample(); // the sample, or what a person chose
/** The canvas, picture or video to run, which may be a copy with noise, and a name for files made of it. */
export let source = opened;
export let sourceName = "sample";
let asked = 0; // counts sources that a person chose: an earlier one that comes later is dropped
let changed = () => {};
let taken = 0; // the place in the video that was taken last

export const isMoving = () => source instanceof HTMLVideoElement;
const isWebcam = () => isMoving() && Boolean(source.srcObject);

/** Call a function, which may be asynchronous, whenever the source changes. */
export function onChange(callback) {
  changed = callback;
}

/** Say what went wrong, or nothing. */
export function say(error) {
  $("message").hidden = !error;
  $("message").textContent = error ? (error.message ?? error) : "";
}

/** Show a step and its progress from 0 to 1, or null if unknown; an empty text hides both. */
export function report(text, part = null) {
  const bar = $("progress");
  bar.hidden = !text;
  $("doing").textContent = text ?? "";
  const meter = bar.querySelector("progress");
  if (part === null) meter.removeAttribute("value");
  else meter.value = part;
}

/** Wait until the page was painted, before work that may block it; hidden tabs have no frames. */
export const painted = () =>
  new Promise((go) => (requestAnimationFrame(() => setTimeout(go)), setTimeout(go, 100)));

/** Return the source as it is now: a picture itself, of a video a copy of its frame in `canvas`. */
export function take(canvas) {
  if (!isMoving()) return source;
  const [width, height] = sizeOf(source);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  canvas.getContext("2d").drawImage(source, 0, 0);
  taken = source.seeking ? NaN : source.currentTime; // while it seeks, the frame is still the one before
  return canvas;
}

/** Wait for the next frame of a moving source; while a video is paused, until a person goes on or seeks. */
export async function nextFrame(isCurrent) {
  do await new Promise(requestAnimationFrame);
  while (isCurrent() && isMoving() && source.paused && (source.seeking || source.currentTime === taken));
}

/** Show the controls of a video from a file; a picture or a webcam has none. */
function showControls() {
  const hasPlaces = isMoving() && !isWebcam() && Number.isFinite(source.duration);
  $("video").hidden = !hasPlaces;
  if (!hasPlaces) return;
  const video = source;
  const update = () => {
    if (source !== video) return;
    $("play").textContent = video.paused ? "Play" : "Pause";
    $("seek").max = video.duration;
    $("seek").value = video.currentTime;
    $("seek").setAttribute("aria-valuetext", `${clockText(video.currentTime)} of ${clockText(video.duration)}`);
    $("clock").textContent = `${clockText(video.currentTime)} / ${clockText(video.duration)}`;
  };
  for (const event of ["play", "pause", "timeupdate", "seeked"]) video.addEventListener(event, update);
  update();
}

/** Free a picture or a video, and stop a webcam. */
function release(thing) {
  if (thing instanceof ImageBitmap) thing.close();
  if (!(thing instanceof HTMLVideoElement)) return;
  thing.pause();
  if (thing.src) URL.revokeObjectURL(thing.src);
  stop(thing.srcObject);
}

function stop(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

const isNoisy = () => $("noise").getAttribute("aria-pressed") === "true";

/** Return a thing to run, or a copy of a picture with noise, if that is asked for. */
async function prepared(thing) {
  if (!isNoisy() || thing instanceof HTMLVideoElement) return thing;
  const { width, height } = thing;
  const isBitmap = thing instanceof ImageBitmap;
  const bytes = isBitmap ? bytesOfBitmap(thing) : thing.getContext("2d").getImageData(0, 0, width, height).data;
  return createImageBitmap(new ImageData(noisy(bytes), width, height), { premultiplyAlpha: "none" });
}

/** Show what `load()` returns once it is there, unless a person chose another source meanwhile. */
async function replace(load, name) {
  const mine = ++asked;
  say("");
  try {
    const next = await load();
    const shown = await prepared(next);
    if (mine !== asked) return [next, shown].forEach((thing) => thing !== opened && release(thing));
    for (const old of new Set([opened, source])) if (old !== next) release(old);
    [opened, source, sourceName] = [next, shown, name];
    $("noise").disabled = isMoving();
    $("webcam").setAttribute("aria-pressed", isWebcam());
    showControls();
    say(""); // what the source until now had wrong
    return changed();
  } catch (error) {
    if (mine === asked) say(error);
  }
}

/** Show a file that a person gave. */
const open = (file) => replace(() => decode(file), file.name.replace(/\.[^.]*$/, ""));

/** Return a playing video of the webcam. */
async function webcam() {
  let stream = null;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: true });
    return await play(Object.assign(document.createElement("video"), { srcObject: stream }));
  } catch (error) {
    stop(stream);
    throw Error(`the webcam cannot be used: ${error.message}`);
  }
}

$("file").addEventListener("change", (event) => {
  if (event.target.files[0]) open(event.target.files[0]);
  event.target.value = ""; // the same file may be chosen again
});
$("play").addEventListener("click", () => (source.paused ? source.play() : source.pause()));
$("seek").addEventListener("input", ({ target }) => (source.currentTime = target.value));
$("webcam").addEventListener("click", () => (isWebcam() ? replace(sample, "sample") : replace(webcam, "webcam")));
$("noise").addEventListener("click", () => {
  $("noise").setAttribute("aria-pressed", !isNoisy());
  replace(() => opened, sourceName);
});
addEventListener("paste", (event) => {
  const [file] = event.clipboardData.files;
  if (file) open(file);
});
for (const type of ["dragenter", "dragover", "dragleave", "drop"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", type === "dragenter" || type === "dragover");
    if (type === "drop" && event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
}
