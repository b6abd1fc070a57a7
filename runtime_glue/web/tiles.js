// How pictures of any size are cut into tiles of a build's size, so that the result is that of one run.
//
// The schedule says what of the input an element of the output reads (receptive_field). Of each tile, the
// elements count that read nothing beyond the tile, or only what is beyond the picture too. Tiles start at
// multiples of the network's period: the same pixels then meet the same strides as in one run. Where the
// last tile ends beyond the picture, the edge is repeated: there, one run may give other numbers.

import { ShadergenError } from "./errors.js";

/**
 * Return { tiles, result, extended } of one axis: the tiles, the length of the result, and by how many
 * pixels the last tile, or the only one, ends beyond the picture.
 *
 * A tile starts at `at` of the picture and gives `from` to `to` of the result, which begin at `inside` of
 * the tile's own. Returns null where a tile is too short for what an element reads. Throws SG0605 where the
 * picture is too short for any result.
 *
 * @param name of the axis: "height" or "width"
 * @param length of the picture
 * @param taken, given: lengths of the build's input and output
 * @param field: of this axis of a receptive field; undefined if the build has none
 * @param beside: pixels that showing an element of the result reads on each side
 */
export function planAxis(name, length, taken, given, field, beside = 0) {
  if (length === taken) return { tiles: [{ at: 0, from: 0, to: given, inside: 0 }], result: given, extended: 0 };
  if (!field) return null;
  const { scale, period } = field;
  const [before, after] = [field.before, field.after].map((reach) => Math.max(reach, beside));
  const [p, q] = scale; // p elements of the input for q of the output
  const place = (element) => Math.ceil((element * q) / p); // in the output
  const result = length > taken ? given + place(length - taken) : given - Math.floor(((taken - length) * q) / p);
  if (result < 1) {
    throw new ShadergenError("SG0605", `a picture with a ${name} of ${length} is too small for the network`, {
      supported: `a ${name} of at least ${Math.floor(taken - (given * p) / q) + 1}`,
      help: "enlarge the picture first, or choose a larger one",
    });
  }
  if (length < taken) return { tiles: [{ at: 0, from: 0, to: result, inside: 0 }], result, extended: taken - length };
  const [first, end] = [place(before), place(taken - after)]; // elements that read the tile only
  const advance = Math.floor(((end - first) * p) / q / period) * period;
  if (advance <= 0) return null;
  const last = Math.ceil((length - taken) / period) * period;
  const starts = [];
  for (let at = 0; at < last; at += advance) starts.push(at);
  starts.push(last);
  // Two tiles meet in the middle of what both have.
  const joints = starts.slice(1).map((at, i) => (place(at) + first + place(starts[i]) + end) >> 1);
  const tiles = starts.map((at, i) => {
    const [from, to] = [joints[i - 1] ?? 0, joints[i] ?? result];
    return { at, from, to, inside: from - place(at) };
  });
  return { tiles, result, extended: last + taken - length };
}
