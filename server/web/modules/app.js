// The page: sends the request twice, with SWYB and as masks alone would, and draws both while they stream.

import { Answer } from "./answer.js";
import { Api, ApiFailure } from "./api.js";
import { ConstraintError } from "./constraint/kinds.js";
import { Controls } from "./controls.js";
import { byId, element, framed, setText } from "./dom.js";
import { bodyOf, bodyOfMasks, traced } from "./request.js";
import { SNIPPETS } from "./snippets.js";
import { Beams } from "./views/beams.js";
import { certificateView } from "./views/certificate.js";
import { drawChart } from "./views/chart.js";
import { Panel } from "./views/panel.js";
import { Why } from "./views/why.js";

const api = new Api();
const controls = new Controls(api, framed(drawRequest));
const why = new Why(
  { box: byId("place"), form: byId("why"), field: byId("why-token"), answer: byId("why-answer") },
  (prefix, token, left) => api.post("v1/explain", { ...shown.members, prefix, token, tokens_left: left }),
);
const ours = new Panel(byId("ours"), select);
const masks = new Panel(byId("masks"), select);
const beams = new Beams({ box: byId("beams-box"), tree: byId("tree"), list: byId("beam-list") }, select);
const draw = framed(drawAnswers);

/** What is shown: both answers, and the request that they are of. */
const shown = { ours: null, masks: null, members: {}, form: null, kind: null, minimum: null, selected: null };
let running = null;
let snippet = "curl";

async function run() {
  running?.abort();
  let members;
  try {
    members = controls.members;
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    controls.editor.refuse(error.message, error);
    controls.editor.area.focus();
    return;
  }
  const signal = (running = new AbortController()).signal;
  const form = controls.form;
  const { kind, budget } = controls;
  const answers = { ours: new Answer(), masks: new Answer(form.budget) };
  Object.assign(shown, { ...answers, members, form, kind, minimum: budget.minimum, selected: null });
  byId("results").dataset.state = "running";
  if (byId("results").getBoundingClientRect().top > innerHeight - 200) byId("results").scrollIntoView();
  byId("run").textContent = "Stop";
  why.clear();
  // Both at once: requests that run together share the model's steps.
  await Promise.all([
    shown.ours.run(api, traced(bodyOf(form, members)), signal, draw),
    shown.masks.run(api, traced(bodyOfMasks(form, members)), signal, draw),
  ]);
  if (running?.signal !== signal) return;
  running = null;
  drawAnswers(); // what ends is told as it is drawn, not a frame before
  byId("run").textContent = "Run";
  byId("results").dataset.state = "ended";
  const status = (answer) => byId(answer).querySelector(".status").textContent;
  setText(byId("announcement"), `${status("ours")}. Masks alone: ${status("masks")}.`);
  if (shown.ours.failure instanceof ApiFailure) controls.refuse(shown.ours.failure);
}

function drawAnswers() {
  const { form, kind } = shown;
  if (form === null) return;
  const complete = shown.ours.certificate?.complete === true;
  ours.draw(shown.ours, form.budget, { kind, whole: complete });
  masks.draw(shown.masks, form.budget, { kind, whole: shown.masks.state === "ended" });
  setText(byId("masks-note"), noteOn(shown.masks));
  const { minimum, selected: at } = shown;
  drawChart(byId("chart"), { budget: form.budget, minimum, ours: shown.ours.way, masks: shown.masks.way, at });
  byId("beams-part").hidden = form.beams < 2;
  if (form.beams > 1) beams.draw(shown.ours.trace, form.budget);
  const certificate = shown.ours.certificate;
  byId("certificate-part").hidden = certificate === null;
  if (certificate !== null && byId("certificate").dataset.of !== certificate.grammar_id + certificate.tokens_used) {
    byId("certificate").dataset.of = certificate.grammar_id + certificate.tokens_used;
    byId("certificate").replaceChildren(...certificateView(certificate));
  }
}

/** How the left answer was got. */
function noteOn(answer) {
  const how = "This server's answer to the same request with room to spare, for one text, stopped after T tokens.";
  if (answer.thought) return "A thought comes first, and its tokens aren't told one by one: so masks alone aren't shown.";
  if (answer.trace.truncated) return "There are too many tokens to trace: so masks alone aren't shown.";
  if (answer.state === "failed" || !answer.way.length) return how;
  return answer.untouched
    ? `${how} Its trace shows that no budget chose any of them: masks alone would write the same.`
    : `${how} Even so its budget was near: masks alone might differ.`;
}

function select(token, before) {
  shown.selected = before.length;
  why.show(token, before);
  draw();
}

/** Draws what follows from the controls alone; the chart shows them until there is an answer. */
function drawRequest() {
  drawSnippet();
  if (shown.form !== null) return;
  const { tokens, minimum } = controls.budget;
  drawChart(byId("chart"), { budget: tokens, minimum, ours: [], masks: [], at: null });
}

function drawSnippet() {
  let text;
  try {
    const base = new URL(".", location.href).href.replace(/\/$/, "");
    text = SNIPPETS[snippet](base, bodyOf(controls.form, controls.members), api.key !== "");
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    text = `The constraint can't be sent yet: ${error.message}`;
  }
  setText(byId("snippet"), text);
}

async function copy() {
  const button = byId("copy");
  const selection = getSelection();
  selection.selectAllChildren(byId("snippet"));
  // Browsers give pages without TLS no clipboard, but on this machine: there the text stays selected.
  const done = await navigator.clipboard?.writeText(byId("snippet").textContent).then(() => true, () => false);
  button.textContent = done ? "Copied" : "Selected: copy it";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

async function begin() {
  try {
    const { data } = await api.get("v1/models");
    setText(byId("model"), data[0].id);
    setText(byId("problem"), "");
    byId("key-part").open = false;
    controls.begin(data[0]);
  } catch (error) {
    const wanted = error instanceof ApiFailure && error.status === 401;
    setText(byId("problem"), wanted ? "This server asks for a key." : error.message);
    if (wanted) {
      byId("key-part").open = true;
      byId("key").focus();
    }
  }
}

byId("request").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) running.abort();
  else run();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  api.key = byId("key").value;
  begin();
});
byId("copy").addEventListener("click", copy);
for (const form of Object.keys(SNIPPETS)) {
  const choice = element("input", { type: "radio", name: "snippet", value: form, autocomplete: "off" });
  choice.checked = form === snippet;
  choice.addEventListener("change", () => {
    snippet = form;
    drawSnippet();
  });
  byId("snippets").append(element("label", {}, choice, element("span", {}, form)));
}
addEventListener("resize", draw);
why.clear();
begin();
