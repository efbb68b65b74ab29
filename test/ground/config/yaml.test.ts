import { describe, expect, it } from "vitest";
import { parseYaml } from "../../../core/ground/config/yaml.ts";
import type { BulkheadError } from "../../../plugin-sdk/errors.ts";

const limits = { file: "plugin.yaml", maxBytes: 65_536, maxAliases: 4 };

function refusal(text: string, options: Partial<typeof limits> = {}): BulkheadError {
  try {
    parseYaml(text, { ...limits, ...options });
  } catch (error) {
    return error as BulkheadError;
  }
  throw new Error(`was not refused: ${text.slice(0, 80)}`);
}

describe("parseYaml", () => {
  it("reads YAML 1.2 core: no is a string, 0o17 is 15, 0777 is 777", () => {
    const { value } = parseYaml("a: no\nb: 0o17\nc: 0777\nd: ~\ne: 1.5\nf: true\ng: [1, {h: x}]\n", limits);
    expect(value).toEqual({ a: "no", b: 15, c: 777, d: null, e: 1.5, f: true, g: [1, { h: "x" }] });
  });

  it("drops a byte order mark at the start and counts columns without it", () => {
    const parsed = parseYaml("\ufeffa: 1\n", limits);
    expect(parsed.value).toEqual({ a: 1 });
    expect(parsed.locate(["a"])).toEqual({ line: 1, column: 4 });
  });

  it("reads an empty file as null", () => {
    expect(parseYaml("", limits).value).toBe(null);
    expect(parseYaml("# nothing\n", limits).value).toBe(null);
  });

  it("resolves aliases, each time to data of its own", () => {
    const { value } = parseYaml("a: &x {n: 1}\nb: *x\n", limits) as { value: { a: object; b: object } };
    expect(value.b).toEqual({ n: 1 });
    expect(value.b).not.toBe(value.a);
  });

  it("counts CRLF as one line end", () => {
    expect(parseYaml("a: 1\r\nb:\r\n  - x\r\n", limits).locate(["b", 0])).toEqual({ line: 3, column: 5 });
  });

  it("measures bytes, not characters", () => {
    expect(parseYaml(`a: ${"x".repeat(97)}`, { ...limits, maxBytes: 100 }).value).toBeTruthy();
    expect(refusal(`a: ${"é".repeat(60)}`, { maxBytes: 100 }).message).toBe(
      "plugin.yaml:1:1: expected at most 100 bytes, found 123",
    );
  });

  it("has the code that the caller asks for", () => {
    expect(refusal("a: [").code).toBe("invalid_manifest");
    try {
      parseYaml("a: [", { ...limits, code: "invalid_config" });
      expect.unreachable();
    } catch (error) {
      expect((error as BulkheadError).code).toBe("invalid_config");
    }
  });

  it("keeps the problems as data", () => {
    expect(refusal("a: 1\na: 2\n").toJSON().details).toEqual({
      problems: [{
        file: "plugin.yaml",
        line: 2,
        column: 1,
        path: "a",
        expected: "each key once",
        found: '"a" a second time',
        excerpt: "2 | a: 2\n  | ^",
      }],
    });
  });
});

describe("parseYaml().locate", () => {
  const parsed = parseYaml("top: 1\nlist:\n  - name: x\n    args: [a, b]\nempty:\n", limits);

  it("gives a value, a key, and the nearest thing above what is not there", () => {
    expect(parsed.locate(["list", 0, "args", 1])).toEqual({ line: 4, column: 15 });
    expect(parsed.locate(["list", 0, "args"], "key")).toEqual({ line: 4, column: 5 });
    expect(parsed.locate(["list", 0, "missing"])).toEqual({ line: 3, column: 5 });
    expect(parsed.locate(["list", 7, "missing"], "key")).toEqual({ line: 3, column: 3 });
    expect(parsed.locate([])).toEqual({ line: 1, column: 1 });
  });

  it("gives the key for a value that is left out", () => {
    expect(parsed.locate(["empty"])).toEqual({ line: 5, column: 1 });
  });
});

it.each([
  ["a map inside a line", "a: b: c\n"],
  ["a reference", "a: { b: ${C} }\n"],
  ["a placeholder", "a: {binary} -m {model}\n"],
  ["a reserved sign", "a: @b\n"],
  ["a star", "a: [*.example.com]\n"],
  ["a tag", "a: !shell ls\n"],
])("says of %s that it needs quotes, once", (_, text) => {
  const { message } = refusal(text);
  expect(message).toContain(". Put the whole value in quotes");
  expect(message.split("\n")).toHaveLength(1);
});

const deep = `${"[".repeat(17)}${"]".repeat(17)}`;
const refusals: [name: string, text: string, start: string][] = [
  ["a flow list without its end", "a: [1, 2\n", "plugin.yaml:2:1: not valid YAML: Flow sequence"],
  ["a tab as indentation", "a:\n\tb: 1\n", "plugin.yaml:2:1: not valid YAML: Tabs are not allowed"],
  ["a map inside a line", "a: b: c\n", "plugin.yaml:1:4: not valid YAML: Nested mappings"],
  ["a quote without its end", 'a: "b\n', "plugin.yaml:2:1: not valid YAML: Missing closing"],
  ["a bad escape", 'a: "\\q"\n', "plugin.yaml:1:5: not valid YAML: Invalid escape sequence"],
  ["a duplicate key", "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", 'plugin.yaml:5:3 b.c: expected each key once, found "c"'],
  ["a duplicate key in other quotes", "a: 1\n'a': 2\n", "plugin.yaml:2:1 a: expected each key once"],
  ["a merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", 'plugin.yaml:3:3 c: expected no merge keys, found "<<"'],
  ["a number as key", "a:\n  75: x\n", "plugin.yaml:2:3 a: expected a string as key (in quotes), found number 75"],
  ["true as key", "true: x\n", "plugin.yaml:1:1: expected a string as key (in quotes), found boolean true"],
  ["nothing as key", "a: 1\n: x\n", "plugin.yaml:2:1: expected a string as key (in quotes), found nothing"],
  ["a list as key", "? [a]\n: x\n", "plugin.yaml:1:3: expected a string as key, found a list or map"],
  ["an alias as key", "a: &x y\n*x : 1\n", "plugin.yaml:2:1: expected a string as key, found an alias"],
  ["__proto__", "a:\n  __proto__: {b: 1}\n", 'plugin.yaml:2:3 a: expected another name for a key, found "__proto__"'],
  ["__proto__ in quotes", '"__pro\\u0074o__": 1\n', "plugin.yaml:1:1: expected another name for a key"],
  ["constructor", "a: {constructor: 1}\n", "plugin.yaml:1:5 a: expected another name for a key"],
  ["prototype", "- prototype: 1\n", "plugin.yaml:1:3 [0]: expected another name for a key"],
  ["a tag of its own", "a: !shell ls\n", "plugin.yaml:1:4: not valid YAML: Unresolved tag: !shell"],
  ["a tag of YAML 1.1", "a: !!binary aGk=\n", "plugin.yaml:1:13 a: expected a tag of YAML's core schema"],
  ["a set", "a: !!set {x}\n", "plugin.yaml:1:10 a: expected a tag of YAML's core schema"],
  ["YAML 1.1", "%YAML 1.1\n---\na: no\n", "plugin.yaml:1:1: expected YAML 1.2, found YAML 1.1"],
  ["two documents", "a: 1\n---\nb: 2\n", "plugin.yaml:3:1: expected one document, found a second one"],
  ["an unknown alias", "a: *x\n", 'plugin.yaml:1:4 a: expected an anchor "x" before its alias, found none'],
  ["too many aliases", "a: &x 1\nb: [*x, *x, *x, *x, *x]\n", "plugin.yaml:2:21 b[4]: expected at most 4 aliases"],
  [
    "an alias of what holds it",
    "a: &x [*x]\n",
    'plugin.yaml:1:8 a[0]: expected no alias that contains itself, found "*x"',
  ],
  ["too deep a list", deep, "plugin.yaml:1:17: expected at most 16 levels of nesting"],
  ["too deep a block", `${"- ".repeat(17)}x`, "plugin.yaml:1:33: expected at most 16 levels of nesting"],
  ["50,000 open lists", "[".repeat(50_000), "plugin.yaml:1:17: expected at most 16 levels of nesting"],
  ["5,000 lists that one line closes", `${"- ".repeat(5_000)}\nx`, "plugin.yaml:1:33: expected at most 16 levels"],
  [
    "5,000 keys that one line closes",
    `a: ${"? - : ".repeat(5_000)}\nx`,
    "plugin.yaml:1:90: expected at most 16 levels",
  ],
  ["5,000 empty keys", `a${": ".repeat(5_000)}\nx`, "plugin.yaml:1:34: expected at most 16 levels"],
  ["50,000 open maps", "{a: ".repeat(16_000), "plugin.yaml:1:65: expected at most 16 levels of nesting"],
  ["NUL", "a: 1\nb: x\0y\n", "plugin.yaml:2:5: expected printable characters, found U+0000"],
  ["an escape character", "a: \u001b[31m\n", "plugin.yaml:1:4: expected printable characters, found U+001B"],
  ["a byte order mark inside", "a: 1\nb: \ufeff\n", "plugin.yaml:2:4: expected printable characters, found U+FEFF"],
  ["half a surrogate pair", "a: \ud800\n", "plugin.yaml:1:4: expected printable characters, found U+D800"],
  [
    "NUL by way of an escape",
    'a: "x\\0"\n',
    "plugin.yaml:1:4 a: expected printable characters, found an escaped U+0000",
  ],
  ["half a pair by way of an escape", 'a: "\\ud800"\n', "plugin.yaml:1:4 a: expected printable characters"],
  ["an escape character in a key", '"\\e[0m": 1\n', "plugin.yaml:1:1: expected printable characters"],
];

describe("parseYaml refuses", () => {
  it.each(refusals)("%s", (_name, text, start) => {
    expect(refusal(text).message.slice(0, start.length)).toBe(start);
  });

  it("a few aliases that expand to very much", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"];
    for (let n = 1; n < 12; n++) lines.push(`a${n}: &a${n} [${Array(8).fill(`*a${n - 1}`).join(", ")}]`);
    const text = lines.join("\n");
    const started = Date.now();
    expect(refusal(text, { maxAliases: 1000 }).message).toMatch(
      /expected at most 65536 values, found more, by way of aliases/,
    );
    expect(Date.now() - started).toBeLessThan(5000);
  });
});
