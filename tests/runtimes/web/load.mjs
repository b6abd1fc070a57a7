// Loads builds for test_load.py: a line of JSON in, {url, sizes, renderer, ...}, a line out.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { load } from "../../../runtime_glue/web/shadergen.js";
import { evaluate } from "../../../runtime_glue/web/sizes.js";

const files = async (url) => {
  const bytes = new Uint8Array(await readFile(new URL(url)));
  return { ok: true, arrayBuffer: async () => bytes.buffer };
};

/** Return a WebGL 2 that tells its name and its limits, all one number, and can do nothing else. */
function context(renderer, limit) {
  const gl = {
    getExtension: () => ({ UNMASKED_RENDERER_WEBGL: "renderer" }),
    getParameter: (name) => (name === "renderer" ? renderer : limit),
  };
  const has = (_, name) => !/STORAGE|IMAGES|COMPUTE|WORKGROUP/.test(name); // of OpenGL ES 3.1
  return new Proxy(gl, { has, get: (target, name) => target[name] ?? name });
}

async function answer({ url, sizes, insecure, trusted, expression, renderer, limit = 100 }) {
  try {
    if (expression) return { value: evaluate(expression, sizes) };
    const options = insecure ? { digest: null } : {};
    if (renderer !== undefined) options.gl = context(renderer, limit);
    const build = await load(url, sizes, { fetch: files, trusted, ...options });
    const { textures, inputs, outputs, passes, values, variant } = build;
    const shaders = Object.fromEntries(build.files.shaders);
    const weights = build.files.weights.length;
    return { build: { textures, inputs, outputs, passes, values, shaders, weights, variant } };
  } catch (error) {
    if (typeof error === "string") return { text: error };
    const { code, what, where, why, supported, message } = error;
    return { code: code ?? "", what, where, why, supported, message, stack: error.stack };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
