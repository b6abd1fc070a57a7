// Helpers of rules.js, which is generated from the Python runtime's rules.

import { malformed, SCHEDULE } from "./document.js";

export { asMap, bytesOf as bytes, formatOf, LANES, logicalShape, MAP_RANK, product as prod } from "./pixels.js";
export { isArray } from "./textures.js";

export const COLOR_BITS = { none: 8, half_float: 16, float: 32 };

/** Throw SG0503 at a member of the schedule. */
export const refuse = (what, member) => malformed(what, `${SCHEDULE}: ${member}`);

export const listed = (numbers) => `[${numbers.join(", ")}]`;
export const repeats = (items) => new Set(items).size < items.length;
export const pairwise = (items) => items.slice(1).map((item, i) => [items[i], item]);

/** Return the textures that have slots, in the order of those and of their first use. */
export const bySlot = ({ textures }) =>
  [...textures.values()]
    .filter((texture) => texture.slot !== null)
    .sort((a, b) => a.slot - b.slot || a.first - b.first);

/** Raise the use of a limit. */
export function most(used, limit, value) {
  used[limit] = Math.max(used[limit] ?? 0, value);
}
