// Budget: a slider that begins at the minimum, which the server tells of the constraint while it is edited.

import { counted, element, setText } from "../dom.js";

export class Budget {
  minimum = null;

  /** `changed` is called after each change by the user. */
  constructor({ slider, number, minimum, most, facts }, changed) {
    Object.assign(this, { slider, number, lowest: minimum, most, facts });
    slider.addEventListener("input", () => {
      number.value = slider.value;
      changed();
    });
    number.addEventListener("input", () => {
      this.#bound();
      slider.value = number.value;
      changed();
    });
  }

  get tokens() {
    return Math.max(1, Math.round(Number(this.number.value)) || 1);
  }

  set tokens(value) {
    this.number.value = String(value);
    this.#bound();
    this.slider.value = String(value);
  }

  /** Shows that the minimum may be another one by now. */
  doubt() {
    this.lowest.setAttribute("aria-busy", "true");
  }

  /** Shows that there is no minimum, or none yet. */
  forget(why = "minimum …") {
    this.minimum = null;
    this.lowest.removeAttribute("aria-busy");
    setText(this.lowest, why);
    this.facts.replaceChildren();
  }

  /** Takes what the server told of the constraint. `room`: tokens of the context window. */
  learn(told, room) {
    this.minimum = told.min_tokens;
    this.lowest.removeAttribute("aria-busy");
    this.room = room;
    setText(this.lowest, `minimum ${told.min_tokens}${told.exact === false ? " at most" : ""}`);
    this.#bound();
    if (this.tokens < this.minimum) this.tokens = this.minimum;
    this.slider.value = this.number.value;
    this.facts.replaceChildren(...facts(told));
  }

  #bound() {
    const least = this.minimum ?? 1;
    const most = Math.min(this.room ?? Infinity, Math.max(64, 4 * least, 2 * (Number(this.number.value) || 0)));
    // Growing while it is dragged would run away from the pointer, so it grows by typed numbers alone.
    if (Number(this.slider.max) < most || Number(this.slider.max) > 4 * most) this.slider.max = String(most);
    this.slider.min = String(least);
    setText(this.most, this.slider.max);
  }
}

/** Lines about a constraint: its shortest answer, how large answers get, and what looks like a mistake. */
function* facts(told) {
  if (typeof told.example === "string") {
    yield element("p", { class: "shortest" }, "Shortest answer ", element("code", {}, told.example));
  }
  const size = [];
  if (told.finite === true) {
    size.push(`largest answer ${counted(told.largest_tokens, "token")}${told.largest_exact ? "" : " at most"}`);
  }
  if (told.finite === false) size.push("answers of any length");
  if (told.ambiguous === true) size.push("ambiguous");
  if (told.compile_ms !== undefined) {
    size.push(told.cache === "miss" ? `compiled in ${Math.max(1, Math.round(told.compile_ms))} ms` : "compiled before");
  }
  if (size.length) yield element("p", {}, size.join(" · "));
  if (told.unreachable_rules?.length) {
    yield element("p", { class: "warn" }, `Rules that the start doesn't lead to: ${told.unreachable_rules.join(", ")}`);
  }
  if (told.ignored?.length) {
    yield element("p", { class: "warn" }, `Not enforced: ${told.ignored.join("; ")}`);
  }
}
