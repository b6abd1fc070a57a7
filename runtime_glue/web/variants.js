// Pick the variant of a build for a context or a WebGPU device. Fetched only where a build has variants.

import { malformed, SCHEDULE } from "./document.js";
import { ShadergenError } from "./errors.js";
import { MAX_SCHEDULE_BYTES, resolve, textOf } from "./files.js";

const MARKS = ["r", "tm"];

/**
 * Return the first variant for the context's renderer, or for WebGPU, whose requirements are met, at
 * `sizes` where they are given; the build itself where there is none. A device that meets no variant's
 * requirements is refused for these: the build itself is in GLSL. `open` makes a build of the text of a
 * schedule.
 */
export async function pick(build, sizes, device, get, open) {
  const onGl = Boolean(device.getParameter);
  const { checkRequirements } = await (onGl ? import("./device.js") : import("./webgpu/device.js"));
  const words = onGl && wordsOf(rendererOf(device));
  const matched = (patterns) => patterns.some((pattern) => matches(pattern, words));
  let refusal;
  for (const { name, schedule, renderers, others, wgsl } of build.variants) {
    if (onGl ? !matched(renderers) || matched(others) : !wgsl) continue;
    const found = await openVariant(build.url, schedule, get, open);
    found.variant = found.source.variant = name; // of the source: for other sizes, too
    try {
      checkRequirements(device, sizes ? found.resized(sizes) : found);
      return found;
    } catch (error) {
      if (error.code !== "SG0602" && error.code !== "SG0605") throw error;
      refusal ??= error;
    }
  }
  if (refusal && !onGl && !build.requires.wgsl) throw refusal;
  return build;
}

async function openVariant(base, path, get, open) {
  const content = await resolve(base, path, get);
  try {
    if (content.length > MAX_SCHEDULE_BYTES) malformed(`${SCHEDULE} is larger than 64 MiB`);
    const found = await open(textOf(content) ?? malformed(`${SCHEDULE} is not UTF-8`));
    if (found.variants) malformed("the schedule of a variant cannot list variants", `${SCHEDULE}: variants`);
    return found;
  } catch (error) {
    if (!(error instanceof ShadergenError)) throw error;
    // it lies in another file
    error.what = error.what.replace(SCHEDULE, path);
    error.where = error.where.map((where) => where.replace(SCHEDULE, path));
    throw error.at();
  }
}

/** Return the name of what draws, which some browsers give to an extension only. */
function rendererOf(gl) {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  return gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER) ?? "";
}

/** Return the words of a renderer's name, with spaces between and around them. */
export function wordsOf(renderer) {
  const words = (renderer.match(/[A-Za-z0-9]+/g) ?? []).map((word) => word.toLowerCase());
  return ` ${words.filter((word) => !MARKS.includes(word)).join(" ")} `;
}

/** Whether a pattern matches some words: python/renderers.py says how. */
export function matches(pattern, words) {
  let at = 0;
  return ` ${pattern} `.split("*").every((part) => {
    const literal = part.replace(/[^\w ?]/g, "\\$&"); // the schedule may be unchecked
    const search = RegExp(literal.replaceAll("?", "[a-z0-9]"), "g");
    search.lastIndex = at;
    const found = search.exec(words);
    at = search.lastIndex;
    return found;
  });
}
