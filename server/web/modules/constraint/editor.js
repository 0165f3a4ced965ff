// Editor of a constraint: a text area with line numbers, and a mark on the line of an error.

import { element, setText } from "../dom.js";

export class Editor {
  #marked = null;

  /** `changed` is called after each change by the user. */
  constructor({ area, gutter, band, message }, changed) {
    Object.assign(this, { area, gutter, band, message });
    area.addEventListener("input", () => {
      this.#number();
      changed();
    });
    area.addEventListener("scroll", () => this.#place());
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    this.area.value = value;
    this.clear();
    this.#number();
  }

  /** Takes the mark away. */
  clear() {
    this.#marked = null;
    this.message.replaceChildren();
    this.area.removeAttribute("aria-invalid");
    this.#place();
  }

  /** Tells an error, at its line if it has one. */
  refuse(text, place) {
    this.#marked = place?.line ?? null;
    this.area.setAttribute("aria-invalid", "true");
    const named = /\bline \d+|\(at /.test(text);
    const where = place?.line && !named ? `Line ${place.line}${place.column ? `, column ${place.column}` : ""}: ` : "";
    const told = element("span", {}, `${where}${text}`);
    const go = place?.line
      ? element("button", { type: "button", class: "link", onclick: () => this.#select(place.line) }, "Show the line")
      : null;
    this.message.replaceChildren(told, ...(go ? [" ", go] : []));
    this.#place();
  }

  #number() {
    const count = this.text.split("\n").length;
    setText(this.gutter, Array.from({ length: count }, (_, number) => number + 1).join("\n"));
    this.#place();
  }

  #place() {
    this.gutter.scrollTop = this.area.scrollTop;
    this.band.hidden = this.#marked === null;
    if (this.#marked === null) return;
    const style = getComputedStyle(this.area);
    const height = parseFloat(style.lineHeight);
    const top = parseFloat(style.paddingTop) + (this.#marked - 1) * height - this.area.scrollTop;
    this.band.hidden = top < 0 || top > this.area.clientHeight - height / 2;
    this.band.style.top = `${top}px`;
    this.band.style.height = `${height}px`;
  }

  #select(line) {
    const lines = this.text.split("\n");
    const begin = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(begin, begin + lines[line - 1].length);
    const height = parseFloat(getComputedStyle(this.area).lineHeight);
    this.area.scrollTop = Math.max(0, (line - 3) * height);
  }
}
