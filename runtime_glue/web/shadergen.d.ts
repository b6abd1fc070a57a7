// Types of the web runtime. What the members of a schedule mean stands in docs/schedule.md.

/** A mistake that can be mended; docs/errors.md lists the codes. `message` has all of it. */
export class ShadergenError extends Error {
  readonly code: `SG${string}`;
  readonly what: string;
  readonly where: readonly string[];
  readonly why: string;
  readonly supported: string;
  readonly help: string;
}

export type Sizes = Record<string, number>;
export type Numbers =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | BigUint64Array;

/** What the browser can upload as a picture: <img>, <video>, canvas, ImageData, ImageBitmap... */
export type Picture = TexImageSource;

/** Names as in the schedule. `shape` is the model's own. */
export interface Port {
  readonly name: string;
  readonly texture: string;
  readonly shape: readonly number[];
  readonly axes: readonly number[];
  readonly dtype: string;
  readonly encoding: "float" | "unorm8" | "y2rg" | "y2rg_half";
  readonly range?: readonly [number, number] | null;
}

/** A texture of the schedule; 2D ones are as many as `layers`. */
export interface Texture {
  readonly name: string;
  readonly kind: "2d" | "array" | "external";
  readonly format: string;
  readonly width: number;
  readonly height: number;
  readonly layers: number;
  readonly packing: "planes" | "rows";
  readonly channels: number;
  readonly batch: number;
}

/** One draw, as much of it as an application may want to know. */
export interface Pass {
  readonly name: string;
  readonly layers: readonly string[];
  readonly macs: number;
}

/** A size that a build leaves open. */
export interface Parameter {
  readonly name: string;
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

/** A build that was fetched and may be run, at `values` of the sizes that it leaves open. */
export class Build {
  private constructor();
  readonly url: string;
  readonly version: string;
  readonly generator: string;
  readonly model: string;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly textures: readonly Texture[];
  readonly passes: readonly Pass[];
  /** The sizes that it leaves open, and what they may be; absent where it leaves none. */
  readonly sizes?: { readonly parameters: readonly Parameter[] };
  readonly values: Sizes;
  /** The build at other sizes; those not given stay. SG0605 where it cannot have them. */
  resized(sizes: Sizes): Build;
}

export interface LoadOptions {
  /** Gets a file of the build, in place of the page's fetch. */
  fetch?(url: string): Promise<Response>;
  /** SHA-256 of bytes, for pages that are not secure (neither https nor localhost). */
  digest?(bytes: Uint8Array): Promise<ArrayBuffer>;
  /**
   * Whether to take the schedule unchecked: true where the page has loaded the build before, false where it
   * comes from strangers. By default a build of fixed sizes is, that is as the compiler wrote it.
   */
  trusted?: boolean;
}

/** Fetch the build in a folder, checked; `sizes` are those that shall not be its defaults. */
export function load(url: string | URL, sizes?: Sizes, options?: LoadOptions): Promise<Build>;

/** Runs one build on one WebGL 2 context. */
export class Runner {
  constructor(build: Build, gl: WebGL2RenderingContext);
  readonly build: Build;
  readonly gl: WebGL2RenderingContext;
  /** Called when everything is made again after the context was lost: give inputs again. */
  onrestored: (() => void) | null;
  /** Make all GL objects. SG0602 where the GL lacks something, SG0603 where a shader fails. */
  init(): Promise<void>;
  /** Give open sizes other values; the textures and arrays given so far are forgotten. */
  resize(sizes: Sizes): void;
  /** Read an input from an array texture or 2D textures of the application's. */
  bindInput(name: string, texture: WebGLTexture | readonly WebGLTexture[]): void;
  /** Write an output to an array texture or 2D textures of the application's. */
  bindOutput(name: string, texture: WebGLTexture | readonly WebGLTexture[]): void;
  /** The GL texture of an output, texel row 0 being the top row. */
  outputTexture(name?: string, layer?: number): WebGLTexture;
  /** Copy numbers in the model's own order, or a picture of the input's size. */
  upload(name: string | undefined, source: Numbers | Picture): void;
  /** Draw a frame, from a picture or texture where one is given. */
  run(source?: Picture | WebGLTexture | null, options?: { timed?: boolean }): void;
  /** Show an output that is a picture, on the context's canvas or on a 2D one. */
  draw(canvas?: HTMLCanvasElement | OffscreenCanvas, name?: string): void;
  /** An output in the model's own order, by default the only one. Waits for the GPU. */
  read(name?: string): Numbers;
  /** Milliseconds of each pass of the last timed frame; none where the browser has no timer. */
  timings(): Promise<number[]>;
  /** Throw, with SG0604, what GL has to report. */
  check(): void;
  /** Delete all GL objects; the application's textures stay. */
  close(): void;
}

/** @deprecated The name of Runner before 1.0. */
export { Runner as Player };
