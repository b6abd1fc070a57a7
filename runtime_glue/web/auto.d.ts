// Types of auto.js.

import type { LoadOptions, Runner as WebGlRunner, Sizes } from "./shadergen.js";
import type { LoadOptions as WebGpuOptions, Runner as WebGpuRunner } from "./webgpu/index.js";

/** On WebGPU `device` is the GPUDevice, on WebGL 2 `gl` is the context; the other is undefined. */
export type AnyRunner = (WebGlRunner & { device?: undefined }) | (WebGpuRunner & { gl?: undefined });

/** Those of both runtimes: with `device` or else `gl`, the build runs there and nowhere else. */
export type OpenOptions = LoadOptions &
  WebGpuOptions & {
    /** Called as shaders get ready: those compiled so far, and how many there are. */
    onprogress?(compiled: number, total: number): void;
  };

/** Fetch a build and return an initialised runner: on WebGPU where the browser and build have it, else WebGL 2. */
export function open(url: string | URL, sizes?: Sizes, options?: OpenOptions): Promise<AnyRunner>;
