// The certificate of an answer, in words and whole.

import { element } from "../dom.js";

const yes = (value) => (value === null || value === undefined ? "not known" : value ? "yes" : "no");

/** By label: a function from a certificate to its words; null leaves the line out. */
const LINES = {
  Complete: (told) => yes(told.complete),
  "Tokens used": (told) => `${told.tokens_used} of ${told.budget}`,
  Minimum: (told) => (told.min_tokens === null ? null : `${told.min_tokens}${told.exact ? ", exact" : " at most"}`),
  "Changed by the budget": (told) => (told.budget_affected ? "yes, or maybe" : yes(told.budget_affected)),
  "Tokens forced by the budget": (told) => (told.budget_forced_tokens === null ? null : String(told.budget_forced_tokens)),
  "Ended early": (told) => (told.budget_ended?.length ? told.budget_ended.map((place) => place || "/").join(", ") : null),
  Thought: (told) =>
    told.thinking ? `${told.thinking.tokens} tokens${told.thinking.closed_by_budget ? ", closed by the budget" : ""}` : null,
  Interrupted: (told) => told.interrupted,
  Grammar: (told) => told.grammar_id?.slice(0, 16) ?? null,
};

/** Elements that tell a certificate. */
export function certificateView(certificate) {
  const { trace, ...told } = certificate;
  const lines = Object.entries(LINES)
    .map(([label, words]) => [label, words(told)])
    .filter(([, words]) => words !== null && words !== undefined);
  return [
    element("dl", {}, ...lines.flatMap(([label, words]) => [element("dt", {}, label), element("dd", {}, words)])),
    element("details", {}, element("summary", {}, "As the server sent it"), element("pre", {}, JSON.stringify(told, null, 2))),
  ];
}
