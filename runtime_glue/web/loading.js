// Fetch and check a build; no GL call is made.

import { check } from "./checks.js";
import { checkForm, malformed, readDocument } from "./document.js";
import { ShadergenError } from "./errors.js";
import { fetchSchedule, fetchShader, fetchWeights } from "./files.js";
import { chosen, defaults, refuse, resolve } from "./sizes.js";

/**
 * A build in memory: the members of its schedule at `values` of its open sizes, the shaders' sources
 * by path, and the weights.
 */
export class Build {
  constructor(url, source, values, files) {
    const document = resolve(source, values);
    if (source.sizes) checkForm(document, true);
    check(document);
    Object.assign(this, document, { url, source, values, files });
  }

  /** Return the build at other sizes; those not given stay. SG0605 where it cannot have them. */
  resized(sizes) {
    const { url, source, files } = this;
    const values = chosen(source, this.values, sizes);
    if (Object.keys(values).every((name) => values[name] === this.values[name])) return this;
    try {
      return new Build(url, source, values, files);
    } catch (error) {
      if (error.code !== "SG0503") throw error;
      return refuse(values, [...error.where, error.what].join(": "));
    }
  }

  /** Return a range of the weights. */
  bytesOf({ offset, size }) {
    return this.files.weights.subarray(offset, offset + size);
  }
}

/** Return the paths of a pass's shaders. */
export const shadersOf = (pass) => (pass.vertex ? [pass.vertex, pass.shader] : [pass.shader]);

/**
 * Fetch and check the build in a folder, `sizes` being those that shall not be its defaults.
 *
 * Throws a ShadergenError, SG0502 to SG0505, for whatever keeps the build from being played; SG0605,
 * when it cannot have these sizes. `fetch` may be given to get files elsewhere: from an archive, with
 * credentials; `digest`, SHA-256 of bytes, for pages where the browser offers none.
 */
export async function load(url, sizes, options = {}) {
  const subtle = globalThis.crypto?.subtle;
  const {
    fetch: get = (file) => fetch(file),
    digest = subtle && ((bytes) => subtle.digest("SHA-256", bytes)),
  } = options;
  const base = new URL(`${url}`.replace(/\/*$/, "/"), globalThis.document?.baseURI).href;
  try {
    const build = loadDefault(base, readDocument(await fetchSchedule(base, get)));
    const { files, passes } = build;
    const paths = [...new Set(passes.flatMap(shadersOf))].sort();
    const [weights, ...shaders] = await Promise.allSettled([
      fetchWeights(base, build.weights, get, digest),
      ...paths.map((path) => fetchShader(base, path, get)),
    ]);
    const failed = [...shaders, weights].find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
    paths.forEach((path, i) => files.shaders.set(path, shaders[i].value));
    files.weights = weights.value;
    return sizes ? build.resized(sizes) : build;
  } catch (error) {
    throw error instanceof ShadergenError ? error.at(base) : error;
  }
}

function loadDefault(base, document) {
  const files = { shaders: new Map(), weights: new Uint8Array() };
  try {
    return new Build(base, document, defaults(document), files);
  } catch (error) {
    if (error.code === "SG0605") malformed(`its own defaults break a constraint: ${error.why}`);
    throw error;
  }
}
