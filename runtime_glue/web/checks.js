// Check an untrusted schedule: its text, its members against the schema, and the rules between them.

import { malformed } from "./document.js";
import { show, validate } from "./forms.js";
import { refuse } from "./parts.js";
import { check as checkParts } from "./rules.js";
import form from "./schema.js";

export * from "./sizes.js"; // a build of fixed sizes is refused where it has expressions

const MAX_DEPTH = 512;

/**
 * Refuse JSON that JavaScript takes: with members given twice, numbers beyond float64, half of a
 * surrogate pair, or deep nesting.
 */
export function checkText(text) {
  const members = []; // of each object or array around a token
  for (const [token, string, colon, number] of text.matchAll(
    /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|(-?[0-9][-+.eE0-9]*)|[[\]{}]/g,
  )) {
    if (token === "[" || token === "{") members.push(new Set());
    else if (token === "]" || token === "}") members.pop();
    else if (number !== undefined && !Number.isFinite(Number(number))) {
      malformed(`${show(number)} is not a number that JSON allows`);
    } else if (/\\u[dD]/.test(string)) checkCharacters(JSON.parse(string));
    if (colon) {
      const known = members.at(-1);
      const member = JSON.parse(string);
      if (known.has(member)) malformed(`the member ${show(member)} is given twice`);
      known.add(member);
    }
    if (members.length > MAX_DEPTH) malformed("the JSON is nested too deeply");
  }
}

function checkCharacters(text) {
  try {
    encodeURIComponent(text);
  } catch {
    malformed("a string has an unpaired surrogate");
  }
}

/** Refuse a document that is not of the schema's form; `lenient` ignores members it does not know. */
export function checkForm(document, lenient) {
  const error = validate(document, form, lenient);
  if (error) refuse(error.message, error.place);
}

/** Refuse a document, valid by the schema and resolved, whose parts do not fit each other. */
export function check(document) {
  const [textures, buffers] = ["textures", "buffers"].map((list) => byName(document[list], list));
  checkParts({ ...document, textures, buffers }, document.weights.size);
}

function byName(items, member) {
  const found = new Map();
  items.forEach((item, i) => {
    if (found.has(item.name)) refuse(`the name '${item.name}' is taken`, `${member}[${i}].name`);
    found.set(item.name, item);
  });
  return found;
}
