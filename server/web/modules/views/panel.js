// Panel of one answer: how it stands, its thought, tokens and calls.

import { counted, element, setText } from "../dom.js";
import { Tokens } from "./tokens.js";

export class Panel {
  /** `box` holds the parts by their classes; `selected`: see `Tokens`. */
  constructor(box, selected) {
    this.box = box;
    this.part = (name) => box.querySelector(`.${name}`);
    this.tokens = new Tokens(this.part("tokens"), selected);
  }

  /** Shows an answer as it stands. `verdict`: what is to be said of it below, or null. */
  draw(answer, budget, { kind, whole }) {
    const used = answer.certificate?.tokens_used ?? answer.way.length;
    this.box.dataset.state = answer.state === "ended" && !whole ? "cut" : answer.state;
    setText(this.part("status"), statusOf(answer, used, budget, whole));
    this.part("thought").hidden = !answer.thought;
    setText(this.part("thought-text"), answer.thought);
    this.tokens.draw(answer.way);
    setText(this.part("plain"), answer.way.length ? "" : answer.text);
    this.part("calls").replaceChildren(...answer.calls.filter(Boolean).map(callView));
    setText(this.part("verdict"), verdictOf(answer, kind));
    this.part("failure").hidden = answer.failure === null;
    setText(this.part("failure"), answer.failure === null ? "" : answer.failure.message);
  }
}

function statusOf(answer, used, budget, whole) {
  switch (answer.state) {
    case "running":
      return `${used} of ${budget} tokens`;
    case "cut":
      return `Cut after ${counted(used, "token")}`;
    case "stopped":
      return "Stopped";
    case "untold":
      return "Not shown";
    case "failed":
      return answer.failure.status >= 400 && answer.failure.status < 500 ? "Refused" : "Failed";
    default:
      return whole ? `Complete · ${used} of ${budget} tokens` : `Cut after ${counted(used, "token")}`;
  }
}

/** Verdict of a reader that knows nothing of grammars. */
function verdictOf(answer, kind) {
  if (kind !== "json_schema" || !["ended", "cut"].includes(answer.state)) return "";
  try {
    JSON.parse(answer.text);
    return "JSON.parse reads it.";
  } catch (error) {
    return `JSON.parse: ${error.message}`;
  }
}

function callView(call) {
  return element("div", { class: "call" }, element("strong", {}, call.name || "…"), element("pre", {}, call.text));
}
