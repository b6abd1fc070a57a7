// Compile and link shaders; passes with equal shaders share a program. Does not wait where the
// browser can tell when a program is ready.

import { lost, until } from "./device.js";
import { samplersOf, shadersOf } from "./document.js";
import { ShadergenError } from "./errors.js";
import { COPY } from "./files.js";

/** Start to compile and link; return a program whose result nobody has asked for yet. */
export function startProgram(gl, sources, cache = new Map()) {
  const program = gl.createProgram();
  const shaders = sources.map((source, i) => {
    const key = i + source;
    if (!cache.has(key)) {
      const shader = gl.createShader(i ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      cache.set(key, shader);
    }
    gl.attachShader(program, cache.get(key));
    return cache.get(key);
  });
  gl.linkProgram(program);
  return { program, shaders };
}

/** Resolve when all programs are linked, or at once where the browser cannot tell; count those linked. */
export async function untilLinked(gl, programs, count) {
  const extension = gl.getExtension("KHR_parallel_shader_compile");
  const status = extension?.COMPLETION_STATUS_KHR;
  for (const { program } of extension ? programs : []) {
    await until(() => gl.isContextLost() || gl.getProgramParameter(program, status));
    count?.();
  }
}

/**
 * Compile the shaders of a build; return the program of each pass.
 *
 * A program has `units`, the texture unit of each sampler, and `bindings`, of each uniform block.
 * Throws SG0603 with the numbered source around each complaint, and SG0503 where a buffer is smaller
 * than its block. `progress` gets the programs linked so far, and how many there are: at the start, at the
 * end, and between as far as the browser tells.
 */
export async function buildPrograms(gl, build, own, progress) {
  const cache = new Map();
  const programs = new Map();
  const ofPass = build.passes.map((pass) => {
    const sources = shadersOf(pass).map((path) => build.files.shaders.get(path));
    const key = sources.join("\0");
    if (!programs.has(key)) {
      const made = startProgram(gl, sources, cache);
      programs.set(key, { ...made, sources, passes: [], units: new Map(), bindings: new Map() });
      own("deleteProgram", made.program);
    }
    programs.get(key).passes.push(pass);
    return programs.get(key);
  });
  try {
    let linked = 0;
    progress(linked, programs.size);
    await untilLinked(gl, programs.values(), () => progress(++linked, programs.size));
    for (const program of programs.values()) await finish(gl, build, program);
    if (linked < programs.size) progress(programs.size, programs.size);
  } finally {
    for (const shader of cache.values()) gl.deleteShader(shader);
    gl.useProgram(null);
  }
  return ofPass;
}

async function finish(gl, build, { program, shaders, sources, passes, units, bindings }) {
  const [pass] = passes;
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    if (gl.isContextLost()) throw lost();
    const bad = shaders.findIndex((s) => !gl.getShaderParameter(s, gl.COMPILE_STATUS));
    const [log, path] = [gl.getShaderInfoLog(shaders[bad] ?? shaders[1]), shadersOf(pass)[bad]];
    if (bad < 0) {
      const what = `the shaders of pass '${pass.name}' do not link`;
      throw refusal(what, gl.getProgramInfoLog(program), pass.shader, pass);
    }
    // few ever need it, and who does has the complaints even where it cannot be fetched
    const { interleave } = await import("./explain.js").catch(() => ({ interleave: (text) => text }));
    const what = `the shader '${path}' does not compile`;
    throw refusal(what, interleave(log ?? "", sources[bad]), path, pass);
  }
  gl.useProgram(program);
  for (const { uniform } of passes.flatMap(samplersOf)) {
    if (!units.has(uniform)) units.set(uniform, units.size);
    gl.uniform1i(gl.getUniformLocation(program, uniform), units.get(uniform));
  }
  for (const user of passes) bindBlocks(gl, build, program, user, bindings);
}

/** Give each block of a pass a binding; a block that the compiler dropped gets none. */
function bindBlocks(gl, build, program, pass, bindings) {
  for (const { block, buffer: name } of pass.blocks) {
    const index = gl.getUniformBlockIndex(program, block);
    if (index === gl.INVALID_INDEX) continue;
    if (!bindings.has(block)) bindings.set(block, bindings.size);
    gl.uniformBlockBinding(program, index, bindings.get(block));
    const { size } = build.buffers.find((buffer) => buffer.name === name);
    const needed = gl.getActiveUniformBlockParameter(program, index, gl.UNIFORM_BLOCK_DATA_SIZE);
    if (size < needed) {
      const what = `the buffer '${name}' has ${size} bytes, the block ${block} takes ${needed}`;
      throw new ShadergenError("SG0503", what, { where: [pass.shader, `pass ${pass.name}`] });
    }
  }
}

function refusal(what, log, path, { name, layers }) {
  const where = [path, `pass ${name}`];
  if (layers.length) where.push(`layers ${layers.join(", ")}`);
  return new ShadergenError("SG0603", what, {
    where,
    why: log || "the driver gives no reason",
    help: `${COPY}\nif the build is intact, report this with the driver's name`,
  });
}
