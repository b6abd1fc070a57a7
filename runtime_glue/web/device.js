// Limits and extensions of a WebGL 2 context, checked against a build's requirements.

import { ShadergenError } from "./errors.js";

// Requirements whose name in WebGL is not the schedule's after MAX_. WebGL 2, being OpenGL ES 3.0, has
// no number for many.
const LIMITS = {
  texture_units: "MAX_TEXTURE_IMAGE_UNITS",
  uniform_blocks: "MAX_FRAGMENT_UNIFORM_BLOCKS",
};
export const ACCELERATION = "turn on graphics acceleration in the browser's settings";
const ERRORS = ["ENUM", "VALUE", "OPERATION", "FRAMEBUFFER_OPERATION"].map((e) => `INVALID_${e}`);
const MAX_ERRORS = 32;
const POLL_MILLISECONDS = 4;

/** Refuse, with SG0602, a context that lacks what the build requires; names all of it. */
export function checkRequirements(gl, { requires }) {
  const float = gl.getExtension("EXT_color_buffer_float");
  const half = float ?? gl.getExtension("EXT_color_buffer_half_float");
  const missing = requires.wgsl ? ["support for WGSL, the build's shader language"] : [];
  if (requires.glsl > 300) {
    missing.push(`OpenGL ES 3.${(requires.glsl % 100) / 10} (WebGL 2 is OpenGL ES 3.0)`);
  }
  if (requires.color_buffer === "float" && !float) {
    missing.push("EXT_color_buffer_float, needed to draw to 32-bit float textures");
  }
  if (requires.color_buffer === "half_float" && !half) {
    missing.push("EXT_color_buffer_half_float or _float, needed to draw to 16-bit float textures");
  }
  missing.push(...(requires.extensions ?? []).map((name) => `${name}, which no browser has`));
  for (const [name, needed] of Object.entries(requires.limits)) {
    const enumerant = LIMITS[name] ?? `MAX_${name.toUpperCase()}`;
    const known = enumerant in gl;
    let offered = known ? gl.getParameter(gl[enumerant]) : 0;
    if (name === "draw_buffers") {
      offered = Math.min(offered, gl.getParameter(gl.MAX_COLOR_ATTACHMENTS));
    }
    if (needed <= offered) continue;
    const reason = known ? `${enumerant} is ${offered}` : "WebGL 2 has none";
    missing.push(`${name.replaceAll("_", " ")} >= ${needed} (${reason})`);
  }
  if (!missing.length) return;
  throw new ShadergenError("SG0602", `this GL lacks ${missing[0]}`, {
    where: `${gl.getParameter(gl.RENDERER)}, ${gl.getParameter(gl.VERSION)}`,
    why: missing.slice(1).map((m) => `the build also requires ${m}`).join("\n"),
    help: "compile the model for browsers: --device webgl2-min",
  });
}

/** Return a canvas that is not shown; workers have no document. */
export const makeCanvas = () => globalThis.document?.createElement("canvas") ?? new OffscreenCanvas(1, 1);

/** Resolve when something is done, by asking now and then. */
export async function until(done, next = later) {
  while (!done()) await next();
}

const later = () => new Promise((next) => setTimeout(next, POLL_MILLISECONDS));

/** Resolve in a task of its own; unlike a timer, not slower in a tab that is not shown. */
export function nextTask() {
  return new Promise((go) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (port1.close(), go());
    port2.postMessage(null);
  });
}

/** Take the errors that the application left, so that they are not laid at our door. */
export function forgetErrors(gl) {
  for (let i = 0; i < MAX_ERRORS && gl.getError(); i++);
}

/** Throw, with SG0604, what GL reports; `doing` completes "while ...". */
export function checkErrors(gl, doing) {
  const found = new Set();
  for (let i = 0, error; i < MAX_ERRORS && (error = gl.getError()); i++) found.add(error);
  if (gl.isContextLost()) throw lost();
  if (!found.size) return;
  const known = [...ERRORS, "OUT_OF_MEMORY"];
  const names = [...found].map((error) => `GL_${known.find((name) => gl[name] === error) ?? error}`);
  throw new ShadergenError("SG0604", `GL reports ${names.join(", ")} while ${doing}`, {
    help: found.has(gl.OUT_OF_MEMORY)
      ? "the GPU's memory is full: use a smaller input size, or --precision fp16"
      : "",
  });
}

/** Return the error of a context that is gone. */
export function lost() {
  return new ShadergenError("SG0604", "the GL context was lost", {
    help: "the runner continues once the browser restores it",
  });
}
