// Read schedule.json: text in, a document of a supported version out.

import { ShadergenError } from "./errors.js";

export const SCHEDULE = "schedule.json";
const MAJOR = 5;
const MINOR = 7;
const MAX_MESSAGE = 200;
const HTML = "the server may have answered with an HTML page: check the path of the build";

/** Throw SG0503. */
export function malformed(what, where = SCHEDULE, help = "") {
  throw new ShadergenError("SG0503", what, { where, help });
}

/** Return the document in the text of a schedule.json. */
export function readDocument(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const help = /^\s*</.test(text) ? HTML : "";
    malformed(`${SCHEDULE} is not JSON: ${error.message.slice(0, MAX_MESSAGE)}`, SCHEDULE, help);
  }
}

/** Return whether the schedule is of a newer minor version; refuse other major ones. */
export function isNewer(document) {
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
      why: `this runtime supports version ${MAJOR} (newest known: ${MAJOR}.${MINOR})`,
      help: major > MAJOR ? "update shadergen" : "compile the model again",
    });
  }
  return minor > MINOR;
}

/** Return the paths of a pass's shaders. */
export const shadersOf = (pass) => (pass.vertex ? [pass.vertex, pass.shader] : [pass.shader]);

/** Return what a pass reads by samplers. */
export const samplersOf = (pass) => pass.reads.filter((read) => read.uniform !== undefined);
