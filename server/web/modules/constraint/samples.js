// Samples to begin with: a prompt, a constraint and a budget each.

const pretty = (value) => JSON.stringify(value, null, 2);

const lines = (...texts) => `${texts.join("\n")}\n`;

const strings = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
  additionalProperties: false,
});

const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, unit: { enum: ["celsius", "fahrenheit"] } },
      required: ["city", "unit"],
      additionalProperties: false,
    },
  },
};

/** By kind, in the order in which they are offered. */
export const SAMPLES = {
  json_schema: [
    {
      name: "A person",
      prompt: "Describe Marie Curie in JSON: name, field, summary.",
      text: pretty(strings("name", "field", "summary")),
      budget: 24,
    },
    {
      name: "A list of cities",
      prompt: "List large cities in JSON: an array of objects with city and population.",
      text: pretty({
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          properties: { city: { type: "string" }, population: { type: "integer" } },
          required: ["city", "population"],
          additionalProperties: false,
        },
      }),
      budget: 40,
    },
    {
      name: "A review with a score",
      prompt: "Review the film Metropolis in JSON: title, verdict, score from 1 to 10.",
      text: pretty({
        type: "object",
        properties: {
          title: { type: "string", maxLength: 60 },
          verdict: { enum: ["bad", "fair", "good"] },
          score: { type: "integer", minimum: 1, maximum: 10 },
        },
        required: ["title", "verdict", "score"],
        additionalProperties: false,
      }),
      budget: 28,
    },
  ],
  lark: [
    {
      name: "Arithmetic",
      prompt: "Write a long sum of products.",
      text: lines(
        "start: sum",
        'sum: product (("+" | "-") product)*',
        'product: atom (("*" | "/") atom)*',
        'atom: NUMBER | "(" sum ")"',
        "NUMBER: /[1-9][0-9]{0,3}/",
      ),
      budget: 16,
    },
    {
      name: "A SQL query",
      prompt: "Write a SQL query for the names and ages of all people older than 30.",
      text: lines(
        'start: "SELECT " column (", " column)* " FROM people" (" WHERE " condition)? ";"',
        'column: "name" | "age" | "city"',
        'condition: column " " OPERATOR " " value (" AND " condition)?',
        `value: /[0-9]{1,3}/ | "'" /[A-Za-z ]{1,20}/ "'"`,
        'OPERATOR: "=" | "<" | ">"',
      ),
      budget: 9,
    },
  ],
  gbnf: [
    {
      name: "Nested lists",
      prompt: "Write a nested list of numbers.",
      text: lines(
        "root ::= list",
        'list ::= "[" (item (", " item)*)? "]"',
        "item ::= number | list",
        "number ::= [0-9]{1,3}",
      ),
      budget: 20,
    },
    {
      name: "A to-do list",
      prompt: "Write a short to-do list for moving house.",
      text: lines("root ::= entry entry+", 'entry ::= "- [" [ x] "] " [A-Z] [a-z ,]{2,60} "\\n"'),
      budget: 32,
    },
  ],
  regex: [
    {
      name: "A date and a time",
      prompt: "When did Apollo 11 land on the Moon? Answer with date and time.",
      text: "(19|20)\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\dZ",
      budget: 24,
    },
    { name: "A short sentence", prompt: "Say hello to a friend.", text: "[A-Z][a-z]+( [a-z]+){2,40}\\.", budget: 14 },
  ],
  choice: [
    {
      name: "A mood",
      prompt: "What is the mood of: 'The train is late again, and nobody says why'?",
      text: "positive\nnegative\nneutral\nmixed: both positive and negative\n",
      budget: 6,
    },
  ],
  tools: [
    { name: "The weather", prompt: "What is the weather in Lisbon, in celsius?", text: pretty([WEATHER]), budget: 48 },
  ],
};
