// The request as text for other programs: curl, Python with OpenAI's client, and JSON.

/** OpenAI's client has no such parameters: they go through `extra_body`. */
const EXTRA = ["swyb", "enable_thinking"];

/** By name of the form: a function from address and body to text. */
export const SNIPPETS = {
  curl: (base, body, keyed) => {
    const key = keyed ? ` \\\n  -H "Authorization: Bearer $SWYB_API_KEY"` : "";
    const data = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    return `curl ${base}/v1/chat/completions \\\n  -H 'Content-Type: application/json'${key} -d '${data}'`;
  },
  Python: (base, body, keyed) => {
    const key = keyed ? 'os.environ["SWYB_API_KEY"]' : '"unused"';
    const known = Object.entries(body).filter(([name]) => !EXTRA.includes(name) && name !== "response_format");
    const format = body.response_format;
    // Its types know OpenAI's own formats; others pass as they are, through extra_body.
    const own = !format || format.type === "json_schema";
    const extra = Object.fromEntries([
      ...(own ? [] : [["response_format", format]]),
      ...Object.entries(body).filter(([name]) => EXTRA.includes(name)),
    ]);
    const parameters = [
      ...known,
      ...(format && own ? [["response_format", format]] : []),
      ...(Object.keys(extra).length ? [["extra_body", extra]] : []),
    ];
    const written = parameters.map(([name, value]) => `    ${name}=${python(value, 4)},\n`).join("");
    return (
      `${keyed ? "import os\n\n" : ""}from openai import OpenAI\n\n` +
      `client = OpenAI(base_url="${base}/v1", api_key=${key})\n` +
      `answer = client.chat.completions.create(\n${written})\n` +
      `print(answer.choices[0].message)\nprint(answer.swyb["complete"])  # True\n`
    );
  },
  extra_body: (base, body) => {
    const extra = Object.entries(body).filter(([name]) => EXTRA.includes(name) || name === "response_format");
    return JSON.stringify(Object.fromEntries(extra), null, 2);
  },
};

/** A JSON value as Python writes it. */
function python(value, indent) {
  const pad = " ".repeat(indent + 4);
  const end = " ".repeat(indent);
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return String(value);
  // JSON escapes what Python's strings would; what neither shows is escaped below.
  if (typeof value === "string") return visible(JSON.stringify(value));
  if (Array.isArray(value)) {
    if (!value.length) return "[]";
    if (value.every((item) => typeof item !== "object")) return `[${value.map((item) => python(item, 0)).join(", ")}]`;
    return `[\n${value.map((item) => `${pad}${python(item, indent + 4)},\n`).join("")}${end}]`;
  }
  const members = Object.entries(value);
  if (!members.length) return "{}";
  const written = members.map(([name, item]) => `${pad}${visible(JSON.stringify(name))}: ${python(item, indent + 4)},\n`);
  return `{\n${written.join("")}${end}}`;
}

function visible(text) {
  return text.replace(/[\u007f-\u009f\u2028\u2029]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
