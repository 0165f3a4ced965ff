// Places in a JSON text: where it is broken, and on which line the value of a JSON Pointer stands.

/** A text that is no JSON; `line` and `column` count from 1. */
export class JsonError extends Error {
  constructor(message, text, at) {
    super(message);
    const before = text.slice(0, at).split("\n");
    this.line = before.length;
    this.column = before.at(-1).length + 1;
  }
}

/** The line of each value by its JSON Pointer; a member's line is its name's. Throws JsonError. */
export function linesOf(text) {
  const scanner = new Scanner(text);
  scanner.space();
  scanner.value("");
  scanner.space();
  if (scanner.at < text.length) scanner.fail("nothing may follow the value");
  return scanner.lines;
}

/** The line of a pointer, or of the nearest value around it that is there. */
export function lineOf(lines, pointer) {
  for (let path = pointer; ; path = path.slice(0, path.lastIndexOf("/"))) {
    if (lines.has(path)) return lines.get(path);
    if (!path) return 1;
  }
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

class Scanner {
  at = 0;
  line = 1;
  lines = new Map();

  constructor(text) {
    this.text = text;
  }

  fail(message, at = this.at) {
    throw new JsonError(message, this.text, at);
  }

  read(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    if (found !== null) this.at += found.length;
    return found;
  }

  space() {
    for (const character of this.read(SPACE)) this.line += character === "\n";
  }

  value(pointer) {
    if (!this.lines.has(pointer)) this.lines.set(pointer, this.line);
    const first = this.text[this.at];
    if (first === "{") this.object(pointer);
    else if (first === "[") this.array(pointer);
    else if (first === '"') this.string();
    else if (this.read(NUMBER) === null && this.read(WORD) === null) {
      this.fail(first === undefined ? "the text ends where a value is missing" : "a value is expected here");
    }
  }

  string() {
    const found = this.read(STRING);
    if (found === null) this.fail("this string doesn't end, or holds a character that must be escaped");
    return JSON.parse(found);
  }

  object(pointer) {
    const names = new Set();
    this.members("}", () => {
      const begin = this.at;
      if (this.text[this.at] !== '"') this.fail("a name in double quotes is expected here");
      const name = this.string();
      if (names.has(name)) this.fail("the object has this name twice", begin);
      names.add(name);
      const below = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      this.lines.set(below, this.line);
      this.space();
      if (this.text[this.at] !== ":") this.fail("a colon is expected here");
      this.at += 1;
      this.space();
      this.value(below);
    });
  }

  array(pointer) {
    let number = 0;
    this.members("]", () => this.value(`${pointer}/${number++}`));
  }

  members(end, member) {
    this.at += 1;
    this.space();
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      member();
      this.space();
      const next = this.text[this.at];
      if (next !== "," && next !== end) this.fail(`a comma or ${end} is expected here`);
      this.at += 1;
      if (next === end) return;
      this.space();
    }
  }
}
