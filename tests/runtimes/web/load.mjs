// Loads builds for test_load.py: a line of JSON in, {url, sizes, options}, a line of JSON out.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { load } from "../../../runtime_glue/web/shadergen.js";
import { evaluate } from "../../../runtime_glue/web/sizes.js";

const files = async (url) => {
  const bytes = new Uint8Array(await readFile(new URL(url)));
  return { ok: true, arrayBuffer: async () => bytes.buffer };
};

async function answer({ url, sizes, insecure, trusted, expression }) {
  try {
    if (expression) return { value: evaluate(expression, sizes) };
    const options = insecure ? { digest: null } : {};
    const build = await load(url, sizes, { fetch: files, trusted, ...options });
    const { textures, inputs, outputs, passes, values } = build;
    const shaders = Object.fromEntries(build.files.shaders);
    const weights = build.files.weights.length;
    return { build: { textures, inputs, outputs, passes, values, shaders, weights } };
  } catch (error) {
    if (typeof error === "string") return { text: error };
    const { code, what, where, why, supported, message } = error;
    return { code: code ?? "", what, where, why, supported, message, stack: error.stack };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
