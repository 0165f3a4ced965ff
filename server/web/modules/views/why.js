// "Why not this token?": what the model would have liked at a place, and what became of it.

import { counted, element } from "../dom.js";
import { shown } from "./tokens.js";
import { CHOSEN_BY, textOf } from "../trace.js";

/** Fates of candidates, in words; `left`: tokens left when the token was chosen. */
const FATES = {
  taken: () => "taken",
  kept: () => "kept by another beam",
  worse: () => "fits, but another one was preferred",
  grammar: () => "the grammar forbids it here",
  budget: ({ distance }, left) =>
    distance == null
      ? "fits the grammar, but not the tokens left"
      : `fits the grammar, needs ${counted(distance, "more token")}; ${left - 1} would be left`,
};

export class Why {
  #place = null;
  #before = [];
  #asked = 0;

  /** `explain` asks the server: from prefix, token and tokens left to its explanation, or null where it can't. */
  constructor({ box, form, field, answer }, explain) {
    Object.assign(this, { box, form, field, answer, explain });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
  }

  /** Forgets the place. */
  clear() {
    this.#place = null;
    this.form.hidden = true;
    this.box.replaceChildren(element("p", { class: "muted" }, "Choose a token of an answer, by pointer or arrow keys."));
  }

  /** Shows a place. */
  show(place, before) {
    [this.#place, this.#before] = [place, before];
    this.form.hidden = false;
    this.answer.replaceChildren();
    const text = textOf(before);
    const after = text.length > 48 ? `…${text.slice(-48)}` : text;
    this.box.replaceChildren(
      element("p", {}, "After ", text ? element("code", {}, after) : "nothing", `, with ${counted(place.left, "token")} left: `,
        element("code", { class: `token by-${place.by}` }, shown(place.token.text)), `, ${CHOSEN_BY[place.by] ?? place.by}.`),
      table(place),
    );
  }

  async #ask() {
    const asked = (this.#asked += 1);
    this.answer.replaceChildren("…");
    const told = await this.explain(textOf(this.#before), this.field.value, this.#place.left).catch((error) => error);
    if (asked !== this.#asked) return;
    const message = told.message ?? "";
    const fits = told.allowed === true ? "fits" : "refused";
    const next = told.next?.length ? ["Next could be ", ...told.next.slice(0, 8).flatMap((text) => [element("code", {}, shown(text)), " "])] : [];
    this.answer.replaceChildren(element("p", { class: told instanceof Error ? "warn" : fits }, message), element("p", { class: "muted" }, ...next));
  }
}

function table(place) {
  const rows = place.candidates.map((candidate) => {
    const share = candidate.logprob == null ? null : Math.exp(candidate.logprob);
    return element(
      "tr",
      { class: `fate-${candidate.fate}` },
      element("td", {}, element("code", {}, shown(candidate.text))),
      element("td", { class: "share" }, share === null ? "" : element("meter", { min: 0, max: 1, value: share }), share === null ? "" : percent(share)),
      element("td", {}, FATES[candidate.fate]?.(candidate, place.left) ?? candidate.fate),
    );
  });
  const heads = ["Token", "Model", "Fate"].map((text) => element("th", { scope: "col" }, text));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
}

function percent(share) {
  return share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;
}
