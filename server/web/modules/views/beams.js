// Beams as a tree: a column for each step, a row for each prefix; what nothing alive comes from folds into its parent.

import { counted, element, svg } from "../dom.js";
import { shown } from "./tokens.js";
import { textOf, wayTo } from "../trace.js";

const COLUMN = 15;
const ROW = 20;
const EDGE = 12;

export class Beams {
  #drawn = 0;
  #nodes = new Map();
  #trace = null;

  /** `selected` is called with a place and the places before it. */
  constructor({ box, tree, list }, selected) {
    Object.assign(this, { box, tree, list, selected });
  }

  /** Draws steps that are new, and folds what has died. `way`: the answer as it stands. */
  draw(trace, way) {
    if (trace !== this.#trace) this.#begin(trace);
    for (; this.#drawn < trace.steps.length; this.#drawn += 1) {
      for (const place of trace.at(this.#drawn)) this.#add(place);
    }
    const rows = Math.max(1, ...trace.steps.map((step) => 1 + Math.max(0, ...step.rows.map((row) => row.row))));
    const [width, height] = [2 * EDGE + COLUMN * trace.steps.length, 2 * EDGE + ROW * (rows - 1)];
    this.tree.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.tree.setAttribute("width", String(width));
    this.tree.setAttribute("height", String(height));
    this.#fold(trace, way);
    this.#tell(trace);
    this.box.scrollLeft = width;
  }

  #begin(trace) {
    this.#trace = trace;
    this.#drawn = 0;
    this.#nodes.clear();
    this.tree.replaceChildren();
  }

  #add(place) {
    const [x, y] = [EDGE + COLUMN * (place.step + 0.5), EDGE + ROW * place.row];
    const from = this.#nodes.get(place.before) ?? { x: EDGE - COLUMN / 2, y: EDGE };
    const middle = (from.x + x) / 2;
    const edge = svg("path", { d: `M${from.x},${from.y} C${middle},${from.y} ${middle},${y} ${x},${y}` });
    const label = `${shown(place.token.text)} · score ${place.score?.toFixed(2) ?? "?"}`;
    const dot = svg("circle", { r: 4, cx: x, cy: y, class: `by-${place.by}` }, svg("title", {}, label));
    dot.addEventListener("click", () => this.selected(place, wayTo(place).slice(0, -1)));
    this.tree.prepend(edge);
    this.tree.append(dot);
    this.#nodes.set(place, { x, y, from, edge, dot });
  }

  #fold(trace, way) {
    const alive = new Set();
    for (const place of trace.at(trace.steps.length - 1)) {
      for (let at = place; at !== null && !alive.has(at); at = at.before) alive.add(at);
    }
    way.forEach((place) => alive.add(place));
    const taken = new Set(way);
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
    const places = trace.at(trace.steps.length - 1).sort((one, other) => (other.score ?? 0) - (one.score ?? 0));
    const rows = places.map((place) => {
      const text = textOf(wayTo(place));
      const tail = text.length > 60 ? `…${text.slice(-60)}` : text;
      const needs = place.distance == null ? "" : `needs ${counted(place.distance, "token")}`;
      return element("li", {}, element("code", {}, tail), element("span", {}, `${place.score?.toFixed(2) ?? ""} ${needs}`));
    });
    this.list.replaceChildren(...rows);
  }
}
