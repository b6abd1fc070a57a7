// A WebGPU device: ask for one, and check it against a build's requirements.

import { ShadergenError } from "../errors.js";

// The schedule's names of limits, and WebGPU's.
const LIMITS = {
  texture_size: "maxTextureDimension2D",
  array_texture_layers: "maxTextureArrayLayers",
  texture_units: "maxSampledTexturesPerShaderStage",
  draw_buffers: "maxColorAttachments",
  uniform_block_size: "maxUniformBufferBindingSize",
  uniform_blocks: "maxUniformBuffersPerShaderStage",
  storage_block_size: "maxStorageBufferBindingSize",
  storage_blocks: "maxStorageBuffersPerShaderStage",
  compute_images: "maxStorageTexturesPerShaderStage",
  compute_texture_units: "maxSampledTexturesPerShaderStage",
  compute_uniform_blocks: "maxUniformBuffersPerShaderStage",
  workgroup_invocations: "maxComputeInvocationsPerWorkgroup",
  workgroup_count: "maxComputeWorkgroupsPerDimension",
};
const ROOM = "maxColorAttachmentBytesPerSample";
const MORE = [ROOM, "maxBufferSize", "maxComputeWorkgroupSizeX"];
const FEATURES = ["shader-f16", "timestamp-query", "float32-filterable"]; // the last is for renderers
const WIDEST_TEXEL = 16; // bytes of a pixel in a render target of four 32-bit floats

/** Return a device with all that the browser's adapter offers a build; SG0601 where there is none. */
export async function requestDevice(options = { powerPreference: "high-performance" }) {
  const adapter = await globalThis.navigator?.gpu?.requestAdapter(options);
  if (!adapter) {
    throw new ShadergenError("SG0601", "this browser offers no WebGPU adapter", {
      help: "open() of auto.js runs a build for --device gles30,webgpu here, on WebGL 2",
    });
  }
  const names = [...new Set([...Object.values(LIMITS), ...MORE])];
  return adapter.requestDevice({
    requiredFeatures: FEATURES.filter((name) => adapter.features.has(name)),
    requiredLimits: Object.fromEntries(names.map((name) => [name, adapter.limits[name]])),
  });
}

/** Refuse, with SG0602, a device that lacks what the build requires; names all of it. */
export function checkRequirements({ features, limits }, { requires }) {
  const missing = requires.wgsl ? [] : ["support for GLSL ES, the build's shader language"];
  if (requires.wgsl === "f16" && !features.has("shader-f16")) {
    missing.push("the feature shader-f16, to compute with 16-bit floats");
  }
  for (const [name, needed] of Object.entries(requires.limits)) {
    const key = LIMITS[name];
    let offered = limits[key] ?? 0;
    if (name === "draw_buffers") offered = Math.min(offered, Math.floor(limits[ROOM] / WIDEST_TEXEL));
    if (name.endsWith("uniform_blocks")) offered -= 1; // one buffer is for sizes
    if (needed <= offered) continue;
    missing.push(`${name.replaceAll("_", " ")} >= ${needed} (${key ?? name} is ${offered})`);
  }
  if (!missing.length) return;
  throw new ShadergenError("SG0602", `this WebGPU lacks ${missing[0]}`, {
    why: missing.slice(1).map((m) => `the build also requires ${m}`).join("\n"),
    help: "compile with --device webgpu, and load(url, {}, { device }) with requestDevice()",
  });
}
