// As much of JSON Schema as schedule.schema.json uses, interpreted: the form of a schedule is stated
// once, for all runtimes.

const TYPES = {
  object: (v) => v !== null && typeof v === "object" && !Array.isArray(v),
  array: Array.isArray,
  string: (v) => typeof v === "string",
  integer: Number.isInteger,
  number: (v) => typeof v === "number",
  null: (v) => v === null,
};
const MAX_MESSAGE = 200;

/** Return the fault nearest to the root, as { place, message }, or null. */
export function validate(root, schema, lenient = false) {
  let best = null;
  const path = [];

  const fail = (...text) => {
    if (!best || path.length < best.path.length) best = { path: [...path], message: text.join("") };
  };
  const holds = (value, part) => {
    const before = best;
    best = null;
    visit(value, part);
    const found = best;
    best = before;
    return !found;
  };
  const inside = (value, key, part) => {
    path.push(key);
    visit(value[key], part);
    path.pop();
  };

  const RULES = {
    $ref: (v, name) => visit(v, schema.$defs[name.split("/").at(-1)]),
    type: (v, types) => {
      types = [types].flat();
      if (types.some((t) => TYPES[t](v))) return;
      fail(show(v), " is not of type ", types.map(show).join(", "));
    },
    const: (v, wanted) => v === wanted || fail(show(wanted), " was expected"),
    enum: (v, known) => known.includes(v) || fail(show(v), " is not one of ", show(known)),
    minimum: (v, least) =>
      !TYPES.number(v) || v >= least || fail(show(v), " is less than the minimum of ", least),
    maximum: (v, most) =>
      !TYPES.number(v) || v <= most || fail(show(v), " is greater than the maximum of ", most),
    minLength: (v, least) =>
      typeof v !== "string" || v.length >= least || fail(show(v), " should be non-empty"),
    maxLength: (v, most) =>
      typeof v !== "string" || [...v].length <= most || fail(show(v), " is too long"),
    pattern: (v, text) =>
      typeof v !== "string" || RegExp(text).test(v) || fail(show(v), " does not match ", show(text)),
    minItems: (v, least) => !TYPES.array(v) || v.length >= least || fail(show(v), " is too short"),
    maxItems: (v, most) => !TYPES.array(v) || v.length <= most || fail(show(v), " is too long"),
    uniqueItems: (v) =>
      !TYPES.array(v) ||
      new Set(v.map((item) => JSON.stringify(item))).size === v.length ||
      fail(show(v), " has non-unique elements"),
    items: (v, part, { prefixItems = [] }) => {
      if (!TYPES.array(v)) return;
      for (let i = prefixItems.length; i < v.length; i++) inside(v, i, part);
    },
    prefixItems: (v, parts) => {
      if (TYPES.array(v)) parts.slice(0, v.length).forEach((part, i) => inside(v, i, part));
    },
    required: (v, names) => {
      if (!TYPES.object(v)) return;
      const name = names.find((n) => !Object.hasOwn(v, n));
      if (name !== undefined) fail(show(name), " is a required property");
    },
    properties: (v, parts) => {
      if (!TYPES.object(v)) return;
      for (const name in parts) if (Object.hasOwn(v, name)) inside(v, name, parts[name]);
    },
    additionalProperties: (v, _, { properties }) => {
      if (lenient || !TYPES.object(v)) return;
      const name = Object.keys(v).find((n) => !Object.hasOwn(properties, n));
      if (name === undefined) return;
      fail("Additional properties are not allowed (", show(name), " was unexpected)");
    },
    allOf: (v, parts) => parts.forEach((part) => visit(v, part)),
    anyOf: (v, parts) => {
      if (!parts.some((part) => holds(v, part))) visit(v, parts[0]);
    },
    oneOf: (v, parts) => {
      if (parts.filter((part) => holds(v, part)).length === 1) return;
      fail("it takes exactly one of ", parts.flatMap((part) => part.required).join(", "));
    },
    not: (v, part) => !holds(v, part) || fail("this member does not belong here"),
    if: (v, part, whole) => visit(v, (holds(v, part) ? whole.then : whole.else) ?? {}),
  };

  function visit(value, part) {
    for (const rule in part) RULES[rule]?.(value, part[rule], part);
  }

  visit(root, schema);
  return best && { place: place(best.path), message: best.message };
}

/** Return a JSON path as people write it: `passes[3].reads[0].uniform`. */
function place(path) {
  const text = path.map((p) => (typeof p === "number" ? `[${p}]` : `.${p}`)).join("");
  return text.replace(/^\./, "") || "the whole document";
}

/** Return a value as messages show it, cut to a length that can be read. */
export function show(value) {
  const text = literal(value);
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}...` : text;
}

function literal(value) {
  if (typeof value === "string") return `'${value.slice(0, MAX_MESSAGE + 1)}'`;
  if (TYPES.array(value)) return `[${value.slice(0, 16).map(literal).join(", ")}]`;
  return TYPES.object(value) ? "{...}" : String(value);
}
