import { expect, test } from "vitest";
import type { RunningProcess } from "../../plugin-sdk/context.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { EventChecker } from "../../plugin-sdk/testing/event-checker.ts";
import { MemoryContext } from "../../plugin-sdk/testing/memory-context.ts";
import type { ScriptedTurn } from "../../plugin-sdk/testing/scripts.ts";
import type { Turn } from "../../plugin-sdk/turns.ts";
import AcpAgent from "../../plugins/acp/mod.ts";
import { agentOf, type Script, type Tools, WireProcess } from "./wire-agent.ts";

/** A context whose one program is the agent, and whose later turns come when the test gives them. */
class ProcessContext extends MemoryContext {
  readonly process: WireProcess;
  readonly #pause: () => Promise<unknown>;

  constructor(process: WireProcess, turns: ScriptedTurn[], pause: () => Promise<unknown>) {
    super({ turns });
    this.process = process;
    this.#pause = pause;
    const scripted = this.turns.next.bind(this.turns);
    this.turns.next = async (): Promise<IteratorResult<Turn>> => {
      if (this.turns.number > 0) await this.#pause();
      return await scripted();
    };
  }

  override run(): Promise<RunningProcess> {
    return Promise.resolve(this.process);
  }
}

interface Between {
  script: Script;
  turns?: ScriptedTurn[];
  /** Runs after each turn, before the host gives the next one. */
  between?(process: WireProcess): Promise<unknown>;
}

const quick: Script = { prompt: ({ say, end, turn }: Tools) => [say(`Answer ${turn}.`), end()] };

async function talk({ script, turns = [{}, { prompt: "And more." }], between = () => Promise.resolve() }: Between) {
  const { wire, answer } = agentOf(script);
  const process = new WireProcess(answer);
  const ctx = new ProcessContext(process, turns, () => between(process));
  const adapter = new AcpAgent();
  adapter.initialize({ working_directory: "/work", access_modes: [], custom: { command: "agent" } });
  const checker = new EventChecker();
  const events: AdapterEvent[] = [];
  for await (const yielded of adapter.runSession({ prompt: "Say hello.", workdir: "/work" }, ctx)) {
    for (const event of [yielded].flat()) {
      events.push(event);
      checker.check(event, Math.max(1, ctx.turns.number));
    }
  }
  return { events, wire, process, violations: checker.violations };
}

const update = (fields: object): string =>
  JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update: fields } });
const say = (text: string): string => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const answers = (events: AdapterEvent[]) => events.flatMap((event) => event.type === "completed" ? [event.output] : []);

test("a program has all turns, and ends when the host has no more", async () => {
  const { events, wire, process, violations } = await talk({ script: quick });
  expect(violations).toEqual([]);
  expect(answers(events)).toEqual(["Answer 1.", "Answer 2."]);
  expect(wire).toMatchObject({ prompts: ["Say hello.", "And more."], most: 1 });
  expect([process.isLeft, process.isKilled]).toEqual([true, true]);
});

test("what an agent says between two turns is told with the next one and is no part of its answer", async () => {
  const { events, violations } = await talk({
    script: quick,
    between: async (process) => {
      process.print(say("I go "));
      process.print(say("on."));
      process.warn("a warning");
      await pause(20);
    },
  });
  expect(violations).toEqual([]);
  expect(answers(events)).toEqual(["Answer 1.", "Answer 2."]);
  const [first, second] = events.flatMap(({ type }, at) => type === "completed" ? [at] : []);
  const later = events.slice(first! + 1, second!);
  expect(later).toContainEqual({ type: "progress", message: "Between two turns it said: I go on." });
  expect(later).toContainEqual({ type: "output", stream: "stderr", data: "a warning\n" });
});

test("a request for permission between two turns is cancelled, and nobody is asked", async () => {
  const said: unknown[] = [];
  const { events } = await talk({
    script: { ...quick, answered: ({ message }) => (said.push(message["result"]), []) },
    between: async (process) => {
      const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
      const params = { sessionId: "s", toolCall: { toolCallId: "c", title: "Run it", kind: "execute" }, options };
      process.print(JSON.stringify({ jsonrpc: "2.0", id: 9, method: "session/request_permission", params }));
      await pause(20);
    },
  });
  expect(said[0]).toEqual({ outcome: { outcome: "cancelled" } });
  expect(events.map(({ type }) => type)).not.toContain("permission_request");
  expect(events).toContainEqual(
    expect.objectContaining({ type: "progress", message: expect.stringContaining("denied") }),
  );
});

test("a program that ends between two turns leaves the next one to a new entry", async () => {
  const { events, wire, violations } = await talk({
    script: quick,
    between: async (process) => {
      process.leave();
      await pause(20);
    },
  });
  expect(violations).toEqual([]);
  expect(events.at(-1)).toMatchObject({ type: "completed", output: "Answer 1." });
  expect(wire.prompts).toEqual(["Say hello."]);
});

test("a program that ends in a later turn has crashed in that turn", async () => {
  let process: WireProcess | null = null;
  const { events, violations } = await talk({
    script: {
      prompt: ({ say, end, turn }) => {
        if (turn === 2) setTimeout(() => process!.leave(), 20);
        return turn === 1 ? [say("Answer 1."), end()] : [say("I beg")];
      },
    },
    between: (agent) => Promise.resolve(process = agent),
  });
  expect(violations).toEqual([]);
  expect(events.filter(({ type }) => type === "completed" || type === "error")).toMatchObject([
    { output: "Answer 1." },
    { type: "error", code: "crash" },
  ]);
});

test("a stop while the agent opens its session ends the turn at once, and the next one has that session", async () => {
  let open = (): void => {};
  let stop = (): void => {};
  const { wire, answer } = agentOf(quick);
  const process = new WireProcess((text) => {
    const answers = answer(text);
    if (!text.includes('"session/new"')) return answers;
    open = () => answers.forEach((one) => process.print(one));
    setTimeout(() => stop(), 20);
    return [];
  });
  const ctx = new ProcessContext(process, [{}, { prompt: "And more." }], () => Promise.resolve(setTimeout(open, 20)));
  stop = () => ctx.turns.stop();
  const adapter = new AcpAgent();
  adapter.initialize({ working_directory: "/work", access_modes: [], custom: { command: "agent" } });
  const events: AdapterEvent[] = [];
  for await (const yielded of adapter.runSession({ prompt: "Say hello.", workdir: "/work" }, ctx)) {
    events.push(...[yielded].flat());
  }
  expect(events.map((event) => event.type === "error" ? event.code : event.type)).toEqual([
    "progress",
    "interrupted",
    "agent_info",
    "output",
    "completed",
  ]);
  expect(wire).toMatchObject({ prompts: ["And more."], most: 1 });
  expect(wire.methods).not.toContain("session/cancel");
});
