// Times of GPU passes, by timestamps that the GPU writes.

const BYTES = 8; // of a timestamp, in nanoseconds

/** Two timestamps for each of a number of passes. */
export class Timer {
  constructor(device, count) {
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const size = 2 * BYTES * count;
    Object.assign(this, { device, count });
    this.queries = device.createQuerySet({ type: "timestamp", count: 2 * count });
    this.times = device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
    this.mapped = device.createBuffer({ size, usage: COPY_DST | MAP_READ });
  }

  /** Return what makes a pass write its timestamps. */
  of(index) {
    const [beginningOfPassWriteIndex, endOfPassWriteIndex] = [2 * index, 2 * index + 1];
    const querySet = this.queries;
    return { timestampWrites: { querySet, beginningOfPassWriteIndex, endOfPassWriteIndex } };
  }

  /** Record that the timestamps become readable. */
  resolve(encoder) {
    encoder.resolveQuerySet(this.queries, 0, 2 * this.count, this.times, 0);
  }

  /** Return the milliseconds of each pass; waits for the GPU. Who asks meanwhile gets the same. */
  milliseconds() {
    this.reading ??= this.#read().finally(() => (this.reading = null));
    return this.reading;
  }

  async #read() {
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.times, 0, this.mapped, 0, this.times.size);
    this.device.queue.submit([encoder.finish()]);
    await this.mapped.mapAsync(GPUMapMode.READ);
    const stamps = [...new BigUint64Array(this.mapped.getMappedRange())];
    this.mapped.unmap();
    return Array.from({ length: this.count }, (_, i) => Number(stamps[2 * i + 1] - stamps[2 * i]) / 1e6);
  }

  destroy() {
    for (const object of [this.queries, this.times, this.mapped]) object.destroy();
  }
}
