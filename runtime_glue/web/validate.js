// The rules of schedule.schema.json, interpreted: the form of a schedule is stated once, for all
// runtimes. schema.js has them in fewer words, which tools/make_web.py explains.

const TYPES = {
  object: (v) => v !== null && typeof v === "object" && !Array.isArray(v),
  array: Array.isArray,
  string: (v) => typeof v === "string",
  integer: Number.isInteger,
  number: (v) => typeof v === "number",
  null: (v) => v === null,
};
const MAX_MESSAGE = 200;
const MAX_SHOWN = 16;

/** Return the fault nearest to the root, as { place, message }, or null. */
export function validate(root, schema, lenient = false) {
  let best = null;
  const path = [];
  const fail = (message) => {
    if (!best || path.length < best.path.length) best = { path: [...path], message };
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
  const need = (v, names) => {
    const name = names.find((n) => !Object.hasOwn(v, n));
    if (name !== undefined) fail(`${show(name)} is a required property`);
  };
  const known = (v, parts) => {
    for (const name in parts) if (Object.hasOwn(v, name)) inside(v, name, parts[name]);
  };

  // Each says what is wrong with a value, to follow the value, or fails for itself.
  const RULES = {
    type: (v, types) => {
      types = [types].flat();
      return !types.some((t) => TYPES[t](v)) && `is not of type ${types.map(show).join(", ")}`;
    },
    enum: (v, all) => !all.includes(v) && `is not one of ${show(all)}`,
    const: (v, wanted) => v !== wanted && `is not ${show(wanted)}`,
    minimum: (v, least) => v < least && `is less than the minimum of ${least}`,
    maximum: (v, most) => v > most && `is greater than the maximum of ${most}`,
    minLength: (v, least) => v?.length < least && "should be non-empty",
    maxLength: (v, most) => TYPES.string(v) && [...v].length > most && "is too long",
    pattern: (v, text) => TYPES.string(v) && !RegExp(text).test(v) && `does not match ${show(text)}`,
    minItems: (v, least) => TYPES.array(v) && v.length < least && "is too short",
    maxItems: (v, most) => TYPES.array(v) && v.length > most && "is too long",
    uniqueItems: (v) =>
      TYPES.array(v) && new Set(v.map(show)).size < v.length && "has non-unique elements",
    items: (v, part) => {
      if (TYPES.array(v)) v.forEach((_, i) => inside(v, i, part));
    },
    prefixItems: (v, parts) => {
      if (TYPES.array(v)) parts.slice(0, v.length).forEach((part, i) => inside(v, i, part));
    },
    members: (v, parts, { type, optional = [] }) => {
      if (!TYPES.object(v)) return !type && "is not of type 'object'";
      const name = Object.keys(v).find((n) => !lenient && !Object.hasOwn(parts, n));
      if (name !== undefined) {
        fail(`Additional properties are not allowed (${show(name)} was unexpected)`);
      }
      need(v, Object.keys(parts).filter((n) => !optional.includes(n)));
      return known(v, parts);
    },
    required: (v, names) => TYPES.object(v) && need(v, names),
    properties: (v, parts) => TYPES.object(v) && known(v, parts),
    allOf: (v, parts) => parts.forEach((part) => visit(v, part)),
    oneOf: (v, parts) => {
      if (parts.filter((part) => holds(v, part)).length === 1) return;
      fail(`it takes exactly one of ${parts.flatMap((part) => part.required).join(", ")}`);
    },
    not: (v, part) => {
      if (holds(v, part)) fail("this member does not belong here");
    },
    if: (v, part, whole) => visit(v, (holds(v, part) ? whole.then : whole.else) ?? {}),
  };

  function visit(value, part) {
    if (TYPES.string(part)) part = schema.$defs[part];
    for (const rule in part) {
      const wrong = RULES[rule]?.(value, part[rule], part);
      if (wrong) fail(`${show(value)} ${wrong}`);
    }
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
  let text = TYPES.object(value) ? "{...}" : `${value}`;
  if (TYPES.string(value)) text = `'${value}'`;
  if (TYPES.array(value)) text = `[${value.slice(0, MAX_SHOWN).map(show).join(", ")}]`;
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}...` : text;
}
