// Objects of WebGPU that are destroyed together.

export class Objects {
  #made = [];

  /** Return an object that is destroyed with the others. */
  add(object) {
    this.#made.push(object);
    return object;
  }

  destroy() {
    for (const object of this.#made.splice(0)) object.destroy();
  }
}
