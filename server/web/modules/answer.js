// An answer while it streams: its text, thought, calls, trace and certificate.

import { Trace, textOf, wayTo } from "./trace.js";

export class Answer {
  state = "running"; // then: ended, cut, stopped, failed, untold
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
      await this.#follow(api, body, signal, changed);
    } catch (error) {
      this.state = signal.aborted ? "stopped" : "failed";
      this.failure = signal.aborted ? null : error;
    }
    changed();
  }

  /** Whether no budget has chosen any of these tokens, so that masks alone give the same. */
  get untouched() {
    return this.way.every((token) => token.by !== "budget" && token.by !== "witness");
  }

  async #follow(api, body, signal, changed) {
    try {
      for await (const chunk of api.stream("v1/chat/completions", body, signal)) {
        this.#take(chunk);
        changed();
        if (this.state !== "running") return;
      }
      this.state = "ended";
    } catch (error) {
      if (error.problem?.param !== "swyb.trace" || this.#limit !== null) throw error;
      // An engine that tells no trace still answers.
      const { trace, ...options } = body.swyb;
      await this.#follow(api, { ...body, swyb: options }, signal, changed);
    }
  }

  #take(chunk) {
    const [choice] = chunk.choices;
    const delta = choice?.delta ?? {};
    this.text += delta.content ?? "";
    this.thought += delta.reasoning_content ?? "";
    for (const call of delta.tool_calls ?? []) this.#call(call);
    this.trace.add(chunk.swyb?.trace ?? []);
    if (choice?.finish_reason) this.certificate = chunk.swyb ?? null;
    this.way = this.trace.told && !this.trace.truncated ? wayTo(this.trace.best) : [];
    if (this.#limit !== null) this.#cut();
  }

  #cut() {
    if (this.thought || this.trace.truncated) {
      this.state = "untold"; // nobody says how many tokens there are
      return;
    }
    const ended = this.trace.best?.ended === true;
    if (this.way.length < this.#limit || (ended && this.way.length === this.#limit)) return;
    this.way = this.way.slice(0, this.#limit);
    this.text = textOf(this.way);
    this.calls = [];
    this.state = "cut";
  }

  #call(piece) {
    const call = (this.calls[piece.index] ??= { name: "", text: "" });
    const part = piece.function ?? piece.custom ?? {};
    call.name += part.name ?? "";
    call.text += part.arguments ?? part.input ?? "";
  }
}
