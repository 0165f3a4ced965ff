// Trace of an answer: the steps that the server told, and the way from its first token to any row.

/** Who chose a token, in words. */
export const CHOSEN_BY = {
  model: "the model's favourite",
  alternative: "another of the model's tokens",
  grammar: "forced by the grammar",
  budget: "forced by the budget",
  witness: "the certified shortest ending",
};

export class Trace {
  steps = [];
  truncated = false;
  #places = [];

  get told() {
    return this.steps.length > 0;
  }

  /** Adds steps; each row is linked with the place before it. */
  add(steps) {
    for (const step of steps) {
      const before = this.#places.at(-1) ?? new Map();
      const places = new Map();
      for (const row of step.rows) {
        const parent = before.get(row.parent) ?? null;
        places.set(row.row, { ...row, step: this.steps.length, left: step.tokens_left, before: parent });
      }
      this.steps.push(step);
      this.#places.push(places);
    }
  }

  /** Places of a step, by row. */
  at(step) {
    return [...(this.#places[step]?.values() ?? [])];
  }

  /** The likeliest place of the last step. */
  get best() {
    return this.at(this.steps.length - 1).reduce((best, place) => {
      return best === null || (place.score ?? -Infinity) > (best.score ?? -Infinity) ? place : best;
    }, null);
  }

  /** The last place whose text is an answer's; null where no row has it, because its text was bounded, say. */
  endOf(text) {
    for (let step = this.steps.length - 1; step >= 0; step -= 1) {
      const found = this.at(step).find((place) => textOf(wayTo(place)) === text);
      if (found) return found;
    }
    return null;
  }
}

/** Places from the first token to this one. */
export function wayTo(place) {
  const way = [];
  for (let at = place; at !== null; at = at.before) way.push(at);
  return way.reverse();
}

/** Text of such places. */
export function textOf(way) {
  return way.map((place) => place.token.text).join("");
}
