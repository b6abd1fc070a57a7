// Types of the web runtime on WebGPU. Those of WebGPU itself come with TypeScript 6, or @webgpu/types.

import type { Build, LoadOptions as CommonOptions, Numbers, Picture, Sizes } from "../shadergen.js";

export { Build, ShadergenError } from "../shadergen.js";
export type { Numbers, Parameter, Pass, Picture, Port, Sizes, Texture } from "../shadergen.js";

export interface LoadOptions extends Omit<CommonOptions, "gl"> {
  /** The device that will run the build. If the build has variants, the one for WebGPU is fetched. */
  device?: GPUDevice;
}

/** Fetch and check the build in a folder, at its default sizes or at `sizes`. */
export function load(url: string | URL, sizes?: Sizes, options?: LoadOptions): Promise<Build>;

/** A device with all that the browser's adapter offers a build. SG0601 if there is no adapter. */
export function requestDevice(options?: GPURequestAdapterOptions): Promise<GPUDevice>;

/** Runs one build on one WebGPU device. */
export class Runner {
  constructor(build: Build, device: GPUDevice);
  readonly build: Build;
  readonly device: GPUDevice;
  /** Called when the device is lost: give init() another one, then bind or upload inputs again. */
  onlost: ((info: GPUDeviceLostInfo) => void) | null;
  /** Called as shaders get ready: those compiled so far, and how many there are. */
  onprogress: ((compiled: number, total: number) => void) | null | undefined;
  /** Make all objects. SG0602 if the device lacks something, SG0603 if a shader does not compile. */
  init(device?: GPUDevice): Promise<void>;
  /** Change dynamic sizes; releases bound and uploaded textures. */
  resize(sizes: Sizes): Promise<void>;
  /** Read an input from a texture of the page's, with a layer for each plane. */
  bindInput(name: string, texture: GPUTexture): void;
  /** Write an output to a texture of the page's. If its format is not the build's, await ready(). */
  bindOutput(name: string, texture: GPUTexture): void;
  /** Compile what bound outputs of other formats need. */
  ready(): Promise<void>;
  /** The texture of an output, texel row 0 being the top row. */
  outputTexture(name?: string): GPUTexture;
  /** Copy numbers in the model's own order, or a picture or video frame of the input's size. */
  upload(name: string | undefined, source: Numbers | Picture): void;
  /** Run a frame, from a picture, video frame or texture where one is given. */
  run(source?: Picture | GPUTexture | null, options?: { timed?: boolean }): void;
  /** Record a frame into an encoder of the page's. */
  encode(encoder: GPUCommandEncoder, options?: { timed?: boolean }): void;
  /** Show an output that is a picture, on a canvas, which takes its size. */
  draw(canvas: HTMLCanvasElement | OffscreenCanvas, name?: string): void;
  /** An output in the model's own order, by default the only one. */
  read(name?: string): Promise<Numbers>;
  /** Resolves when the GPU has done what it was given. */
  wait(): Promise<void>;
  /** Milliseconds of each pass of the last frame; empty if it was not timed. */
  timings(): Promise<number[]>;
  /** Destroy all that the runner made; the page's textures stay. */
  close(): void;
}
