// Controls of the request: prompt, constraint, budget, options; the constraint is certified while it is edited.

import { ApiFailure } from "./api.js";
import { Budget } from "./constraint/budget.js";
import { Editor } from "./constraint/editor.js";
import { ConstraintError, KINDS, placeOf } from "./constraint/kinds.js";
import { SAMPLES } from "./constraint/samples.js";
import { byId, element, setText } from "./dom.js";

/** Milliseconds without a key press after which the constraint is certified. */
const QUIET = 250;

export class Controls {
  kind = "json_schema";
  model = null;
  room = null;
  #drafts = {};
  #timer = null;
  #asking = null;

  /** `changed` is called after each change that makes another request. */
  constructor(api, changed) {
    this.api = api;
    this.changed = changed;
    this.prompt = byId("prompt");
    this.samples = byId("sample");
    this.editor = new Editor(
      { area: byId("constraint"), gutter: byId("gutter"), band: byId("band"), message: byId("constraint-message") },
      () => this.#edited(),
    );
    this.budget = new Budget(
      { slider: byId("budget"), number: byId("tokens"), minimum: byId("minimum"), most: byId("most"), facts: byId("facts") },
      () => this.#settled(),
    );
    this.#offerKinds();
    this.samples.addEventListener("change", () => this.#take(SAMPLES[this.kind][Number(this.samples.value)]));
    for (const name of ["beams", "temperature", "seed", "thinking"]) byId(name).addEventListener("input", () => this.#settled());
    this.prompt.addEventListener("input", changed);
  }

  /** Takes what the server is, and shows the first sample. */
  begin(model) {
    [this.model, this.room] = [model.id, model.context_window];
    this.#turnTo(this.kind);
  }

  /** Members of the constraint; throws ConstraintError. */
  get members() {
    return KINDS[this.kind].members(this.editor.text);
  }

  /** Values of all other controls. */
  get form() {
    const number = (name) => Number(byId(name).value) || 0;
    return {
      model: this.model,
      prompt: this.prompt.value,
      budget: this.budget.tokens,
      beams: Math.max(1, Math.min(16, number("beams"))),
      temperature: Math.max(0, Math.min(2, number("temperature"))),
      seed: number("seed"),
      thinking: byId("thinking").value,
    };
  }

  /** Shows a problem at its place, if it is one of the constraint; returns whether it is. */
  refuse(error) {
    const place = error instanceof ApiFailure ? placeOf(this.kind, this.editor.text, error.problem) : error;
    if (error instanceof ApiFailure && place === null && error.problem.code !== "invalid_grammar") return false;
    this.editor.refuse(error.message, place);
    return true;
  }

  #offerKinds() {
    const buttons = Object.entries(KINDS).map(([kind, { label }]) => {
      const choice = element("input", { type: "radio", name: "kind", value: kind, onchange: () => this.#turnTo(kind) });
      choice.checked = kind === this.kind;
      return element("label", {}, choice, element("span", {}, label));
    });
    byId("kinds").append(...buttons);
  }

  #turnTo(kind) {
    if (this.editor.text) {
      const { prompt, budget } = this.form;
      this.#drafts[this.kind] = { text: this.editor.text, prompt, budget };
    }
    this.kind = kind;
    const options = SAMPLES[kind].map((sample, index) => element("option", { value: index }, sample.name));
    this.samples.replaceChildren(...options);
    this.#take(this.#drafts[kind] ?? SAMPLES[kind][0]);
  }

  #take(sample) {
    this.editor.text = sample.text;
    this.prompt.value = sample.prompt;
    this.budget.forget();
    this.budget.tokens = sample.budget;
    this.#edited(0);
  }

  #settled() {
    setText(byId("beams-shown"), byId("beams").value);
    const one = Number(byId("beams").value) === 1;
    byId("temperature").disabled = !one;
    byId("seed").disabled = !one || !(Number(byId("temperature").value) > 0);
    this.changed();
  }

  #edited(after = QUIET) {
    this.budget.doubt();
    this.#settled();
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#timer = setTimeout(() => this.certify(), after);
  }

  /** Asks for the minimum of the constraint as it stands. */
  async certify() {
    this.#asking?.abort();
    const asking = (this.#asking = new AbortController());
    try {
      const told = await this.api.post("v1/certify", this.members, asking.signal);
      if (asking.signal.aborted) return;
      this.editor.clear();
      this.budget.learn(told, this.room);
    } catch (error) {
      if (asking.signal.aborted) return;
      this.budget.forget("no minimum");
      if (error instanceof ConstraintError) this.editor.refuse(error.message, error);
      else if (!this.refuse(error)) this.editor.refuse(error.message, null);
    }
    this.changed();
  }
}
