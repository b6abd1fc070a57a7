// Pipelines of a build: shaders compiled once for each way in which they are bound, all at once.

import { ShadergenError } from "../errors.js";
import { COPY } from "../files.js";
import { nameOf } from "./textures.js";

/** Compiles pipelines; each is a promise, and made once. */
export class Pipelines {
  #modules = new Map();
  #layouts = new Map();
  #pipelines = new Map();

  constructor(device) {
    this.device = device;
  }

  /** Return the pipeline of a pass and the layout of its bindings; SG0603 if a shader is refused. */
  async of(build, tensors, pass, formats) {
    const words = bindingsOf(build, tensors, pass);
    const key = `${words}`;
    if (!this.#layouts.has(key)) this.#layouts.set(key, this.#layout(words));
    const { group, layout } = this.#layouts.get(key);
    const whole = `${pass.vertex} ${pass.shader} ${key} ${formats}`;
    if (!this.#pipelines.has(whole)) {
      this.#pipelines.set(whole, this.#pipeline(build, pass, formats, layout));
    }
    return { pipeline: await this.#pipelines.get(whole), group };
  }

  #layout(words) {
    const entries = words.map(([stage, kind, a, b], binding) => ({
      binding,
      visibility: GPUShaderStage[stage],
      ...(kind === "buffer" && { buffer: { type: a } }),
      // Of 32-bit floats no device need have filters, and shaders use none.
      ...(kind === "texture" && { texture: { sampleType: "unfilterable-float", viewDimension: a } }),
      ...(kind === "sampler" && { sampler: { type: "non-filtering" } }),
      ...(kind === "image" && { storageTexture: { viewDimension: a, format: b } }),
    }));
    const group = this.device.createBindGroupLayout({ entries });
    return { group, layout: this.device.createPipelineLayout({ bindGroupLayouts: [group] }) };
  }

  async #pipeline(build, pass, formats, layout) {
    const { device } = this;
    const stage = { module: this.#module(build, pass.shader), entryPoint: "main" };
    try {
      if (!pass.vertex) return await device.createComputePipelineAsync({ layout, compute: stage });
      return await device.createRenderPipelineAsync({
        layout,
        vertex: { module: this.#module(build, pass.vertex), entryPoint: "main" },
        fragment: { ...stage, targets: formats.map((format) => ({ format })) },
      });
    } catch (error) {
      const { messages } = await stage.module.getCompilationInfo();
      const lines = build.files.shaders.get(pass.shader).split("\n");
      const said = messages.map(({ lineNum, message }) => `${lineNum}: ${message}\n${lines[lineNum - 1]}`);
      throw new ShadergenError("SG0603", `the shader ${pass.shader} does not compile`, {
        where: `GPU pass '${pass.name}'`,
        why: said.join("\n") || error.message,
        help: COPY,
      });
    }
  }

  #module(build, path) {
    if (!this.#modules.has(path)) {
      const code = build.files.shaders.get(path);
      this.#modules.set(path, this.device.createShaderModule({ label: path, code }));
    }
    return this.#modules.get(path);
  }
}

export const dimensionOf = (texture) => (texture.kind === "array" ? "2d-array" : "2d");

/** Return what a pass binds, in the order of its numbers, as words. */
function bindingsOf(build, tensors, pass) {
  const stage = pass.vertex ? "FRAGMENT" : "COMPUTE";
  const kinds = new Map(build.buffers.map(({ name, kind }) => [name, kind]));
  const words = pass.uniforms.length ? [[stage, "buffer", "uniform"]] : [];
  for (const { texture } of pass.reads) {
    words.push([stage, "texture", dimensionOf(tensors.get(texture))]);
  }
  for (const { buffer } of pass.blocks) {
    words.push([stage, "buffer", kinds.get(buffer) === "storage" ? "read-only-storage" : "uniform"]);
  }
  if (!pass.vertex) {
    const texture = tensors.get(pass.writes[0].texture);
    words.push([stage, "image", dimensionOf(texture), nameOf(texture)]);
  }
  return [...words, [stage, "sampler"]];
}
