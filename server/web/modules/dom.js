// Elements of the page. Text becomes text nodes and nothing else: no answer is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** The element with an id; throws where there is none. */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** An HTML element. `properties`: attributes, or listeners by names such as `onclick`; null and false are left out. */
export function element(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** An SVG element; see `element`. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

/** Replaces text where it differs, so that screen readers and selections are left alone where nothing changed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A function that runs `draw` once before the next frame, however often it is called until then. */
export function framed(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/** "1 token", "2 tokens". */
export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
