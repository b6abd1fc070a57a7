// All GL objects of a build, created once. Programs and weights stay when sizes change; what depends on
// sizes (textures, framebuffers, uniforms) is a set of its own, which is replaced.

import { checkErrors } from "./device.js";
import { samplersOf } from "./document.js";
import { buildPrograms } from "./programs.js";
import { attach, fillTextures, makeTextures, sampleNearest, targetOf } from "./textures.js";

// state of the application that would change what is drawn
const OFF = [
  "BLEND",
  "CULL_FACE",
  "DEPTH_TEST",
  "DITHER",
  "RASTERIZER_DISCARD",
  "SAMPLE_ALPHA_TO_COVERAGE",
  "SAMPLE_COVERAGE",
  "SCISSOR_TEST",
  "STENCIL_TEST",
];
const SETTERS = { int: "uniform1i", float: "uniform1f", ivec2: "uniform2i", vec4: "uniform4f" };

/** GL objects that are deleted together. */
export class Objects {
  #made = [];

  constructor(gl) {
    this.gl = gl;
  }

  /** Return an object that is deleted with the others by a function of the context. */
  own = (remove, object) => {
    this.#made.push([remove, object]);
    return object;
  };

  ownTextures(names) {
    return names.map((name) => this.own("deleteTexture", name));
  }

  make(kind) {
    return this.own(`delete${kind}`, this.gl[`create${kind}`]());
  }

  delete() {
    for (const [remove, object] of this.#made.splice(0).reverse()) this.gl[remove](object);
  }
}

/** What does not depend on sizes. */
export class Constants extends Objects {
  textures = new Map();
  buffers = new Map();

  /** Make all of it; where that fails, what was made is the caller's to delete. */
  async fill(build, progress) {
    const { gl } = this;
    this.programs = await buildPrograms(gl, build, this.own, progress);
    this.vertexArray = this.make("VertexArray");
    this.sampler = this.make("Sampler");
    sampleNearest(gl, (parameter, value) => gl.samplerParameteri(this.sampler, parameter, value));
    this.framebuffer = this.make("Framebuffer"); // to read from, and to draw pictures to
    for (const texture of build.textures) {
      if (!texture.data) continue;
      const names = this.ownTextures(makeTextures(gl, texture));
      fillTextures(gl, texture, names, build.bytesOf(texture.data));
      this.textures.set(texture.name, names);
    }
    for (const buffer of build.buffers) {
      const name = this.make("Buffer");
      gl.bindBuffer(gl.UNIFORM_BUFFER, name);
      gl.bufferData(gl.UNIFORM_BUFFER, build.bytesOf(buffer), gl.STATIC_DRAW);
      gl.bindBuffer(gl.UNIFORM_BUFFER, null);
      this.buffers.set(buffer.name, name);
    }
    checkErrors(gl, "the build's GL objects are made");
  }
}

/**
 * What depends on sizes. `textures` holds the GL textures of each tensor by its name: the runner's
 * own, or what the application bound in their place; an input has none at first.
 */
export class Sized extends Objects {
  constructor(gl, build, constants) {
    super(gl);
    this.build = build;
    this.constants = constants;
    this.textures = new Map(constants.textures);
    this.tensors = new Map(build.textures.map((texture) => [texture.name, texture]));
    this.places = new Map(); // of the elements of ports, as they are asked for
    try {
      this.#makeTextures();
      this.framebuffers = build.passes.map(() => this.make("Framebuffer"));
      checkErrors(gl, "textures are made");
      build.passes.forEach((_, i) => this.#attach(i));
      checkErrors(gl, "the build's GL objects are made");
    } catch (error) {
      this.delete();
      throw error;
    }
  }

  #makeTextures() {
    const deepest = new Map(); // of each slot: the rest use the first of its layers
    const own = this.build.textures.filter((texture) => texture.slot !== null && !texture.data);
    for (const texture of own) {
      const known = deepest.get(texture.slot);
      if (!known || texture.layers > known.layers) deepest.set(texture.slot, texture);
    }
    const made = new Map();
    for (const [slot, texture] of deepest) {
      made.set(slot, this.ownTextures(makeTextures(this.gl, texture)));
    }
    for (const { name, slot } of own) this.textures.set(name, made.get(slot));
  }

  /** Let all passes write a tensor to the textures that it has now; SG0602 where GL cannot. */
  rebind(name) {
    this.build.passes.forEach((pass, i) => {
      if (pass.writes.some((write) => write.texture === name)) this.#attach(i);
    });
  }

  #attach(index) {
    const layers = this.build.passes[index].writes.map(({ texture, layer }) => [
      this.tensors.get(texture),
      this.textures.get(texture),
      layer,
    ]);
    attach(this.gl, this.framebuffers[index], layers);
  }

  /**
   * Work out the calls of a frame: before the passes, of each pass, its draw being the last, and
   * after them. Uniforms on which all passes of a program agree are set now.
   */
  record() {
    const { gl, build, constants } = this;
    const { programs } = constants;
    const units = [...Array(Math.max(...programs.map((p) => p.units.size))).keys()];
    const bound = new Map(); // texture by unit and target
    const blocks = new Map(); // buffer by binding
    const varying = setUniforms(gl, programs, build.passes);
    let before = {};
    const passes = build.passes.map((pass, i) => {
      const { program, units: unitOf, bindings } = programs[i];
      const calls = [];
      if (program !== before.program) calls.push(() => gl.useProgram(program));
      for (const read of samplersOf(pass)) {
        const unit = unitOf.get(read.uniform);
        const target = targetOf(gl, this.tensors.get(read.texture));
        const name = this.textures.get(read.texture)[read.layer ?? 0];
        const key = `${unit} ${target}`;
        if (bound.get(key)?.name === name) continue;
        bound.set(key, { unit, target, name });
        calls.push(() => bindTexture(gl, unit, target, name));
      }
      for (const { block, buffer } of pass.blocks) {
        const [binding, name] = [bindings.get(block), constants.buffers.get(buffer)];
        if (binding === undefined || blocks.get(binding) === name) continue;
        blocks.set(binding, name);
        calls.push(() => gl.bindBufferBase(gl.UNIFORM_BUFFER, binding, name));
      }
      calls.push(...varying[i]);
      const framebuffer = this.framebuffers[i];
      const [width, height] = pass.viewport;
      calls.push(() => gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, framebuffer));
      if (`${pass.viewport}` !== before.viewport) calls.push(() => gl.viewport(0, 0, width, height));
      calls.push(() => gl.drawArrays(gl.TRIANGLES, 0, 3));
      before = { program, viewport: `${pass.viewport}` };
      return calls;
    });
    return {
      before: () => prepare(gl, constants, units),
      passes,
      after: () => {
        for (const { unit, target } of bound.values()) bindTexture(gl, unit, target, null);
        for (const at of blocks.keys()) gl.bindBufferBase(gl.UNIFORM_BUFFER, at, null);
        leave(gl, units);
      },
    };
  }
}

export function bindTexture(gl, unit, target, name) {
  gl.activeTexture(gl.TEXTURE0 + unit);
  gl.bindTexture(target, name);
}

/** Set what every draw of the runner's relies on. */
export function prepare(gl, { vertexArray, sampler }, units) {
  for (const name of OFF) gl.disable(gl[name]);
  gl.colorMask(true, true, true, true);
  gl.bindVertexArray(vertexArray);
  for (const unit of units) gl.bindSampler(unit, sampler);
}

/** Leave nothing of the runner's bound. */
export function leave(gl, units) {
  for (const unit of units) gl.bindSampler(unit, null);
  gl.activeTexture(gl.TEXTURE0);
  gl.bindVertexArray(null);
  gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
  gl.useProgram(null);
}

/** Set the uniforms on which a program's passes agree; return, for each pass, calls for the rest. */
function setUniforms(gl, programs, passes) {
  const values = new Map(); // by program, then by name
  passes.forEach((pass, i) => {
    if (!values.has(programs[i])) values.set(programs[i], new Map());
    const known = values.get(programs[i]);
    for (const { name, value } of pass.uniforms) {
      if (!known.has(name)) known.set(name, new Set());
      known.get(name).add(`${value}`);
    }
  });
  const calls = passes.map((pass, i) => {
    const { program } = programs[i];
    gl.useProgram(program);
    return pass.uniforms.flatMap(({ name, type, value }) => {
      const location = gl.getUniformLocation(program, name);
      const set = () => gl[SETTERS[type]](location, ...value);
      set();
      return values.get(programs[i]).get(name).size > 1 ? [set] : [];
    });
  });
  gl.useProgram(null);
  return calls;
}
