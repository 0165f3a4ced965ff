// Bodies of requests, from what the page's controls say.

/** Tokens beyond the budget that masks alone are given, so that no budget is near while they are watched. */
const SPARE = 4096;

/** What both requests share: messages, constraint, draws. */
function shared(form, members) {
  const drawn = form.temperature > 0 && form.beams === 1;
  return {
    model: form.model,
    messages: [{ role: "user", content: form.prompt }],
    ...members,
    temperature: drawn ? form.temperature : 0,
    ...(drawn ? { seed: form.seed } : {}),
    ...(form.thinking === "" ? {} : { enable_thinking: form.thinking === "on" }),
  };
}

function withOptions(body, options) {
  return Object.keys(options).length ? { ...body, swyb: options } : body;
}

/** The request as a client would send it. */
export function bodyOf(form, members) {
  const options = form.beams > 1 ? { beam_width: form.beams } : {};
  return withOptions({ ...shared(form, members), max_tokens: form.budget }, options);
}

/** A body that asks for a trace too. */
export function traced(body) {
  return { ...body, swyb: { ...body.swyb, trace: true } };
}

/** The same request for one text, without a budget near: its first T tokens are those of masks alone. */
export function bodyOfMasks(form, members) {
  return { ...shared(form, members), max_tokens: form.budget + SPARE };
}
