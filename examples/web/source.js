// What a page shows: the sample, a picture or video that a person opened, or the webcam.

import { decode, play, sizeOf } from "./decode.js";
import { sample } from "./sample.js";
import { clockText } from "./texts.js";

export const $ = (id) => document.getElementById(id);

/** The canvas, picture or video, and a name for files made of it. */
export let source = sample();
export let sourceName = "sample";
let stream = null;
let changed = () => {};
let taken = 0; // the place in the video that was taken last

export const isMoving = () => source instanceof HTMLVideoElement;

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
  const hasPlaces = isMoving() && !stream && Number.isFinite(source.duration);
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

function stop() {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  $("webcam").setAttribute("aria-pressed", "false");
}

/** Show another source instead of the one until now. */
function replace(next, name) {
  if (isMoving()) {
    source.pause();
    if (source.src) URL.revokeObjectURL(source.src);
  }
  if (source instanceof ImageBitmap) source.close();
  [source, sourceName] = [next, name];
  showControls();
  return changed();
}

/** Show a file that a person gave. */
async function open(file) {
  say("");
  try {
    const next = await decode(file);
    stop();
    return replace(next, file.name.replace(/\.[^.]*$/, ""));
  } catch (error) {
    return say(error);
  }
}

$("file").addEventListener("change", (event) => {
  if (event.target.files[0]) open(event.target.files[0]);
  event.target.value = ""; // the same file may be chosen again
});
$("play").addEventListener("click", () => (source.paused ? source.play() : source.pause()));
$("seek").addEventListener("input", ({ target }) => (source.currentTime = target.value));
$("webcam").addEventListener("click", async () => {
  say("");
  if (stream) {
    stop();
    return replace(sample(), "sample");
  }
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: true });
    const video = await play(Object.assign(document.createElement("video"), { srcObject: stream }));
    $("webcam").setAttribute("aria-pressed", "true");
    return replace(video, "webcam");
  } catch (error) {
    stop();
    return say(`the webcam cannot be used: ${error.message}`);
  }
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
