// Kinds of constraints: the members that each adds to a request, and where its errors stand.

import { JsonError, lineOf, linesOf } from "./json_places.js";

/** Thrown for a text that can't be sent, with its place where that is known. */
export class ConstraintError extends Error {
  constructor(message, line, column) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

const schemaFormat = (schema) => ({ type: "json_schema", json_schema: { name: "answer", schema } });

/** By name: label, and the `members` of a request for a text. */
export const KINDS = {
  json_schema: {
    label: "JSON Schema",
    members: (text) => ({ response_format: schemaFormat(json(text)) }),
  },
  lark: {
    label: "Lark",
    members: (text) => ({ response_format: { type: "grammar", grammar: text, syntax: "lark" } }),
  },
  gbnf: {
    label: "GBNF",
    members: (text) => ({ response_format: { type: "grammar", grammar: text, syntax: "gbnf" } }),
  },
  regex: {
    label: "Regex",
    members: (text) => ({ response_format: { type: "regex", regex: text.replace(/\r?\n$/, "") } }),
  },
  choice: {
    label: "Choice",
    members: (text) => ({ response_format: { type: "choice", choice: lines(text) } }),
  },
  tools: {
    label: "Tools",
    members: (text) => ({ tools: json(text), tool_choice: "required" }),
  },
};

function json(text) {
  try {
    linesOf(text);
  } catch (error) {
    if (error instanceof JsonError) throw new ConstraintError(error.message, error.line, error.column);
    throw error;
  }
  return JSON.parse(text);
}

function lines(text) {
  const found = text.split("\n").filter((line) => line.trim());
  if (!found.length) throw new ConstraintError("a choice has one line for each text", 1, 1);
  return found;
}

/** Line and column of a problem that the server told of a constraint; null where it names no place in it. */
export function placeOf(kind, text, problem) {
  if (problem.line) return { line: problem.line, column: problem.column };
  if (typeof problem.pointer === "string" && kind === "json_schema") {
    return { line: lineOf(linesOf(text), problem.pointer) };
  }
  const tool = /^tools\.(\d+)/.exec(problem.param ?? "");
  return kind === "tools" && tool ? { line: lineOf(linesOf(text), `/${tool[1]}`) } : null;
}
