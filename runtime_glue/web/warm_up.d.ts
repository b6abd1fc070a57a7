// Types of warm_up.js.

import type { AnyRunner } from "./auto.js";
import type { Runner as WebGlRunner } from "./shadergen.js";
import type { Runner as WebGpuRunner } from "./webgpu/index.js";

/**
 * Draw a frame of zeros and resolve when the GPU has drawn it, so that the next frame is as quick as later ones.
 * Call it after init(), before you bind inputs or outputs. SG0604 if the GL reports an error or is lost.
 */
export function warmUp(runner: AnyRunner | WebGlRunner | WebGpuRunner): Promise<void>;
