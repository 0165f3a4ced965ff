// Trace of an answer: the steps that the server told, and the way of tokens to any of their rows.

/** Who chose a token, in words. */
export const CHOSEN_BY = {
  model: "the model's favourite",
  alternative: "another of the model's tokens",
  grammar: "forced by the grammar",
  budget: "forced by the budget",
  witness: "the certified shortest ending",
};

export class Trace {
  /** Places by step and row: the server's rows, each with its `step`, the place `before` it and its `tokens`. */
  places = [];
  truncated = false;

  get told() {
    return this.places.length > 0;
  }

  add(steps) {
    for (const { rows, truncated } of steps) {
      this.truncated ||= truncated === true;
      if (!rows.length) continue;
      const before = this.last;
      this.places.push(
        rows.map((row) => {
          const parent = before.find((place) => place.row === row.parent) ?? null;
          const place = { ...row, step: this.places.length, before: parent };
          place.tokens = tokensOf(place);
          return place;
        }),
      );
    }
  }

  get last() {
    return this.places.at(-1) ?? [];
  }

  /** Place of the answer, once it is there; until then the best of the last step. */
  get best() {
    const score = (place) => (place.answer === 0 ? Infinity : (place.score ?? 0));
    return this.last.reduce((best, place) => (best === null || score(place) > score(best) ? place : best), null);
  }
}

/** Tokens that a place adds, each with what was left and needed behind it. Sets the place's `rest`: bytes of a character
 * that isn't over. */
function tokensOf(place) {
  place.rest = place.before?.rest ?? [];
  const added = [...(place.token ? [{ ...place.token, by: place.by }] : []), ...place.jumped];
  return added.map((token, at) => {
    const later = added.length - 1 - at;
    const asked = at === 0 && place.token !== null;
    // Forced tokens have one way to go on, so that each needs one less than the one before.
    const [left, distance] = [place.tokens_left + later, place.distance + later];
    const ends = later === 0 && place.ended && place.text === place.before?.text;
    const text = ends ? "" : shownOf(token, place);
    return { text, by: token.by, left, distance, ends, place, candidates: asked ? place.candidates : [] };
  });
}

/** What a token adds to the text that can be shown: a character is its last token's. */
function shownOf({ text, bytes }, place) {
  if (!bytes && !place.rest.length) return text;
  const all = [...place.rest, ...(bytes ?? new TextEncoder().encode(text))];
  const end = all.length - begun(all);
  place.rest = all.slice(end);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(all.slice(0, end)));
}

/** Number of bytes at the end that begin a character of UTF-8 and don't end it. */
function begun(bytes) {
  const tail = bytes.slice(-3);
  const first = tail.findLastIndex((byte) => byte >= 0xc0);
  const [lead, count] = [tail[first] ?? 0, tail.length - first];
  return count < (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0) ? count : 0;
}

/** Tokens from the beginning to those of a place. */
export function wayTo(place) {
  const places = [];
  for (let at = place; at !== null; at = at.before) places.push(at);
  return places.reverse().flatMap((at) => at.tokens);
}

/** Text of such tokens. */
export function textOf(way) {
  return way.map((token) => token.text).join("");
}
