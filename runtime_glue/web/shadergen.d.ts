// Types of the web runtime. docs/schedule.md describes the members of a schedule.

/** A mistake of the user; docs/errors.md lists the codes. `message` is the complete text. */
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

/** A texture of the schedule. Kind 2d has one GL texture for each of the `layers`. */
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

/** One draw: its name, layers and work. */
export interface Pass {
  readonly name: string;
  readonly layers: readonly string[];
  readonly macs: number;
}

/** A dynamic size of a build. */
export interface Parameter {
  readonly name: string;
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

/** A fetched and checked build, at the dynamic sizes `values`. */
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
  /** The dynamic sizes and their bounds; absent in a build of fixed sizes. */
  readonly sizes?: { readonly parameters: readonly Parameter[] };
  readonly values: Sizes;
  /** The name of the variant that was picked; undefined for the generic build. */
  readonly variant?: string;
  /** The build at other sizes; sizes not given stay. SG0605 if the build does not support the sizes. */
  resized(sizes: Sizes): Build;
}

export interface LoadOptions {
  /** Fetches a file of the build instead of the page's fetch. */
  fetch?(url: string): Promise<Response>;
  /** SHA-256 of bytes, for pages that are not secure (neither https nor localhost). */
  digest?(bytes: Uint8Array): Promise<ArrayBuffer>;
  /**
   * true: never check the schedule (the page has loaded the build before); false: always check the schedule
   * (an untrusted build). By default a build of fixed sizes with a matching checksum is not checked.
   */
  trusted?: boolean;
  /** The context that will run the build. If the build has variants, the one for this context is fetched. */
  gl?: WebGL2RenderingContext;
}

/** Fetch and check the build in a folder, at its default sizes or at `sizes`. */
export function load(url: string | URL, sizes?: Sizes, options?: LoadOptions): Promise<Build>;

/** Runs one build on one WebGL 2 context. */
export class Runner {
  constructor(build: Build, gl: WebGL2RenderingContext);
  readonly build: Build;
  readonly gl: WebGL2RenderingContext;
  /** Called after a lost context was restored: bind or upload inputs again. */
  onrestored: (() => void) | null;
  /** Called as shaders get ready: those compiled so far, and how many there are. Some browsers tell only the end. */
  onprogress: ((compiled: number, total: number) => void) | null | undefined;
  /** Create all GL objects. SG0602 if the GL lacks something, SG0603 if a shader does not compile. */
  init(): Promise<void>;
  /** Change dynamic sizes; releases bound and uploaded textures. */
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
  /** Resolves when the GPU has done what it was given; the page goes on meanwhile. */
  wait(): Promise<void>;
  /** Milliseconds of each pass of the last timed frame; empty if the browser has no timer. */
  timings(): Promise<number[]>;
  /** Throw GL errors as SG0604. */
  check(): void;
  /** Delete all GL objects; the application's textures stay. */
  close(): void;
}

/** @deprecated The name of Runner before 1.0. */
export { Runner as Player };
