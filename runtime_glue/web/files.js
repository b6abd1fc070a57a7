// Fetch the files of a build: only from its folder, and only with the stated size and checksum.

import { malformed, SCHEDULE } from "./document.js";
import { ShadergenError } from "./errors.js";

export const MAX_SCHEDULE_BYTES = 2 ** 26;
const MAX_SHADER_BYTES = 2 ** 24;
export const COPY = "copy the whole build folder again, or compile the model again";

/** Return the text of the schedule of the build at a URL that ends in "/"; SG0502 without one. */
export async function fetchSchedule(base, get) {
  const content = await read(base, SCHEDULE, get).catch((error) => {
    throw new ShadergenError("SG0502", `there is no build in '${base}'`, {
      why: `${SCHEDULE} cannot be read: ${error.message}`,
      help: "give the folder that 'shadergen compile -o' wrote",
    });
  });
  if (content.length > MAX_SCHEDULE_BYTES) malformed(`${SCHEDULE} is larger than 64 MiB`);
  return textOf(content) ?? malformed(`${SCHEDULE} is not UTF-8`);
}

/** Return the source of a shader. */
export async function fetchShader(base, name, get) {
  const content = await resolve(base, name, get);
  const wrong = (what) => new ShadergenError("SG0505", what, { where: name });
  if (content.length > MAX_SHADER_BYTES) throw wrong("the shader is larger than 16 MiB");
  const source = textOf(content);
  if (source === null) throw wrong("the shader is not UTF-8");
  return source;
}

/** Return the text that bytes are in UTF-8; null where they are none. */
export function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Return a SHA-256 checksum as a schedule writes it. */
export async function checksum(bytes, digest) {
  const values = [...new Uint8Array(await digest(bytes))];
  return values.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Return the weights file, of the stated size and checksum. Browsers compute it on secure pages only
 * (https, localhost), so on others a build with weights is refused rather than run unchecked.
 */
export async function fetchWeights(base, { file, size, sha256 }, get, digest) {
  const content = await resolve(base, file, get);
  const found = content.length;
  const wrong = (what, why) => new ShadergenError("SG0505", what, { where: file, why, help: COPY });
  if (found !== size) {
    const what = `the weights file is ${found < size ? "truncated" : "too long"}`;
    throw wrong(what, `it has ${found} bytes, the schedule says ${size}`);
  }
  if (!size) return content;
  if (!digest) {
    const why = "browsers compute checksums on secure pages only";
    const help = "use https or localhost, or give a SHA-256 function in the option digest";
    throw new ShadergenError("SG0505", "the weights cannot be checked", { where: file, why, help });
  }
  if ((await checksum(content, digest)) !== sha256) {
    throw wrong("the weights file has been altered", "the schedule lists another SHA-256 checksum");
  }
  return content;
}

/** Return the bytes of a file that the schedule names. */
export async function resolve(base, name, get) {
  // also where nobody checked the schedule: of other characters a URL may make other folders
  if (/[^\w./-]|^\/|(^|\/)\.\.(\/|$)/.test(name)) {
    malformed(`the path '${name}' leads outside the build's folder`);
  }
  try {
    return await read(base, name, get);
  } catch (error) {
    const what = `the build's file '${name}' is missing`;
    throw new ShadergenError("SG0505", what, { why: error.message, help: COPY });
  }
}

async function read(base, name, get) {
  const response = await get(base + name);
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
  // a server leads from a folder's name to its list
  if (response.redirected && response.url.endsWith("/")) throw new Error("it is a folder");
  return new Uint8Array(await response.arrayBuffer());
}
