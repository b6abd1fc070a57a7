// Time each pass on the GPU, with EXT_disjoint_timer_query_webgl2.

import { until } from "./device.js";

/** Queries for the draws of a frame, or nothing where the browser offers none. */
export class Timer {
  #used = false;

  constructor(gl, objects, count) {
    this.gl = gl;
    this.extension = gl.getExtension("EXT_disjoint_timer_query_webgl2");
    const made = () => objects.make("Query");
    this.queries = this.extension ? Array.from({ length: count }, made) : [];
  }

  /** Draw passes, the draw being the last call of each; a query spans it and not the binds. */
  run(passes) {
    const { gl, extension, queries } = this;
    passes.forEach((calls, i) => {
      calls.slice(0, -1).forEach((call) => call());
      if (extension) gl.beginQuery(extension.TIME_ELAPSED_EXT, queries[i]);
      calls.at(-1)();
      if (extension) gl.endQuery(extension.TIME_ELAPSED_EXT);
    });
    this.#used = Boolean(extension);
  }

  /** Return the milliseconds of each pass of the last frame run; none where there are none to trust. */
  async milliseconds() {
    const { gl, extension, queries } = this;
    if (!this.#used) return [];
    const done = () => gl.getQueryParameter(queries.at(-1), gl.QUERY_RESULT_AVAILABLE);
    await until(() => gl.isContextLost() || done());
    if (gl.isContextLost() || gl.getParameter(extension.GPU_DISJOINT_EXT)) return [];
    return queries.map((query) => gl.getQueryParameter(query, gl.QUERY_RESULT) / 1e6);
  }
}
