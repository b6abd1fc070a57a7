// Fetch a build, and check it where nobody has yet; no GL call is made.

import { isNewer, readDocument, shadersOf } from "./document.js";
import { ShadergenError } from "./errors.js";
import { checksum, fetchSchedule, fetchShader, fetchWeights } from "./files.js";

/**
 * A build in memory: the members of its schedule at `values` of its open sizes, the shaders' sources
 * by path, and the weights. `rules` are the functions of checks.js and sizes.js, as far as it needs them.
 */
export class Build {
  constructor(url, source, values, files, rules) {
    const document = rules.resolve?.(source, values) ?? source;
    if (source.sizes) rules.checkForm?.(document, true);
    rules.check?.(document);
    Object.assign(this, document, { url, source, values, files, rules });
  }

  /** Return the build at other sizes; those not given stay. SG0605 where it cannot have them. */
  resized(sizes) {
    if (this.sizes) return this.rules.resized(this, sizes);
    const [name] = Object.keys(sizes);
    if (name === undefined) return this;
    throw new ShadergenError("SG0605", `the build has no size '${name}'`, {
      why: "all its sizes are fixed",
      help: "compile the model with --input-size dynamic",
    });
  }

  /** Return a range of the weights. */
  bytesOf({ offset, size }) {
    return this.files.weights.subarray(offset, offset + size);
  }
}

/**
 * Fetch the build in a folder, checked; `sizes` are those that shall not be its defaults.
 *
 * Throws a ShadergenError, SG0502 to SG0505, for whatever keeps the build from being run; SG0605,
 * when it cannot have these sizes. `fetch` may be given to get files elsewhere: from an archive, with
 * credentials; `digest`, SHA-256 of bytes, for pages where the browser offers none. `trusted` says
 * whether the schedule is taken unchecked but for its version. Where it is not given, that is when
 * the sizes are fixed and the schedule's own checksum says that it is as the compiler wrote it, after
 * the same checks. Modules that are not needed are not fetched. Of a build with variants for several
 * devices, the one for the context `gl` is fetched; without `gl`, the generic one.
 */
export async function load(url, sizes, options = {}) {
  const subtle = globalThis.crypto?.subtle;
  const {
    fetch: get = (file) => fetch(file),
    digest = subtle && ((bytes) => subtle.digest("SHA-256", bytes)),
    trusted,
    gl,
  } = options;
  const base = new URL(`${url}`.replace(/\/*$/, "/"), globalThis.document?.baseURI).href;
  const open = async (text) => {
    const document = readDocument(text);
    const dynamic = document?.sizes;
    let rules = {};
    if (!(trusted ?? (!dynamic && (await isAsWritten(text, document, digest))))) {
      rules = await import("./checks.js");
    } else if (dynamic) rules = await import("./sizes.js");
    rules.checkText?.(text);
    const newer = isNewer(document);
    rules.checkForm?.(document, newer);
    const files = { shaders: new Map(), weights: new Uint8Array() };
    return new Build(base, document, rules.defaults?.(document) ?? {}, files, rules);
  };
  try {
    let build = await open(await fetchSchedule(base, get));
    if (gl && build.variants) {
      const { pick } = await import("./variants.js");
      build = await pick(build, sizes, gl, get, open);
    }
    const { files } = build;
    const paths = [...new Set(build.passes.flatMap(shadersOf))].sort();
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

/** Return whether a schedule holds the checksum of its own text, the checksum itself being zeros. */
async function isAsWritten(text, document, digest) {
  const own = document?.sha256;
  if (!digest || typeof own !== "string") return false;
  const zeroed = text.replace(own, "0".repeat(64));
  return (await checksum(new TextEncoder().encode(zeroed), digest)) === own;
}
