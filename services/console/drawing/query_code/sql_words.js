// The words that may stand in a query in SQL: those of its grammar, streams, and the roles that it names itself.
import { writing } from "./json_words.js";

const SOURCES = /\bFROM\b([\s\S]*?)(?:\bWHERE\b|;|$)/i;
const ROLE = /^\s*(?:"[^"]*"|\w+)\s+(?:AS\s+)?("[^"]*"|\w+)/i;

export function sqlWords(known) {
  const keywords = known.keywords.map((label) => ({ label, type: "keyword" }));
  const streams = known.sql_streams.map((spelled) => option(spelled, "stream"));
  return (context) => {
    const word = context.matchBefore(/[\w-]+/);
    if (word === null && !context.explicit) return null;
    const roles = rolesIn(context.state.doc.toString(), known.keywords).map((spelled) => option(spelled, "role"));
    return { from: word?.from ?? context.pos, options: [...keywords, ...streams, ...roles], validFor: /^[\w-]*$/ };
  };
}

function option(spelled, detail) {
  const label = spelled.startsWith('"') ? JSON.parse(spelled) : spelled;
  return { label, type: "variable", detail, boost: 1, apply: label === spelled ? undefined : writing(label, false) };
}

function rolesIn(text, keywords) {
  const sources = (SOURCES.exec(text)?.[1] ?? "").replace(/\([^)]*\)/g, " ").split(",");
  const named = sources.map((each) => ROLE.exec(each)?.[1]).filter((each) => each !== undefined);
  return [...new Set(named)].filter((each) => !keywords.includes(each.toUpperCase()));
}
