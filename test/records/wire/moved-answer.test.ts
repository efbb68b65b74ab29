import process from "node:process";
import { expect, test } from "vitest";
import { movedAnswer, movesBetween } from "../../../core/records/wire/moved-answer.ts";

const before = { home: "/home/ada", top: "/home/ada/project", workdir: "/home/ada/project", branch: "main" };
const after = { home: "/home/ada", top: "/var/tree/7/project", workdir: "/var/tree/7/project" };
const moves = movesBetween(before, after);
const event = (value: object) => `event: x\ndata: ${JSON.stringify(value)}\n\n`;

test("movedAnswer moves the paths of an answer, and no path beside them", async () => {
  const answer = JSON.stringify({ a: "/home/ada/project/x.ts /home/ada/project-two /home/ada/.z -home-ada-project." });
  expect(await movedAnswer(answer, moves)).toBe(
    JSON.stringify({ a: "/var/tree/7/project/x.ts /home/ada/project-two /home/ada/.z -var-tree-7-project." }),
  );
  expect(movesBetween(before, { ...before, branch: "other" })).toBeNull();
});

test("movedAnswer moves a path that is spread over the events of one block, whatever comes between", async () => {
  const part = (index: number, partial_json: string) =>
    event({ type: "delta", index, delta: { type: "json", partial_json } });
  const stream = [
    event({ type: "start", index: 0 }),
    part(0, '{"file_path":"/ho'),
    part(1, "/home/a"),
    part(0, "me/ada/pro"),
    ": keep\n\n",
    part(0, 'ject/a.txt","and":"/home/ada/project'),
    part(1, "da"),
    part(0, '/b.txt"}'),
    "data: [DONE]\n\n",
  ].join("");
  expect(await movedAnswer(stream, moves)).toBe([
    event({ type: "start", index: 0 }),
    part(0, '{"file_path":"/var/tree/7/project'),
    part(1, "/home/a"),
    part(0, ""),
    ": keep\n\n",
    part(0, '/a.txt","and":"/var/tree/7/project'),
    part(1, "da"),
    part(0, '/b.txt"}'),
    "data: [DONE]\n\n",
  ].join(""));
});

test("movedAnswer leaves a stream without such paths as it is, letter by letter", async () => {
  const stream = 'data:{"a" : "x"}\r\n\r\ndata: {"b":1.0}\n\n';
  expect(await movedAnswer(stream, moves)).toBe(stream);
});

/** Milliseconds of work of this process: other ones do not count. */
const spent = () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;

/** What becomes of a text, and the longest turn that this takes. */
async function timed(text: string): Promise<{ moved: string; longestMs: number }> {
  let [longestMs, last] = [0, spent()];
  let timer = setImmediate(function look() {
    longestMs = Math.max(longestMs, spent() - last);
    last = spent();
    timer = setImmediate(look);
  });
  const moved = await movedAnswer(text, moves);
  clearImmediate(timer);
  return { moved, longestMs };
}

test("movedAnswer reads many events, and long ones, in short turns", { timeout: 120_000 }, async () => {
  const delta = (index: number, partial_json: string) =>
    `data: ${JSON.stringify({ index, delta: { partial_json } })}\n\n`;
  const split = Array.from({ length: 20_000 }, () => delta(0, "x /home/ada/pro") + delta(0, "ject/a.ts ")).join("");
  const long = `data: {"said":"${"/home/ada/project ".repeat(150_000)}"}\n\n`;
  const whole = `{"said":"${"/home/ada/project ".repeat(500_000)}"}`;
  for (const text of [split, split + long, long, whole, "data: {}\n".repeat(500_000) + "/home/ada/project "]) {
    let least = Infinity;
    // The least of some: other work of this process falls into one or the other.
    for (let look = 0; look < 4 && least >= 70; look++) {
      const { moved, longestMs } = await timed(text);
      least = Math.min(least, longestMs);
      const count = (of: string, path: string) => of.split(path).length - 1;
      expect(count(moved, "/home/ada/pro")).toBe(0);
      expect(count(moved, "/var/tree/7/project")).toBe(
        count(text, "/home/ada/project") + count(text, '/home/ada/pro"'),
      );
    }
    expect(least).toBeLessThan(70);
  }
});

test.each([0, 1, 5, 17, 18])("movedAnswer finds a path at the border of two windows: %i", async (shift) => {
  const text = `${"x".repeat(256 * 1024 - 18 + shift)} /home/ada/project y /home/ada/project-two`;
  expect(await movedAnswer(text, moves)).toBe(text.replace("/home/ada/project y", "/var/tree/7/project y"));
});

test("movedAnswer leaves an event of endless depth as it is", async () => {
  const deep = `data: ${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}\n\n`;
  expect(await movedAnswer(`${deep}data: {"a":"/home/ada/project"}\n`, moves)).toBe(
    `${deep}data: {"a":"/var/tree/7/project"}\n`,
  );
});
