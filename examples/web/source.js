// What a page shows: the sample, a picture or video that a person opened, or the webcam.

import { sample } from "./sample.js";

export const $ = (id) => document.getElementById(id);

/** The canvas, picture or video. */
export let source = sample();
let stream = null;
let changed = () => {};

export const isMoving = () => source instanceof HTMLVideoElement;

/** Call a function, which may wait, whenever the source is another one. */
export function onChange(callback) {
  changed = callback;
}

/** Say what went wrong, or nothing. */
export function say(error) {
  $("message").hidden = !error;
  $("message").textContent = error ? (error.message ?? error) : "";
}

/** Return the width and height of a picture, video or canvas. */
export function sizeOf(thing) {
  return [thing.videoWidth ?? thing.width, thing.videoHeight ?? thing.height];
}

/** Draw the source to a canvas, cut where its shape is another. */
export function take(canvas) {
  const [width, height] = sizeOf(source);
  const scale = Math.max(canvas.width / width, canvas.height / height);
  const [w, h] = [canvas.width / scale, canvas.height / scale];
  const from = [(width - w) / 2, (height - h) / 2, w, h];
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(source, ...from, 0, 0, canvas.width, canvas.height);
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
  return changed();
}

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
  return changed();
});
for (const type of ["dragenter", "dragover", "dragleave", "drop"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", type === "dragenter" || type === "dragover");
    if (type === "drop" && event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
}
