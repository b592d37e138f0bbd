// The words that may stand at a place of a query in JSON: members and values of its schema, and names that exist.
import { schema } from "/static/query-schema.js";

const TOKEN = /"(?:[^"\\\n]|\\.)*("?)|[{}[\],:]|[^\s{}[\],:"]+/g;
const KNOWN = [
  [/^(from\.[^.]+(\.stream)?|coalesce\.from)$/, "streams"],
  [/^from\.[^.]+\.sensors\.\d+$/, "sensors"],
  [/^(from\.[^.]+\.)?areas\.\d+$/, "areas"],
  [/^alert\.to\.\d+$/, "receivers"],
  [/^(within\.\d+\.between|at_least\.of)\.\d+$/, "roles"],
];

export function jsonWords(known) {
  return (context) => {
    const place = placeAt(context.state.sliceDoc(0, context.pos));
    if (place.isWritten || (!place.word && !place.isQuoted && !context.explicit)) return null;
    const roles = rolesIn(context.state.doc.toString());
    const options = place.isName ? members(place) : values(place.path, { ...known, roles });
    return { from: context.pos - place.word.length, options, validFor: /^[\w.-]*$/ };
  };
}

// Where a text ends: the path to there, whether a member's name comes next, and how much of a word is written.
export function placeAt(text) {
  const inside = [];
  let last = null;
  for (const token of text.matchAll(TOKEN)) {
    last = token;
    follow(inside, token[0]);
  }
  const here = inside.at(-1);
  const isOpen = last !== null && last.index + last[0].length === text.length && !/^[{}[\],:]$/.test(last[0]);
  const isQuoted = isOpen && last[0][0] === '"' && last[1] === "";
  return {
    path: inside.map((each) => each.step),
    isName: here?.names !== undefined && here.isAtName,
    names: here?.names ?? [],
    isQuoted,
    isWritten: isOpen && last[1] === '"',
    word: !isOpen ? "" : isQuoted ? last[0].slice(1) : last[0],
  };
}

function follow(inside, token) {
  const here = inside.at(-1);
  if (token === "{") inside.push({ step: null, names: [], isAtName: true });
  else if (token === "[") inside.push({ step: 0 });
  else if (token === "}" || token === "]") inside.pop();
  else if (here === undefined) return;
  else if (token === ":") here.isAtName = false;
  else if (token === ",") {
    if (here.names === undefined) here.step += 1;
    else Object.assign(here, { step: null, isAtName: true });
  } else if (here.isAtName) {
    here.step = token.replace(/^"|"$/g, "");
    here.names.push(here.step);
  }
}

function members(place) {
  const forms = formsAt(place.path.slice(0, -1));
  const found = new Map(forms.flatMap((each) => Object.entries(each.properties ?? {})));
  const written = new Set(["id", ...place.names.filter((name) => name !== place.word)]);
  return [...found]
    .filter(([name]) => !written.has(name))
    .map(([label, form]) => ({ label, type: "property", info: form.description, apply: writing(label, true) }));
}

function values(path, known) {
  const forms = formsAt(path);
  const given = forms.flatMap((each) => [...(each.enum ?? []), ...("const" in each ? [each.const] : [])]);
  const kind = KNOWN.find(([pattern]) => pattern.test(path.join(".")))?.[1];
  const detail = kind?.slice(0, -1);
  return [
    ...[...new Set(given)].map((each) => ({ label: `${each}`, type: "constant", apply: writing(each, false) })),
    ...(known[kind] ?? []).map((label) => ({ label, type: "variable", detail, apply: writing(label, false) })),
  ];
}

function formsAt(path) {
  return path.reduce((forms, step) => forms.flatMap((each) => [...formsOf(below(each, step))]), [...formsOf(schema)]);
}

function below(form, step) {
  if (typeof step === "number") return form.prefixItems?.[step] ?? form.items;
  return form.properties?.[step] ?? form.additionalProperties;
}

// A form of the schema, and all that the same value may be instead.
function* formsOf(form) {
  if (!form) return;
  if (form.$ref) {
    yield* formsOf(schema.$defs[form.$ref.split("/").at(-1)]);
    return;
  }
  yield form;
  for (const other of [...(form.oneOf ?? []), ...(form.anyOf ?? []), form.then, form.else]) yield* formsOf(other);
}

function rolesIn(text) {
  const from = /"from"\s*:\s*\{/.exec(text);
  if (from === null) return [];
  const inside = [{ step: "from", names: [], isAtName: true }];
  for (const token of text.slice(from.index + from[0].length).matchAll(TOKEN)) {
    const roles = inside[0].names;
    follow(inside, token[0]);
    if (inside.length === 0) return roles;
  }
  return inside[0].names;
}

// What takes a word: it is put between quotes, in place of those that are there already.
export function writing(value, isName) {
  return (view, _word, from, to) => {
    const text = view.state.doc;
    const isQuoted = text.sliceString(from - 1, from) === '"';
    const begin = isQuoted ? from - 1 : from;
    const end = isQuoted && text.sliceString(to, to + 1) === '"' ? to + 1 : to;
    const colon = isName && !/^\s*:/.test(text.sliceString(end, end + 20)) ? ": " : "";
    const insert = JSON.stringify(value) + colon;
    view.dispatch({
      changes: { from: begin, to: end, insert },
      selection: { anchor: begin + insert.length },
      userEvent: "input.complete",
    });
  };
}
