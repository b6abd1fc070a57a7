// Read schedule.json: hostile text in, a document of the right form out.

import { ShadergenError } from "./errors.js";
import schema from "./schema.js";
import { show, validate } from "./validate.js";

export const SCHEDULE = "schedule.json";
export const MAX_SCHEDULE_BYTES = 2 ** 26;
const MAJOR = 5;
const MINOR = 0;
const MAX_DEPTH = 512;

/** Throw SG0503. */
export function malformed(what, where = SCHEDULE) {
  throw new ShadergenError("SG0503", what, { where });
}

/** Return the document in the bytes of a schedule.json, valid by the schema. */
export function readDocument(bytes) {
  if (bytes.length > MAX_SCHEDULE_BYTES) malformed(`${SCHEDULE} is larger than 64 MiB`);
  const document = parse(bytes);
  checkForm(document, isNewer(document));
  return document;
}

/** Check a document against the schema; `lenient` ignores members that it does not know. */
export function checkForm(document, lenient) {
  const error = validate(document, schema, lenient);
  if (error) malformed(error.message, `${SCHEDULE}: ${error.place}`);
}

/** Return JSON as values; refuse what only some readers accept. */
function parse(bytes) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    malformed(`${SCHEDULE} is not text in UTF-8`);
  }
  try {
    const document = JSON.parse(text);
    scan(text);
    return document;
  } catch (error) {
    if (error instanceof ShadergenError) throw error;
    malformed(`${SCHEDULE} is not JSON: ${show(error.message)}`);
  }
}

/** Refuse members given twice, numbers beyond float64 and deep nesting, which JSON.parse takes. */
function scan(text) {
  const members = []; // of each object or array around a token
  for (const [token, string, colon, number] of text.matchAll(
    /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|(-?[0-9][-+.eE0-9]*)|[[\]{}]/g,
  )) {
    if (token === "[" || token === "{") members.push(new Set());
    else if (token === "]" || token === "}") members.pop();
    else if (number !== undefined && !Number.isFinite(Number(number))) {
      malformed(`${show(number)} is not a number that JSON allows`);
    } else if (colon) {
      const known = members.at(-1);
      const member = JSON.parse(string);
      if (known.has(member)) malformed(`the member ${show(member)} is given twice`);
      known.add(member);
    }
    if (members.length > MAX_DEPTH) malformed("it is nested too deeply");
  }
}

/** Return whether the schedule is of a newer minor version; refuse other major ones. */
function isNewer(document) {
  if (document?.format !== "shadergen") {
    throw new ShadergenError("SG0502", `${SCHEDULE} is not a schedule`, {
      why: 'it lacks "format": "shadergen"',
    });
  }
  const match = /^([0-9]{1,4})\.([0-9]{1,4})$/.exec(document.version);
  if (typeof document.version !== "string" || !match) {
    malformed("the version is not of the form 'major.minor'", `${SCHEDULE}: version`);
  }
  const [major, minor] = match.slice(1).map(Number);
  if (major !== MAJOR) {
    throw new ShadergenError("SG0504", `the schedule is of version ${major}.${minor}`, {
      where: `${SCHEDULE}: version`,
      why: `this runtime plays version ${MAJOR} (newest known: ${MAJOR}.${MINOR})`,
      help: major > MAJOR ? "update shadergen" : "compile the model again",
    });
  }
  return minor > MINOR;
}
