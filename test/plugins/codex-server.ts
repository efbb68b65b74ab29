import { readFile } from "node:fs/promises";
import { type JsonFields, parseJson } from "../../plugin-sdk/json-fields.ts";
import { type AdapterRun, runAdapter, type RunAdapterOptions } from "../../plugin-sdk/testing.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import Codex from "../../plugins/codex/mod.ts";

/** A message of the adapter to the program that stands in. */
export type Sent = JsonFields & { id?: number; method?: string; params?: JsonFields };

/** What a program that stands in says to a message; null ends it. */
export type Answers = (message: Sent) => readonly (object | string | null)[];

/** Runs a session of the adapter with a program of that behaviour. */
export async function runServer(
  answers: Answers,
  { request = {}, options = {}, stderr = "" }: {
    request?: Partial<SessionRequest>;
    options?: RunAdapterOptions;
    stderr?: string;
  } = {},
): Promise<AdapterRun & { sent: Sent[] }> {
  const sent: Sent[] = [];
  const run = await runAdapter(Codex, request, {
    ...options,
    processes: [{
      binary: "codex",
      args: "app-server",
      stderr,
      answer(line) {
        const message = parseJson(line) as Sent;
        sent.push(message);
        return answers(message).map((said) =>
          said === null ? null : typeof said === "string" ? said : `${JSON.stringify(said)}\n`
        );
      },
    }],
  });
  return { ...run, sent };
}

/** Plays a recording: each part of it follows the message of the adapter that it answers. */
export function recorded(text: string): Answers {
  const parts = partsOf(text.split("\n").filter((line) => line !== ""));
  const whole = text.includes('"method":"turn/completed"');
  return (message) => {
    if (message.method === "initialized") return [];
    const lines = parts.shift();
    if (lines === undefined) return [];
    // One that was ended from outside.
    return [`${lines.join("\n")}\n`, ...(parts.length === 0 && !whole ? [null] : [])];
  };
}

/** Plays a recording in a file. */
export async function recordedIn(file: URL): Promise<Answers> {
  return recorded((await readFile(file, "utf8")).replaceAll("{{workdir}}", "/work"));
}

/** Parts of a recording: one begins with each answer to the adapter, and after each request to it. */
function partsOf(lines: readonly string[]): string[][] {
  const parts: string[][] = [];
  let isAsked = true;
  for (const line of lines) {
    const { id, method } = parseJson(line) as Sent;
    if (isAsked || (id !== undefined && method === undefined)) parts.push([]);
    parts.at(-1)!.push(line);
    isAsked = id !== undefined && method !== undefined;
  }
  return parts;
}

/** The answer to each of the adapter's first requests, then that of `turn` to `turn/start`, for further turns as well. */
export function server(
  turn: (turnId: string, message: Sent) => readonly (object | string)[],
  other: Answers = () => [],
): Answers {
  let turns = 0;
  return (message) => {
    const { id, method } = message;
    switch (method) {
      case "initialize":
        return [{ id, result: { userAgent: "bulkhead/0.171.0 (Linux)" } }];
      case "initialized":
        return [];
      case "thread/start":
      case "thread/resume":
        return [{ id, result: { thread: { id: "thread" }, model: "gpt-5.5" } }];
      case "turn/start": {
        const turnId = `turn-${++turns}`;
        return [{ id, result: { turn: { id: turnId } } }, ...turn(turnId, message)];
      }
      default:
        return other(message);
    }
  };
}

/** A notification about the thread. */
export function notice(method: string, params: object = {}): object {
  return { method, params: { threadId: "thread", ...params } };
}

/** The notification that an item is done, or has begun. */
export function item(of: object, when = "completed"): object {
  return notice(`item/${when}`, { item: { id: "item", ...of } });
}

/** The end of a turn. */
export function over(id: string, turn: object = { status: "completed" }): object {
  return notice("turn/completed", { turn: { id, ...turn } });
}

/** Messages that come in one piece. */
export function atOnce(...messages: object[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join("");
}
