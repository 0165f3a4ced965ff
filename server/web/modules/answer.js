// An answer while it streams: its text, thought, calls, trace and certificate.

import { Trace, textOf, wayTo } from "./trace.js";

export class Answer {
  state = "running"; // then: ended, cut, stopped, failed
  text = "";
  thought = "";
  calls = [];
  trace = new Trace();
  certificate = null;
  failure = null;
  way = [];
  #limit;

  /** `limit`: tokens after which it is cut, as masks alone are; null: the server keeps to the budget. */
  constructor(limit = null) {
    this.#limit = limit;
  }

  /** Asks, and follows the stream to its end. `changed` is called after each event. Throws nothing. */
  async run(api, body, signal, changed) {
    try {
      for await (const chunk of api.stream("v1/chat/completions", body, signal)) {
        this.#take(chunk);
        changed();
        if (this.state === "cut") break;
      }
      if (this.state === "running") this.state = "ended";
    } catch (error) {
      this.state = signal.aborted ? "stopped" : "failed";
      this.failure = signal.aborted ? null : error;
    }
    changed();
  }

  /** Whether a budget has chosen none of these tokens, so that masks alone give the same. */
  get untouched() {
    return this.way.every((place) => place.by !== "budget" && place.by !== "witness");
  }

  #take(chunk) {
    const [choice] = chunk.choices;
    const delta = choice?.delta ?? {};
    this.text += delta.content ?? "";
    this.thought += delta.reasoning_content ?? "";
    for (const call of delta.tool_calls ?? []) this.#call(call);
    const steps = chunk.swyb?.trace;
    if (steps?.length) this.trace.add(steps);
    if (chunk.swyb?.truncated) this.trace.truncated = true;
    if (chunk.swyb && "tokens_used" in chunk.swyb) this.certificate = chunk.swyb;
    this.#follow(choice?.finish_reason ?? null);
  }

  #follow(finish) {
    if (!this.trace.told) return;
    const end = finish === null ? null : this.trace.endOf(this.text);
    this.way = wayTo(end ?? this.trace.best);
    if (this.#limit === null) return;
    const whole = finish !== null && (this.certificate?.tokens_used ?? this.way.length) <= this.#limit;
    if (whole || this.way.length < this.#limit) return;
    this.way = this.way.slice(0, this.#limit);
    this.text = textOf(this.way);
    this.state = "cut";
  }

  #call(piece) {
    const call = (this.calls[piece.index] ??= { name: "", text: "" });
    const part = piece.function ?? piece.custom ?? {};
    call.name += part.name ?? "";
    call.text += part.arguments ?? part.input ?? "";
  }
}
