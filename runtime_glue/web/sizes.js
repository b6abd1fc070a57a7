// Dynamic sizes: evaluate the expressions of a schedule. resolve() replaces them with integers, so that
// the code after it only handles fixed sizes.

import { malformed, SCHEDULE } from "./document.js";
import { ShadergenError } from "./errors.js";
import { Build } from "./loading.js";
import members from "./members.js";
import { named } from "./pixels.js";

const LARGEST = Number.MAX_SAFE_INTEGER; // up to here results are exact, or beyond it
const TILES = "make the picture smaller, or run it in tiles, with PictureNetwork of picture_network.js";
const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => Math.round((a - OPERATORS["%"](a, b)) / b), // floors
  "%": (a, b) => (a % b && a < 0 !== b < 0 ? (a % b) + b : a % b), // of the divisor's sign
  min: Math.min,
  max: Math.max,
};

/** Return the value of an expression in postfix notation; throws the text of what is wrong. */
export function evaluate(expression, values) {
  const stack = [];
  for (const term of expression) {
    let value = term;
    if (Object.hasOwn(OPERATORS, term)) {
      if (stack.length < 2) throw `'${term}' has fewer than two operands`;
      const [left, right] = stack.splice(-2);
      if ("/%".includes(term) && !right) throw "it divides by zero";
      value = OPERATORS[term](left, right);
    } else if (typeof term === "string") {
      if (!Object.hasOwn(values, term)) throw `there is no parameter '${term}'`;
      value = values[term];
    }
    if (Math.abs(value) > LARGEST) throw `${value} is beyond 2^53`;
    stack.push(value);
  }
  if (stack.length !== 1) throw `its expression leaves ${stack.length} values, not one`;
  return stack[0];
}

/** Return the parameters of a valid document with their defaults; none of a fixed build. */
export function defaults({ sizes }) {
  const values = Object.create(null);
  if (!sizes) return values;
  sizes.parameters.forEach(({ name, default: value, min, max }, i) => {
    const member = `${SCHEDULE}: sizes.parameters[${i}]`;
    if (Object.hasOwn(values, name)) malformed(`the name '${name}' is taken`, `${member}.name`);
    if (value < min || value > max) malformed(`the default ${value} is out of bounds`, `${member}.default`);
    values[name] = value;
  });
  const broken = brokenBy(values, sizes);
  if (broken) malformed(`the default sizes break a constraint: ${broken.why}`);
  return values;
}

/** Return a valid document without expressions; SG0503 where one has no value. */
export function resolve(document, values) {
  const resolved = structuredClone(document);
  const replace = (part, [member, ...rest], where) => {
    for (const key of member === "*" ? Object.keys(part) : [member]) {
      const here = Array.isArray(part) ? `${where}[${key}]` : `${where}.${key}`;
      if (part[key] === undefined) continue;
      if (rest.length) replace(part[key], rest, here);
      else if (Array.isArray(part[key])) {
        const at = here.slice(1);
        if (!document.sizes) {
          malformed("expressions need the member 'sizes'", `${SCHEDULE}: ${at}`);
        }
        part[key] = valueOf(part[key], values, at);
      }
    }
  };
  for (const member of members) replace(resolved, member.split("."), "");
  return resolved;
}

/** Return a build at other sizes, those not given staying; SG0605 where it cannot have them. */
export function resized(build, sizes) {
  const { url, source, values: present, files, rules } = build;
  const values = chosen(source.sizes, present, sizes);
  if (Object.keys(values).every((name) => values[name] === present[name])) return build;
  let why;
  try {
    why = brokenBy(values, source.sizes)?.why;
    if (why === undefined) return new Build(url, source, values, files, rules);
  } catch (error) {
    if (error.code !== "SG0503") throw error;
    why = [...error.where, error.what].join(": ");
  }
  const all = Object.entries(values).map(([name, value]) => `a ${name} of ${value}`);
  throw new ShadergenError("SG0605", `the build does not support ${all.join(" and ")}`, { why });
}

/** Return the present sizes with others in place of some; SG0605 where the build has no such. */
function chosen({ parameters, constraints }, present, wanted) {
  const values = Object.assign(Object.create(null), present);
  for (const [name, value] of Object.entries(wanted)) {
    const parameter = parameters.find((p) => p.name === name);
    if (!parameter) {
      throw new ShadergenError("SG0605", `the build has no dynamic size '${name}'`, {
        supported: Object.keys(present).join(", "),
      });
    }
    const { min, max } = parameter;
    if (!Number.isInteger(value) || value < min || value > max) {
      const own = constraints.find(
        (c) => `${c.value}` === name && (value < c.min || value > c.max),
      );
      throw new ShadergenError("SG0605", `${name} ${named(value)} is not supported`, {
        why: own?.why,
        supported: `${Number.isInteger(value) ? "" : "integers from "}${min} to ${max}`,
        help: value > max && /^(height|width)$/.test(name) ? TILES : "",
      });
    }
    values[name] = value;
  }
  return values;
}

/** Return the first constraint that sizes do not meet. */
function brokenBy(values, { constraints }) {
  return constraints.find(({ value, min, max }, i) => {
    const found = valueOf(value, values, `sizes.constraints[${i}].value`);
    return found < min || found > max;
  });
}

function valueOf(expression, values, where) {
  try {
    return evaluate(expression, values);
  } catch (error) {
    return malformed(`this size cannot be computed: ${error}`, `${SCHEDULE}: ${where}`);
  }
}
