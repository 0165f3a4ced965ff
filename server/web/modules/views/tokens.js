// Tokens of an answer, coloured by who chose each; arrow keys go from one to the next.

import { element, setText } from "../dom.js";
import { CHOSEN_BY } from "../trace.js";

export class Tokens {
  #spans = [];
  #way = [];
  #current = 0;

  /** `selected` is called with a token and the tokens before it. */
  constructor(list, selected) {
    this.list = list;
    this.selected = selected;
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("click", (event) => {
      const at = this.#spans.indexOf(event.target.closest(".token"));
      if (at >= 0) this.#select(at);
    });
  }

  /** Draws what has changed. */
  draw(way) {
    const kept = this.#spans.splice(way.length);
    kept.forEach((span) => span.remove());
    way.forEach((token, at) => {
      if (this.#way[at] !== token || !this.#spans[at]) this.#put(token, at);
    });
    this.#way = way;
    this.#tab(Math.min(this.#current, Math.max(0, way.length - 1)));
  }

  #put(token, at) {
    if (!this.#spans[at]) {
      this.#spans[at] = element("span", { role: "option", tabindex: -1 });
      this.list.append(this.#spans[at]);
    }
    const span = this.#spans[at];
    const text = token.ends ? "end" : shown(token.text);
    span.className = `token by-${token.by}${token.ends ? " ends" : ""}`;
    span.setAttribute("aria-label", `${at + 1}: ${text}, ${CHOSEN_BY[token.by]}`);
    span.title = CHOSEN_BY[token.by];
    setText(span, token.ends ? "end" : token.text);
  }

  #key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 }[event.key];
    const last = this.#spans.length - 1;
    if (event.key === "Enter" || event.key === " ") this.#select(this.#current);
    else if (event.key === "Home") this.#select(0);
    else if (event.key === "End") this.#select(last);
    else if (move) this.#select(Math.max(0, Math.min(last, this.#current + move)));
    else return;
    event.preventDefault();
  }

  #tab(at) {
    this.#spans[this.#current]?.setAttribute("tabindex", "-1");
    this.#current = at;
    this.#spans[at]?.setAttribute("tabindex", "0");
  }

  #select(at) {
    if (!this.#spans[at]) return;
    document.querySelectorAll(".token[aria-selected]").forEach((span) => span.removeAttribute("aria-selected"));
    this.#tab(at);
    this.#spans[at].setAttribute("aria-selected", "true");
    this.#spans[at].focus({ preventScroll: false });
    this.selected(this.#way[at], this.#way.slice(0, at));
  }
}

/** A token's text in one line, with its spaces visible. */
export function shown(text) {
  return text.replaceAll("\n", "↵").replaceAll("\t", "⇥").replace(/^ +| +$/g, (spaces) => "␣".repeat(spaces.length));
}
