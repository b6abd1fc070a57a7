// Fetch a build, and check it unless its checksum shows that the compiler wrote it. Makes no GL call.

import { isNewer, readDocument, shadersOf } from "./document.js";
import { ShadergenError } from "./errors.js";
import { checksum, fetchSchedule, fetchShader, fetchWeights } from "./files.js";
import { named } from "./pixels.js";

/**
 * A build in memory: the members of its schedule at `values` of its dynamic sizes, the shaders' sources
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
    if (Object(sizes) !== sizes) {
      throw new ShadergenError("SG0605", `sizes are an object, not ${named(sizes)}`, {
        help: "name them, as in { height: 720, width: 1280 }",
      });
    }
    if (this.sizes) return this.rules.resized(this, sizes);
    const [name] = Object.keys(sizes);
    if (name === undefined) return this;
    throw new ShadergenError("SG0605", `the build has no dynamic size '${name}'`, {
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
 * Fetch and check the build in a folder; `sizes` are dynamic sizes, others keep their defaults.
 *
 * Throws a ShadergenError: SG0502 to SG0505 if the build is invalid, SG0605 if the build does not
 * support the sizes. `fetch` can replace the page's fetch, to read an archive or send credentials.
 * `digest` is SHA-256 for pages without `crypto.subtle`. With `trusted` only the schedule's version is
 * checked; by default a build of fixed sizes with a matching checksum is trusted, because the compiler
 * made the same checks. Modules that are not needed are not fetched. If the build has variants, the
 * variant for the context `gl`, or for the WebGPU device `device`, is fetched; without, the generic build.
 */
export async function load(url, sizes, options = {}) {
  const subtle = globalThis.crypto?.subtle;
  const {
    fetch: get = (file) => fetch(file),
    digest = subtle && ((bytes) => subtle.digest("SHA-256", bytes)),
    trusted,
    gl,
    device = gl,
  } = options;
  const base = new URL(`${url}`.replace(/\/*$/, "/"), globalThis.document?.baseURI ?? globalThis.location?.href).href;
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
    if (device && build.variants) {
      const { pick } = await import("./variants.js");
      build = await pick(build, sizes, device, get, open);
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
