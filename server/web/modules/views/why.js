// "Why not this token?": what the model would have liked at a place, and what became of it.

import { counted, element } from "../dom.js";
import { CHOSEN_BY, textOf } from "../trace.js";
import { shown } from "./tokens.js";

/** Fates of candidates, in words; `left`: tokens left before one was chosen. */
const FATES = {
  taken: () => "taken",
  kept: () => "kept by another beam",
  worse: () => "fits, another was preferred",
  grammar: () => "the grammar forbids it here",
  budget: ({ distance }, left) => `fits the grammar, needs ${counted(distance, "token")} more, ${left - 1} would be left`,
};

const UNASKED = {
  grammar: "The grammar allows no other token here, so the model wasn't asked.",
  budget: "The budget leaves no other token here, so the model wasn't asked.",
  witness: "The shortest completion that is known was followed here.",
};

export class Why {
  #token = null;
  #before = [];
  #asked = 0;

  /** `explain` asks the server: from prefix, token and tokens left to its explanation; it rejects where it can't. */
  constructor({ box, form, field, answer }, explain) {
    Object.assign(this, { box, form, field, answer, explain });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
  }

  /** Forgets the place. */
  clear() {
    this.#token = null;
    this.form.hidden = true;
    this.box.replaceChildren(element("p", { class: "muted" }, "Choose a token of an answer, by pointer or arrow keys."));
  }

  /** Shows a token and what might have stood there; `before`: the tokens before it. */
  show(token, before) {
    [this.#token, this.#before] = [token, before];
    this.form.hidden = false;
    this.answer.replaceChildren();
    const text = textOf(before);
    const after = text ? element("code", {}, text.length > 48 ? `…${text.slice(-48)}` : text) : "the beginning";
    const chosen = element("code", { class: `token by-${token.by}` }, token.ends ? "end" : shown(token.text));
    this.box.replaceChildren(
      element("p", {}, "After ", after, `, with ${counted(token.left + 1, "token")} left: `, chosen, `, ${CHOSEN_BY[token.by]}.`),
      token.candidates.length ? table(token) : element("p", { class: "muted" }, UNASKED[token.by] ?? ""),
    );
  }

  async #ask() {
    const asked = (this.#asked += 1);
    this.answer.replaceChildren("…");
    const told = await this.explain(textOf(this.#before), this.field.value, this.#token.left + 1).catch((error) => error);
    if (asked !== this.#asked) return;
    this.answer.replaceChildren(element("p", { class: told.allowed === true ? "fits" : "refused" }, told.message));
  }
}

function table(token) {
  const rows = token.candidates.map((candidate) => {
    const share = Math.exp(candidate.logprob);
    return element(
      "tr",
      { class: `fate-${candidate.fate}` },
      element("td", {}, element("code", {}, shown(candidate.text))),
      element("td", { class: "share" }, element("meter", { min: 0, max: 1, value: share }), percent(share)),
      element("td", {}, FATES[candidate.fate]?.(candidate, token.left + 1) ?? candidate.fate),
    );
  });
  const heads = ["Token", "Model", "Fate"].map((text) => element("th", { scope: "col" }, text));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
}

function percent(share) {
  return share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;
}
