// Errors that teach, of the same codes and words as in Python: errors.py, docs/errors.md.

/** A mistake of the user: `code`, `what`, `where`, `why`, `supported`, `help`. */
export class ShadergenError extends Error {
  constructor(code, what, { where = [], why = "", supported = "", help = "" } = {}) {
    super(what);
    Object.assign(this, { name: "ShadergenError", code, what, why, supported, help });
    this.where = [where].flat();
    this.at();
  }

  /** Add an outer place (a build around a member, say) and return the same error. */
  at(...where) {
    this.where = [...new Set([...where, ...this.where])];
    this.message = this.render();
    return this;
  }

  /** Return the whole message, a line for each part. */
  render() {
    const lines = [`error[${this.code}]: ${this.what}`];
    if (this.where.length) lines.push(`  --> ${this.where.join(", ")}`);
    for (const label of ["why", "supported", "help"]) {
      for (const line of this[label] ? this[label].split("\n") : []) {
        lines.push(`  = ${label}: ${line}`);
      }
    }
    return lines.join("\n");
  }
}
