// Beams as a tree: a column for each step, a row for each text; what nothing alive comes from folds into its parent.

import { counted, element, svg } from "../dom.js";
import { textOf, wayTo } from "../trace.js";
import { shown } from "./tokens.js";

const COLUMN = { least: 14, most: 34 };
const ROW = 22;
const EDGE = 12;

export class Beams {
  #drawn = 0;
  #nodes = new Map();
  #trace = null;

  /** `selected` is called with a token and the tokens before it. */
  constructor({ box, tree, list }, selected) {
    Object.assign(this, { box, tree, list, selected });
  }

  /** Draws steps that are new, and folds what has died; `budget`: steps that there will be at most. */
  draw(trace, budget) {
    if (trace !== this.#trace) this.#begin(trace, budget);
    if (this.#drawn === trace.places.length) return;
    for (; this.#drawn < trace.places.length; this.#drawn += 1) trace.places[this.#drawn].forEach((place) => this.#add(place));
    const rows = Math.max(...trace.places.map((places) => places.length));
    const [width, height] = [2 * EDGE + this.column * (trace.places.length - 1), 2 * EDGE + ROW * (rows - 1)];
    this.tree.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.tree.setAttribute("width", String(width));
    this.tree.setAttribute("height", String(height));
    this.#fold(trace);
    this.#tell(trace);
    this.box.scrollLeft = width;
  }

  #begin(trace, budget) {
    this.#trace = trace;
    this.column = Math.max(COLUMN.least, Math.min(COLUMN.most, (this.box.clientWidth - 2 * EDGE) / budget));
    this.#drawn = 0;
    this.#nodes.clear();
    this.tree.replaceChildren();
    this.list.replaceChildren();
  }

  #add(place) {
    const [x, y] = [EDGE + this.column * place.step, EDGE + ROW * place.row];
    const from = this.#nodes.get(place.before) ?? { x, y };
    const middle = (from.x + x) / 2;
    const edge = svg("path", { d: `M${from.x},${from.y} C${middle},${from.y} ${middle},${y} ${x},${y}` });
    const dot = svg("circle", { r: 4.5, cx: x, cy: y, class: `by-${place.by ?? "none"}` });
    const [token] = place.tokens;
    if (token) {
      dot.append(svg("title", {}, `${shown(textOf(place.tokens))} · ${scoreOf(place)}`));
      dot.addEventListener("click", () => this.selected(token, wayTo(place.before)));
    }
    this.tree.prepend(edge);
    this.tree.append(dot);
    this.#nodes.set(place, { x, y, from, edge, dot });
  }

  #fold(trace) {
    const alive = new Set();
    for (const place of trace.last) {
      for (let at = place; at !== null && !alive.has(at); at = at.before) alive.add(at);
    }
    const taken = new Set();
    for (let at = trace.best; at !== null; at = at.before) taken.add(at);
    for (const [place, { x, y, from, edge, dot }] of this.#nodes) {
      const dead = !alive.has(place);
      for (const node of [edge, dot]) {
        node.classList.toggle("dead", dead);
        node.classList.toggle("taken", taken.has(place));
      }
      dot.style.transform = dead ? `translate(${from.x - x}px, ${from.y - y}px)` : "";
    }
  }

  #tell(trace) {
    const best = trace.best;
    const places = [...trace.last].sort((one, other) => (other === best) - (one === best) || other.score - one.score);
    const rows = places.map((place) => {
      const text = textOf(wayTo(place));
      const tail = text.length > 72 ? `…${text.slice(-72)}` : text;
      const needs = place.ended ? "complete" : `needs ${counted(place.distance, "token")}`;
      return element("li", {}, element("code", {}, tail), element("span", {}, `${scoreOf(place)} · ${needs}`));
    });
    this.list.replaceChildren(...rows);
  }
}

function scoreOf(place) {
  return place.score === null ? "" : `score ${place.score.toFixed(2)}`;
}
