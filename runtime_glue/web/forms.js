// What schema.js, the form of a schedule, is made of. A form is a function of a value and of `at`, the
// walk over the document, that returns what is wrong, to follow the value in a message, or nothing.
// A form that `is` says the values it is for, `type` how JSON Schema calls them.

const MAX_MESSAGE = 200;
const MAX_SHOWN = 16;

function typed(type, is, check) {
  const form = (v, at) => (is(v) ? check(v, at) : `is not of type '${type}'`);
  return Object.assign(form, { type, is });
}

const span = (v, least, most) =>
  (v < least && `is less than the minimum of ${least}`) ||
  (v > most && `is greater than the maximum of ${most}`);
const length = (count, least, most) =>
  (count < least && (least > 1 ? "is too short" : "should be non-empty")) ||
  (count > most && "is too long");
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);

export const nothing = typed("null", (v) => v === null, () => {});
export const integer = (...bounds) => typed("integer", Number.isInteger, (v) => span(v, ...bounds));
export const number = (...bounds) =>
  typed("number", (v) => typeof v === "number", (v) => span(v, ...bounds));
export const oneOf = (...all) => (v) => !all.includes(v) && `is not one of ${show(all)}`;
export const never = (_, at) => at.fail("this member does not belong here");

/** A text of so many characters, like a pattern, and not one of some words. */
export const text = (least, most, pattern, words) =>
  typed("string", (v) => typeof v === "string", (v, at) => {
    if (words?.includes(v)) never(v, at);
    return (
      length([...v].length, least, most) ||
      (pattern && !RegExp(pattern).test(v) && `does not match '${pattern}'`)
    );
  });

/** A list of so many items, each of a form. */
export const list = (least, most, item, distinct) =>
  typed("array", Array.isArray, (v, at) => {
    if (item) v.forEach((_, i) => at.inside(v, i, item));
    return (
      length(v.length, least, most) ||
      (distinct && new Set(v.map(show)).size < v.length && "has non-unique elements")
    );
  });

/** A list of as many items as there are forms. */
export const tuple = (...forms) =>
  typed("array", Array.isArray, (v, at) => {
    forms.slice(0, v.length).forEach((form, i) => at.inside(v, i, form));
    return length(v.length, forms.length, forms.length);
  });

/** A value of the first form that is for its type. */
export const either = (...forms) => (v, at) => {
  const form = forms.find(({ is }) => is(v));
  return form ? form(v, at) : `is not of type ${forms.map(({ type }) => show(type)).join(", ")}`;
};

/** An object without other members, which keeps some rules: forms of the whole. */
export const members = (needed, optional = {}, ...rules) => {
  const all = { ...needed, ...optional };
  const known = some(Object.keys(needed), all);
  return typed("object", isObject, (v, at) => {
    const name = Object.keys(v).find((n) => !at.lenient && !Object.hasOwn(all, n));
    if (name !== undefined) {
      at.fail(`Additional properties are not allowed (${show(name)} was unexpected)`);
    }
    for (const rule of [known, ...rules]) rule(v, at);
  });
};

/** Rule: an object has members of these names, and of these forms those that it has. */
export const some = (names, forms) => (v, at) => {
  const name = names.find((n) => !Object.hasOwn(v, n));
  if (name !== undefined) at.fail(`${show(name)} is a required property`);
  for (const key in forms) if (Object.hasOwn(v, key)) at.inside(v, key, forms[key]);
};

/** Rule: where a member has a value, the object keeps one rule, else the other. */
export const when = (name, value, rule, other) => (v, at) => {
  (v[name] === value ? rule : other)?.(v, at);
};

/** Rule: an object has exactly one of these members. */
export const single = (...names) => (v, at) => {
  if (names.filter((n) => Object.hasOwn(v, n)).length !== 1) {
    at.fail(`give exactly one of ${names.join(", ")}`);
  }
};

/** Return the fault of a document nearest to its root, as { place, message }, or null. */
export function validate(root, form, lenient) {
  let best = null;
  const path = [];
  const at = {
    lenient,
    fail(message) {
      if (!best || path.length < best.path.length) best = { path: [...path], message };
    },
    inside(value, key, part) {
      path.push(key);
      visit(value[key], part);
      path.pop();
    },
  };
  function visit(value, part) {
    const wrong = part(value, at);
    if (wrong) at.fail(`${show(value)} ${wrong}`);
  }
  visit(root, form);
  return best && { place: place(best.path), message: best.message };
}

/** Return a JSON path as people write it: `passes[3].reads[0].uniform`. */
function place(path) {
  const names = path.map((p) => (typeof p === "number" ? `[${p}]` : `.${p}`));
  return names.join("").replace(/^\./, "") || "the whole document";
}

/** Return a value as messages show it, cut to a length that can be read. */
export function show(value) {
  let shown = isObject(value) ? "{...}" : `${value}`;
  if (typeof value === "string") shown = `'${value}'`;
  if (Array.isArray(value)) shown = `[${value.slice(0, MAX_SHOWN).map(show).join(", ")}]`;
  return shown.length > MAX_MESSAGE ? `${shown.slice(0, MAX_MESSAGE)}...` : shown;
}
