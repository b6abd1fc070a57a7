// Types of picture_network.js.

import type { AnyRunner, OpenOptions } from "./auto.js";
import type { Build, Picture } from "./shadergen.js";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** A tile along one axis: starts at `at` of the picture, gives `from` to `to` of the result, from `inside` of its own. */
export interface Tile {
  readonly at: number;
  readonly from: number;
  readonly to: number;
  readonly inside: number;
}

/** How a picture of a size is run. */
export interface Plan {
  readonly columns: readonly Tile[];
  readonly rows: readonly Tile[];
  /** The width and height of a tile. */
  readonly frame: readonly [number, number];
  /** The width and height of the result. */
  readonly result: readonly [number, number];
  /** The build at the size of a tile. */
  readonly build: Build;
  /** What a person should know, such as "6 × 4 tiles of 768 × 768, which overlap"; empty if nothing. */
  readonly note: string;
}

export interface RunOptions {
  /** Called after each tile. Where it returns false, the rest is not run. */
  onTile?(done: number, all: number): unknown;
  /** Stops the run: its promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /** false: a result without alpha gets none of the picture's, which saves time. */
  alpha?: boolean;
}

/** A network that turns a picture into a picture, on pictures of any size. */
export class PictureNetwork {
  /** Fetch a build and compile its shaders. SG0605 if it does not turn one picture into another. */
  static open(url: string | URL, options?: OpenOptions): Promise<PictureNetwork>;
  /** A network on an initialised runner of yours. */
  constructor(runner: AnyRunner);
  readonly runner: AnyRunner;
  readonly build: Build;
  /** Refuse, with SG0605, a build that does not turn one picture into another. */
  check(): void;
  /** How a picture of a width and height is run. SG0605 if the network cannot run it. */
  plan(width: number, height: number): Plan;
  /**
   * Run a picture and draw the result to a canvas, which takes its size; the page goes on between tiles. A second
   * call waits for the first. Resolves when the result is drawn: to false if onTile returned false.
   */
  run(picture: Picture, canvas: HTMLCanvasElement | OffscreenCanvas, options?: RunOptions): Promise<boolean>;
  /** Wait until the GPU has done what it was given. */
  wait(): Promise<void>;
  /** Free the runner, and the device or context that open() made. */
  close(): void;
  /** The plan for a picture that the build cannot run in tiles. This class refuses such pictures. */
  protected untiled(build: Build, size: readonly [number, number], why: string): Plan;
  /** Draw the part of a tile's result that is used. */
  protected drawTile(context: Context, plan: Plan, column: Tile, row: Tile, options: RunOptions): void | Promise<void>;
  /** Complete the result once all tiles are drawn: a result without alpha gets that of the picture. */
  protected finish(context: Context, plan: Plan, picture: Picture, options: RunOptions): Promise<void>;
}
