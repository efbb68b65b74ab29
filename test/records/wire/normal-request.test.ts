import { Buffer } from "node:buffer";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { driftOf } from "../../../core/records/wire/drift.ts";
import { normalCall } from "../../../core/records/wire/normal-request.ts";

const places = { home: "/home/ada", top: "/home/ada/project", workdir: "/home/ada/project/app" };
const other = { home: "/root", top: "/var/state/tree/9f", workdir: "/var/state/tree/9f/app" };

const textOf = async (body: unknown, where = places, path = "/v1/messages") =>
  (await normalCall({
    method: "POST",
    path,
    body: Buffer.from(typeof body === "string" && body.startsWith("[ ") ? body : JSON.stringify(body)),
  }, where)).text;

describe("normalCall takes for the same", () => {
  test.each([
    ["the order of keys", { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ["a date", "Today's date: 2026-11-29", "Today's date: 2027-01-02"],
    ["a time of a file", "-rw-r--r-- 1 a a 5 Nov 29 12:13 x.txt", "-rw-r--r-- 1 a a 5 Dec  2 08:01 x.txt"],
    ["a date in words", "Today is Sunday, November 29, 2026.", "Today is Monday, December 7, 2026."],
    ["an instant", { at: "2026-11-29T12:13:14.123Z" }, { at: "2026-12-01T00:00:00.9Z" }],
    ["seconds since 1970", { at: 1764417600 }, { at: 1764999999 }],
    ["milliseconds since 1970 in a text", "id-1764417600123", "id-1764999999456"],
    ["how long something took", "Wall time: 0.0512 seconds", "Wall time: 1.5 seconds"],
    ["a uuid", { user_id: "3f2b8c1e-1111-4222-8333-944455556666" }, {
      user_id: "aaaaaaaa-1111-4222-8333-9444555566ff",
    }],
    ["an id of a call", { id: "toolu_01A2b3C4d5E6f7G8h9" }, { id: "toolu_09Z8y7X6w5V4u3T2s1" }],
    ["a commit", "[main 1a2b3c4] done", "[main 9f8e7d6] done"],
    ["how JSON is written", ["é", { a: 1 }], '[ "\\u00e9",\n{"a" :1}]\n'],
    ["an output of Codex", "Chunk ID: 211b12", "Chunk ID: 123456"],
    ["a port", "http://127.0.0.1:3128/x and localhost:41233", "http://127.0.0.1:4000/x and localhost:50001"],
  ])("%s", async (_what, one, two) => {
    expect(await textOf(one)).toBe(await textOf(two));
  });

  const skill = (name: string) => `  <skill>\n    <name>${name}</name>\n  </skill>`;
  const skills = (names: string[]) => `Skills:\n<available>\n${names.map(skill).join("\n")}\n</available>\nBe brief.`;
  const activate = (names: string[]) => [{
    functionDeclarations: [{
      description: `Activates a skill (Available: ${names.map((name) => `'${name}'`).join(", ")}). The skill's text.`,
      parametersJsonSchema: { properties: { name: { type: "string", enum: names } } },
    }],
  }];

  test("lists that a program makes of folders, in what it says of itself", async () => {
    const [one, two] = [["make", "ask", "tell"], ["ask", "tell", "make"]];
    for (const field of ["system", "instructions", "systemInstruction"]) {
      expect(await textOf({ [field]: [{ text: skills(one) }] })).toBe(
        await textOf({ [field]: [{ text: skills(two) }] }),
      );
    }
    expect(await textOf({ tools: activate(one) })).toBe(await textOf({ tools: activate(two) }));
    // What was said and done has its order, and another list is another one.
    for (const field of ["messages", "input", "contents"]) {
      expect(await textOf({ [field]: skills(one) })).not.toBe(await textOf({ [field]: skills(two) }));
    }
    expect(await textOf({ system: skills(one) })).not.toBe(await textOf({ system: skills(["make", "ask", "told"]) }));
    expect(await textOf({ tools: activate(one) })).not.toBe(await textOf({ tools: activate(["make", "ask"]) }));
    expect(await textOf({ system: "a\nb" })).not.toBe(await textOf({ system: "b\na" }));
  });

  test("lists in a long text in a moment", async () => {
    const text = `${"<a>\n".repeat(200_000)}</a>\n`;
    const begun = performance.now();
    await textOf({ system: text });
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  test("the paths of the worktree, of the repository and of the home, also as a name of a folder", async () => {
    const said = ({ home, top, workdir }: typeof places) => [
      `${workdir}/src/a.ts`,
      `${home}/.agent/projects/${top.replace(/[^A-Za-z0-9]/g, "-")}/memory`,
      `cd ${top} && ls`,
    ];
    expect(await textOf(said(places))).toBe(await textOf(said(other), other));
  });

  test("a path with and without the key of a model, and ids in it", async () => {
    const at = (path: string) => textOf({}, places, path);
    expect(await at("/v1/x?key=secret&alt=sse")).toBe(await at("/v1/x?alt=sse"));
    expect(await at("/v1/x?key=secret")).toBe(await at("/v1/x"));
  });
});

describe("normalCall tells apart", () => {
  test.each([
    ["one changed letter", "read: hello world", "read: hello worle"],
    ["one changed digit", "count: 41", "count: 42"],
    ["a number", { max_tokens: 8192 }, { max_tokens: 8191 }],
    ["the order of a list", ["a", "b"], ["b", "a"]],
    ["two ids that were one", ["toolu_01A2b3C4d5E6f7G8h9", "toolu_01A2b3C4d5E6f7G8h9"], [
      "toolu_01A2b3C4d5E6f7G8h9",
      "toolu_01A2b3C4d5E6f7G8h8",
    ]],
    ["a folder beside the project", "/home/ada/project-two/x", "/home/ada/project/x"],
    ["a word of hex letters", "facade", "decade"],
    ["a missing field", { a: 1, b: null }, { a: 1 }],
    ["blanks at the end", "a ", "a"],
  ])("%s", async (_what, one, two) => {
    expect(await textOf(one)).not.toBe(await textOf(two));
  });

  const bodies: [what: string, one: string | Uint8Array, two: string | Uint8Array][] = [
    ["bytes that are no text", new Uint8Array([0xff]), new Uint8Array([0xfe])],
    ["bytes and their base64", new Uint8Array([0xff]), "/w=="],
    ["a mark at the beginning", new Uint8Array([0xef, 0xbb, 0xbf, 0x31]), "1"],
    ["numbers that are one in JavaScript", '{"n":9007199254740993}', '{"n":9007199254740992}'],
    ["long fractions", "[0.1000000000000000055]", "[0.1]"],
    ["huge numbers", "[1e999]", "[2e999]"],
    ["how a number is written", "[1.0]", "[1]"],
    ["a zero with a sign", "[-0]", "[0]"],
    ["a number and its digits as a text", "[9007199254740993]", '["9007199254740993"]'],
    ["a field that stands there twice", '{"a":1,"a":2}', '{"a":9,"a":2}'],
    ["a field that is there once more", '{"a":2,"a":2}', '{"a":2}'],
    ["the first of two dates as names", '{"2026-11-29":1,"2026-11-30":2}', '{"2026-11-29":3,"2026-11-30":2}'],
    ["one date for two", '{"2026-11-29":1,"2026-11-30":1}', '{"2026-11-29":1}'],
    ["a time and its text", "[1764417600]", '["1764417600"]'],
    ["a prototype", '{"__proto__":1}', "{}"],
    ["JSON and a text", '"x"', "x"],
    ["JSON and more", "[1]", "[1] 2"],
    ["what is almost JSON", '{"a":1,}', '{"a":1}'],
    ["deep values", `${"[".repeat(2000)}1${"]".repeat(2000)}`, `${"[".repeat(2000)}2${"]".repeat(2000)}`],
  ];
  test.each(bodies)("%s", async (_what, one, two) => {
    const [before, now] = await Promise.all(
      [one, two].map((body) => normalCall({ method: "POST", path: "/a", body: Buffer.from(body) }, places)),
    );
    expect(before!.text).not.toBe(now!.text);
    expect(driftOf(now!, { call: 1, recorded: { call: 1, normal: before! } }).place).not.toBe("the path");
  });

  test("paths, methods, and bodies that are no JSON", async () => {
    const call = async (changes: object) =>
      (await normalCall({ method: "POST", path: "/a", body: new TextEncoder().encode("x=1"), ...changes }, places))
        .text;
    const all = await Promise.all(
      [{}, { method: "GET" }, { path: "/b" }, { path: "/a?alt=sse" }, { body: new Uint8Array() }].map(call),
    );
    expect(new Set(all).size).toBe(all.length);
  });
});

test.each(["a", "1", "-", "Mon ", "12:", "1a", "ab-1 ", "[", "/home/"])(
  "normalCall takes ten times as long for ten times as much, and no more: %j",
  async (part) => {
    const took = async (count: number) => {
      const body = new TextEncoder().encode(part.repeat(count));
      const { user } = process.cpuUsage();
      await normalCall({ method: "POST", path: "/", body }, places);
      return process.cpuUsage().user - user;
    };
    await took(10_000);
    expect(await took(200_000)).toBeLessThan(60 * await took(20_000) + 50_000);
  },
);

test("normalCall reads a long text in several turns, to the same end", async () => {
  const line = `2026-11-29 ${places.top}/src/a.ts took 12 ms`;
  const lines = (count: number) => Array.from({ length: count }, () => line).join("\n");
  const normal = async (text: string) => JSON.parse((await textOf(text)).split("\n").slice(1).join("\n")) as string;
  let turns = 0;
  let timer = setImmediate(function count() {
    turns++;
    timer = setImmediate(count);
  });
  const long = await normal(lines(160_000));
  clearImmediate(timer);
  expect(turns).toBeGreaterThan(4);
  expect(new Set(long.split("\n"))).toEqual(new Set([await normal(line)]));
  expect(long.split("\n")).toHaveLength(160_000);
});
