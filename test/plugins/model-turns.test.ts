import { describe, expect, test } from "vitest";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { MemoryContext } from "../../plugin-sdk/testing/memory-context.ts";
import { EventChecker } from "../../plugin-sdk/testing/event-checker.ts";
import type { ScriptedTurn } from "../../plugin-sdk/testing/scripts.ts";
import type { FetchOptions, FetchResponse } from "../../plugin-sdk/context.ts";
import AnthropicApi from "../../plugins/anthropic-api/mod.ts";
import OpenAiCompatible from "../../plugins/openai-compatible/mod.ts";

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

const kinds = [
  {
    name: "openai-compatible",
    Adapter: OpenAiCompatible,
    mode: { type: "local", enabled: true, model: "m", endpoint: "http://model.example/v1" },
    say: (text: string) => data({ choices: [{ delta: { content: text } }] }),
    end: data({ choices: [{ delta: {}, finish_reason: "stop" }] }) + "data: [DONE]\n\n",
  },
  {
    name: "anthropic-api",
    Adapter: AnthropicApi,
    mode: {
      type: "api",
      enabled: true,
      model: "m",
      endpoint: "http://model.example/v1",
      api_key_env_var: "KEY",
      max_tokens: 100,
    },
    say: (text: string) => data({ type: "content_block_delta", delta: { type: "text_delta", text } }),
    end: data({ type: "message_delta", delta: { stop_reason: "end_turn" } }) + data({ type: "message_stop" }),
  },
] as const;

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
  { Adapter, mode }: (typeof kinds)[number],
  ctx: ModelContext,
  stopWhen: (event: AdapterEvent) => boolean = () => false,
): Promise<{ events: AdapterEvent[]; violations: string[] }> {
  const adapter = new Adapter();
  adapter.initialize({ working_directory: "/work", access_modes: [mode as never] });
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

describe.each(kinds)("the turns of $name", (kind) => {
  const { say, end } = kind;

  test("are one talk: each is asked with all that was said before", async () => {
    const ctx = new ModelContext([{ pieces: [say("Hel"), say("lo."), end] }, { pieces: [say("More."), end] }], two);
    const { events, violations } = await talk(kind, ctx);
    expect(violations).toEqual([]);
    expect(ctx.asked).toEqual([
      [first],
      [first, { role: "assistant", content: "Hello." }, { role: "user", content: "And more." }],
    ]);
    expect(last(events).map(({ type }) => type)).toEqual(["completed", "completed"]);
  });

  test("can be stopped one by one, in the middle of a silent answer", async () => {
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

  test("that were stopped before a word are one prompt with the next one", async () => {
    const ctx = new ModelContext([{ pieces: [null] }, { pieces: [say("More."), end] }], two);
    await talk(kind, ctx, ({ type }) => type === "agent_info");
    expect(ctx.asked[1]).toEqual([{ role: "user", content: "Say hello.\n\nAnd more." }]);
  });

  test("that failed before a word are forgotten", async () => {
    const failure = { status: 500, pieces: [JSON.stringify({ error: { message: "It broke." } })] };
    const ctx = new ModelContext([failure, { pieces: [say("More."), end] }], two);
    const { events, violations } = await talk(kind, ctx);
    expect(violations).toEqual([]);
    expect(last(events).map(({ type }) => type)).toEqual(["error", "completed"]);
    expect(ctx.asked[1]).toEqual([{ role: "user", content: "And more." }]);
  });
});
