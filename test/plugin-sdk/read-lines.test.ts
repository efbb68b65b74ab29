import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ErrorOutput } from "../../plugin-sdk/error-output.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { readLines, type ShownLine } from "../../plugin-sdk/read-lines.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Events with the second in which each came; a number between the pieces is a silence in seconds. */
async function read(said: (string | number)[], isText: boolean): Promise<[number, AdapterEvent][]> {
  async function* source(): AsyncGenerator<string> {
    for (const one of said) {
      if (typeof one === "string") yield one;
      else await new Promise((resolve) => setTimeout(resolve, one * 1000));
    }
  }
  const started = Date.now();
  const got: [number, AdapterEvent][] = [];
  const show = ({ text, end }: ShownLine): AdapterEvent[] => [{ type: "output", stream: "stderr", data: text + end }];
  let isOver = false;
  const all = (async () => {
    for await (const events of readLines(source(), { isText, read: show })) {
      got.push(...events.map((event): [number, AdapterEvent] => [Math.round((Date.now() - started) / 1000), event]));
    }
  })();
  void all.finally(() => isOver = true).catch(() => {});
  while (!isOver) await vi.advanceTimersByTimeAsync(500);
  await all;
  return got;
}

const shown = (got: [number, AdapterEvent][]) =>
  got.map(([second, event]) => [second, event.type === "output" ? event.data : event.type]);

test("an unfinished line of text is shown after a second, and its rest when that comes", async () => {
  const got = await read(["a\nDo you trust it? [y/N] ", 30, "y\n", "b"], true);
  expect(shown(got)).toEqual([[0, "a\n"], [1, "Do you trust it? [y/N] "], [30, "y\n"], [30, "b\n"]]);
});

test("a question is shown between messages, and half a message never is", async () => {
  const got = await read(['{"type":"a"}\nPassword: ', 5, '{"type":', 5, '"b"}\n'], false);
  expect(shown(got)).toEqual([[0, '{"type":"a"}\n'], [1, "Password: "], [10, '{"type":"b"}\n']]);
});

test("a message that is too long is told as too_large, and a text is cut", async () => {
  const long = `{"type":"${"x".repeat(9_000_000)}"}`;
  const message = await read([long, "\n", "{}\n"], false);
  expect(message).toMatchObject([[0, { type: "unparsed", data: { code: "too_large" } }], [0, { data: "{}\n" }]]);
  expect(shown(await read([long], true)).map(([, text]) => String(text).trimEnd()).join("")).toBe(long);
});

test("a line of error output that was shown in two parts is one statement", () => {
  const output = new ErrorOutput();
  for (const data of ["Error: you have hit ", "your limit\n", "at x\n"]) {
    output.take({ type: "output", stream: "stderr", data });
  }
  expect(output.statements(2)).toEqual(["at x", "Error: you have hit your limit"]);
});
