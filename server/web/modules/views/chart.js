// Chart of the tokens left against the distance: an answer that fits stays below the falling line.

import { counted, svg } from "../dom.js";

const HEIGHT = 190;
const EDGE = { left: 34, right: 10, top: 12, bottom: 28 };

/**
 * Draws into an SVG element. `ours`, `masks`: tokens of the two answers; `minimum`: tokens of a shortest
 * answer, or null; `at`: a token to point at, or null. */
export function drawChart(chart, { budget, minimum, ours, masks, at }) {
  const width = Math.max(240, chart.clientWidth);
  const far = Math.max(4, minimum ?? 0, ...[...ours, ...masks].map((token) => token.distance));
  const top = Math.min(budget, Math.max(12, Math.ceil(far * 2.2)));
  const x = (token) => EDGE.left + (token / budget) * (width - EDGE.left - EDGE.right);
  const y = (tokens) => HEIGHT - EDGE.bottom - (Math.min(tokens, top) / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const lost = masks.findIndex((token, index) => token.distance > budget - index - 1);
  chart.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  chart.setAttribute("height", String(HEIGHT));
  chart.setAttribute("aria-label", described(budget, ours, masks, lost));
  chart.replaceChildren(
    ...axes(x, y, budget, top),
    svg("polygon", { class: "room", points: corners([[0, 0], [0, top], [budget - top, top], [budget, 0]], x, y) }),
    svg("line", { class: "left", x1: x(budget - top), y1: y(top), x2: x(budget), y2: y(0) }),
    curve("masks", masks, x, y),
    curve("ours", ours, x, y),
    ...(minimum === null ? [] : least(minimum, ours.length + masks.length === 0, x, y)),
    ...head("masks", masks, x, y),
    ...head("ours", ours, x, y),
    ...(lost < 0 ? [] : [svg("circle", { class: "lost", cx: x(lost + 1), cy: y(masks[lost].distance), r: 5 })]),
    ...(at === null ? [] : [svg("line", { class: "at", x1: x(at), y1: y(0), x2: x(at), y2: y(top) })]),
  );
}

function axes(x, y, budget, top) {
  const steps = [0, Math.round(budget / 2), budget];
  const levels = [0, Math.round(top / 2), top];
  return [
    ...levels.map((level) => svg("line", { class: "grid", x1: x(0), x2: x(budget), y1: y(level), y2: y(level) })),
    ...levels.map((level) => svg("text", { x: x(0) - 8, y: y(level) + 4, "text-anchor": "end" }, String(level))),
    ...steps.map((step, index) => {
      const anchor = ["start", "middle", "end"][index];
      const told = index === 1 ? `${step} tokens used` : String(step);
      return svg("text", { x: x(step), y: HEIGHT - 8, "text-anchor": anchor }, told);
    }),
  ];
}

/** Points behind each token: how many are then still needed. */
function points(way) {
  return way.map((token, index) => [index + 1, token.distance]);
}

function curve(name, way, x, y) {
  return svg("polyline", { class: name, points: corners(points(way), x, y) });
}

function corners(pairs, x, y) {
  return pairs.map(([token, tokens]) => `${x(token)},${y(tokens)}`).join(" ");
}

/** Mark of the minimum where nothing is used yet, with its name as long as no curve is in the way. */
function least(minimum, named, x, y) {
  const name = svg("text", { x: x(0) + 9, y: y(minimum) + 4 }, `minimum ${minimum}`);
  return [svg("circle", { class: "least", cx: x(0), cy: y(minimum), r: 3.5 }), ...(named ? [name] : [])];
}

function head(name, way, x, y) {
  const last = points(way).at(-1);
  return last ? [svg("circle", { class: `${name} head`, cx: x(last[0]), cy: y(last[1]), r: 3.5 })] : [];
}

function described(budget, ours, masks, lost) {
  const last = ours.at(-1);
  const parts = [`Tokens left against tokens needed, of a budget of ${budget}.`];
  if (last) parts.push(`SWYB: ${counted(ours.length, "token")} used, ${counted(last.distance, "token")} needed.`);
  if (lost >= 0) parts.push(`Masks alone need more than is left from token ${lost + 1} on.`);
  else if (masks.length) parts.push(`Masks alone: ${counted(masks.length, "token")} used.`);
  return parts.join(" ");
}
