// Sizes that a build leaves open: expressions of the schedule, worked out for sizes at hand. After
// resolve() a build is like one of fixed sizes.

import { malformed, SCHEDULE } from "./document.js";
import { unfit } from "./loading.js";

const LARGEST = Number.MAX_SAFE_INTEGER; // up to here results are exact, or beyond it
const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => Math.round((a - OPERATORS["%"](a, b)) / b), // floors
  "%": (a, b) => (a % b && a < 0 !== b < 0 ? (a % b) + b : a % b), // of the divisor's sign
  min: Math.min,
  max: Math.max,
};
// The members that may be expressions; * is every item of an array or object.
const MEMBERS = [
  "requires.limits.*",
  "inputs.*.shape.*",
  "outputs.*.shape.*",
  ...["width", "height", "layers", "channels", "batch"].map((m) => `textures.*.${m}`),
  "passes.*.viewport.*",
  "passes.*.groups.*",
  "passes.*.uniforms.*.value.*",
  "passes.*.reads.*.layer",
  "passes.*.reads.*.layers.*",
  "passes.*.writes.*.layer",
  "passes.*.macs",
  "passes.*.bytes.*",
].map((member) => member.split("."));

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
  if (stack.length !== 1) throw `it leaves ${stack.length} values`;
  return stack[0];
}

/** Return the parameters of a valid document with their defaults; none of a fixed build. */
export function defaults({ sizes }) {
  const values = Object.create(null);
  sizes?.parameters.forEach(({ name, default: value, min, max }, i) => {
    const member = `${SCHEDULE}: sizes.parameters[${i}]`;
    if (Object.hasOwn(values, name)) malformed(`the name '${name}' is taken`, `${member}.name`);
    if (value < min || value > max) malformed(`${value} lies outside its bounds`, `${member}.default`);
    values[name] = value;
  });
  return values;
}

/** Return a valid document without expressions; SG0503, or SG0605 where the sizes do not do. */
export function resolve(document, values) {
  const valueOf = (expression, where) => {
    const at = `${SCHEDULE}: ${where}`;
    if (!document.sizes) malformed("only a build with sizes has expressions", at);
    try {
      return evaluate(expression, values);
    } catch (error) {
      return malformed(`this size has no value: ${error}`, at);
    }
  };
  document.sizes?.constraints.forEach(({ value, min, max, why }, i) => {
    const found = valueOf(value, `sizes.constraints[${i}].value`);
    if (found < min || found > max) throw unfit(values, why);
  });
  const resolved = structuredClone(document);
  const replace = (part, [member, ...rest], where) => {
    for (const key of member === "*" ? Object.keys(part) : [member]) {
      const here = Array.isArray(part) ? `${where}[${key}]` : `${where}.${key}`;
      if (part[key] === undefined) continue;
      if (rest.length) replace(part[key], rest, here);
      else if (Array.isArray(part[key])) part[key] = valueOf(part[key], here.slice(1));
    }
  };
  for (const member of MEMBERS) replace(resolved, member, "");
  return resolved;
}
