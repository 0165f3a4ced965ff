// Requests to the server that the page came from, and its streams of events. The key lives in memory alone.

/** A refusal or failure; `problem` is the server's account of it: message, code, param, details. */
export class ApiFailure extends Error {
  constructor(status, problem) {
    super(problem.message);
    this.status = status;
    this.problem = problem;
  }
}

const GONE = "the server can't be reached";
const BROKEN = "the stream broke off before its end";

/** Tells what a browser calls a type error, each in its own words; an abort stays one. */
const failing = (message) => (error) => {
  throw error instanceof TypeError ? new ApiFailure(0, { message }) : error;
};

export class Api {
  key = "";

  async get(path) {
    return (await this.#answered(path, { method: "GET" })).json();
  }

  async post(path, body, signal) {
    return (await this.#posted(path, body, signal)).json();
  }

  /** Objects of the events of a stream, until its end; throws ApiFailure for an error within it too. */
  async *stream(path, body, signal) {
    const answer = await this.#posted(path, { ...body, stream: true }, signal);
    for await (const data of events(answer.body)) {
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new ApiFailure(answer.status, event.error);
      yield event;
    }
    throw new ApiFailure(answer.status, { message: BROKEN });
  }

  #posted(path, body, signal) {
    const headers = { "Content-Type": "application/json" };
    return this.#answered(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  async #answered(path, options) {
    const access = this.key ? { Authorization: `Bearer ${this.key}` } : {};
    // Addresses are relative, so that the page works behind a proxy's prefix.
    const headers = { ...options.headers, ...access };
    const answer = await fetch(path, { ...options, headers }).catch(failing(GONE));
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => null);
    throw new ApiFailure(answer.status, told?.error ?? { message: `the server answered ${answer.status}` });
  }
}

/** The data of server-sent events. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(failing(BROKEN));
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const lines = block.split("\n").filter((line) => line.startsWith("data:"));
        if (lines.length) yield lines.map((line) => line.slice(5).trimStart()).join("\n");
      }
    }
  } finally {
    await reader.cancel();
  }
}
