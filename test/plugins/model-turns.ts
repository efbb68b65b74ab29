import { expect, test } from "vitest";
import type { AdapterClass } from "../../plugin-sdk/adapter.ts";
import type { AccessMode } from "../../plugin-sdk/access-modes.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { MemoryContext } from "../../plugin-sdk/testing/memory-context.ts";
import { EventChecker } from "../../plugin-sdk/testing/event-checker.ts";
import type { ScriptedTurn } from "../../plugin-sdk/testing/scripts.ts";
import type { FetchOptions, FetchResponse } from "../../plugin-sdk/context.ts";

/** An event of a server's stream. */
export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

/** A plugin that asks a model over HTTP, and how its server says something and ends. */
interface ModelPlugin {
  Adapter: AdapterClass;
  mode: AccessMode;
  say(text: string): string;
  end: string;
}

/** An answer of the model's server, in pieces; `null` waits until its reader leaves. */
interface Answer {
  status?: number;
  pieces: (string | null)[];
}

/** A context whose server gives these answers, and notes what it was asked. */
class ModelContext extends MemoryContext {
  readonly asked: unknown[] = [];
  left = 0;
  readonly #answers: Answer[];

  constructor(answers: Answer[], turns: ScriptedTurn[]) {
    super({ turns, secrets: ["KEY"] });
    this.#answers = answers;
  }

  override fetch(_url: string, { body = "" }: FetchOptions = {}): Promise<FetchResponse> {
    this.asked.push((JSON.parse(body) as { messages: unknown }).messages);
    const { status = 200, pieces } = this.#answers.shift()!;
    let leave = (): void => {};
    const left = new Promise<IteratorResult<string>>((resolve) => leave = () => resolve({ done: true, value: "" }));
    const stream = {
      [Symbol.asyncIterator]: () => ({
        next: (): Promise<IteratorResult<string>> => {
          const piece = pieces.shift();
          if (piece === null) return left;
          return Promise.resolve(piece === undefined ? { done: true, value: "" } : { done: false, value: piece });
        },
        return: () => {
          this.left++;
          leave();
          return Promise.resolve({ done: true as const, value: "" });
        },
      }),
    };
    const text = () => Promise.resolve(pieces.join(""));
    return Promise.resolve({ status, ok: status < 300, headers: {}, body: stream, text, json: () => Promise.reject() });
  }
}

async function talk(
  { Adapter, mode }: ModelPlugin,
  ctx: ModelContext,
  stopWhen: (event: AdapterEvent) => boolean = () => false,
): Promise<{ events: AdapterEvent[]; violations: string[] }> {
  const adapter = new Adapter();
  void adapter.initialize({ working_directory: "/work", access_modes: [mode] });
  const checker = new EventChecker();
  const events: AdapterEvent[] = [];
  for await (const yielded of adapter.runSession({ prompt: "Say hello.", workdir: "/work" }, ctx)) {
    for (const event of [yielded].flat()) {
      events.push(event);
      checker.check(event, ctx.turns.number);
      if (stopWhen(event)) ctx.turns.stop();
    }
  }
  checker.end();
  return { events, violations: checker.violations };
}

const two: ScriptedTurn[] = [{}, { prompt: "And more." }];
const last = (events: AdapterEvent[]) => events.filter(({ type }) => type === "completed" || type === "error");
const first = { role: "user", content: "Say hello." };

/** Tests the turns of such a plugin. */
export function testTurns(kind: ModelPlugin): void {
  const { say, end } = kind;
  test("turns are one talk: each is asked with all that was said before", async () => {
    const ctx = new ModelContext([{ pieces: [say("Hel"), say("lo."), end] }, { pieces: [say("More."), end] }], two);
    const { events, violations } = await talk(kind, ctx);
    expect(violations).toEqual([]);
    expect(ctx.asked).toEqual([
      [first],
      [first, { role: "assistant", content: "Hello." }, { role: "user", content: "And more." }],
    ]);
    expect(last(events).map(({ type }) => type)).toEqual(["completed", "completed"]);
  });

  test("turns can be stopped one by one, in the middle of a silent answer", async () => {
    const ctx = new ModelContext([{ pieces: [say("Hel"), null] }, { pieces: [say("More."), end] }], two);
    const { events, violations } = await talk(kind, ctx, (event) => event.type === "output" && event.data === "Hel");
    expect(violations).toEqual([]);
    expect(last(events)).toMatchObject([{ type: "error", code: "interrupted" }, { type: "completed" }]);
    expect(ctx.left).toBeGreaterThan(0);
    expect(ctx.asked[1]).toEqual([
      first,
      { role: "assistant", content: "Hel" },
      { role: "user", content: "And more." },
    ]);
  });

  test("turns that were stopped before a word are one prompt with the next one", async () => {
    const ctx = new ModelContext([{ pieces: [null] }, { pieces: [say("More."), end] }], two);
    await talk(kind, ctx, ({ type }) => type === "agent_info");
    expect(ctx.asked[1]).toEqual([{ role: "user", content: "Say hello.\n\nAnd more." }]);
  });

  test("turns that failed before a word are forgotten", async () => {
    const failure = { status: 500, pieces: [JSON.stringify({ error: { message: "It broke." } })] };
    const ctx = new ModelContext([failure, { pieces: [say("More."), end] }], two);
    const { events, violations } = await talk(kind, ctx);
    expect(violations).toEqual([]);
    expect(last(events).map(({ type }) => type)).toEqual(["error", "completed"]);
    expect(ctx.asked[1]).toEqual([{ role: "user", content: "And more." }]);
  });
}
