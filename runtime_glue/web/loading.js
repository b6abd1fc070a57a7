// Fetch and check a build; no GL call is made.

import { isNewer, malformed, readDocument, shadersOf } from "./document.js";
import { ShadergenError } from "./errors.js";
import { fetchSchedule, fetchShader, fetchWeights } from "./files.js";

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
    const { url, source, files, rules } = this;
    const values = chosen(source, this.values, sizes);
    if (Object.keys(values).every((name) => values[name] === this.values[name])) return this;
    try {
      return new Build(url, source, values, files, rules);
    } catch (error) {
      if (error.code !== "SG0503") throw error;
      throw unfit(values, [...error.where, error.what].join(": "));
    }
  }

  /** Return a range of the weights. */
  bytesOf({ offset, size }) {
    return this.files.weights.subarray(offset, offset + size);
  }
}

/**
 * Fetch and check the build in a folder, `sizes` being those that shall not be its defaults.
 *
 * Throws a ShadergenError, SG0502 to SG0505, for whatever keeps the build from being played; SG0605,
 * when it cannot have these sizes. `fetch` may be given to get files elsewhere: from an archive, with
 * credentials; `digest`, SHA-256 of bytes, for pages where the browser offers none. With `trusted` the
 * schedule is not checked beyond its version, nor are the modules fetched that do it.
 */
export async function load(url, sizes, options = {}) {
  const subtle = globalThis.crypto?.subtle;
  const {
    fetch: get = (file) => fetch(file),
    digest = subtle && ((bytes) => subtle.digest("SHA-256", bytes)),
    trusted = false,
  } = options;
  const base = new URL(`${url}`.replace(/\/*$/, "/"), globalThis.document?.baseURI).href;
  try {
    const checking = trusted ? {} : import("./checks.js");
    checking.catch?.(() => {}); // it is awaited below, unless there is no build
    const content = await fetchSchedule(base, get);
    const checks = await checking;
    const document = readDocument(content, checks.checkText);
    const newer = isNewer(document);
    checks.checkForm?.(document, newer);
    // a build of fixed sizes is refused where it has expressions
    const open = document.sizes || !trusted ? await import("./sizes.js") : {};
    const build = loadDefault(base, document, { ...checks, ...open });
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

function loadDefault(base, document, rules) {
  const files = { shaders: new Map(), weights: new Uint8Array() };
  try {
    return new Build(base, document, rules.defaults?.(document) ?? {}, files, rules);
  } catch (error) {
    if (error.code === "SG0605") malformed(`its own defaults break a constraint: ${error.why}`);
    throw error;
  }
}

/** Return the present sizes with others in place of some; SG0605 where the build has no such. */
function chosen({ sizes }, present, wanted) {
  const values = Object.assign(Object.create(null), present);
  for (const [name, value] of Object.entries(wanted)) {
    const parameter = sizes?.parameters.find((p) => p.name === name);
    if (!parameter) {
      throw new ShadergenError("SG0605", `the build has no size '${name}'`, {
        why: sizes ? "" : "all its sizes are fixed",
        supported: Object.keys(present).join(", "),
        help: sizes ? "" : "compile the model with --input-size dynamic",
      });
    }
    const { min, max } = parameter;
    if (!Number.isInteger(value) || value < min || value > max) {
      const own = sizes.constraints.find(
        (c) => `${c.value}` === name && (value < c.min || value > c.max),
      );
      throw new ShadergenError("SG0605", `${value} is no ${name} of this build`, {
        why: own?.why,
        supported: `${min} to ${max}`,
      });
    }
    values[name] = value;
  }
  return values;
}

/** Return the error of sizes that the build cannot have. */
export function unfit(values, why) {
  const sizes = Object.entries(values).map(([name, value]) => `a ${name} of ${value}`);
  return new ShadergenError("SG0605", `the build cannot have ${sizes.join(" and ")}`, { why });
}
