import { spawn } from "node:child_process";
import process from "node:process";
import { Readable } from "node:stream";
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { RunningProcess, RunOptions } from "../../../plugin-sdk/context.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import { MemoryContext } from "../../../plugin-sdk/testing.ts";
import type { Turn, TurnMessage } from "../../../plugin-sdk/turns.ts";
import Codex from "../../../plugins/codex/mod.ts";
import { type MockModel, startMockModel } from "../mock-model/mock-model.ts";
import type { ScenarioName } from "../mock-model/scenarios.ts";
import { codexEnv } from "./own-adapters.ts";
import { type Home, leftBehind, openHome, openPlace, type Place } from "./place.ts";

// The real program under the adapter alone: how the host gives it turns has tests of its own.
let home: Home;
let models: MockModel;
let place: Place;
beforeAll(async () => {
  home = await openHome({ more: false });
  models = await startMockModel();
}, 60_000);
afterAll(async () => {
  await models.close();
  await home.remove();
});
beforeEach(async () => {
  place = await openPlace();
});
afterEach(async () => {
  expect(await leftBehind(place)).toEqual([]);
  await rm(place.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

/** One turn of a test. */
interface Asked {
  prompt: string;
  /** Given as soon as this is true. */
  word?: { text: string; when: (events: readonly AdapterEvent[]) => boolean };
  stop?: (events: readonly AdapterEvent[]) => boolean;
}

class RealContext extends MemoryContext {
  programs = 0;
  readonly #env: Record<string, string>;

  constructor(env: Record<string, string>) {
    super({ workdir: place.workdir });
    this.#env = env;
  }

  override run(binary: string, args: readonly string[], { env }: RunOptions = {}): Promise<RunningProcess> {
    this.programs++;
    const child = spawn(binary, [...args], {
      cwd: place.workdir,
      env: { ...process.env, ...this.#env, ...env, BULKHEAD_TEST_PLACE: place.root },
    });
    const exit = new Promise<{ exit_code: number | null; signal: string | null }>((resolve) =>
      child.on("close", (exit_code, signal) => resolve({ exit_code, signal }))
    );
    child.stdin.on("error", () => {});
    return Promise.resolve({
      stdin: {
        write: (text) =>
          new Promise((resolve, reject) => child.stdin.write(text, (error) => error ? reject(error) : resolve())),
        close: () => new Promise((resolve) => child.stdin.end(resolve)),
      },
      stdout: Readable.from(child.stdout.setEncoding("utf8")),
      stderr: Readable.from(child.stderr.setEncoding("utf8")),
      exit,
      kill: async () => {
        child.kill("SIGTERM");
        await exit;
      },
    });
  }
}

async function talk(scenario: ScenarioName, asked: readonly Asked[]) {
  const model = models.open(scenario, { workdir: place.workdir, offersTools: true });
  const ctx = new RealContext(await codexEnv({ name: scenario === "helper" ? scenario : "text", model, place }));
  const events: AdapterEvent[] = [];
  const until = async (is: () => boolean): Promise<void> => {
    while (!is()) await sleep(20);
  };
  async function* words({ word }: Asked, number: number): AsyncGenerator<TurnMessage> {
    if (!word) return;
    await until(() => word.when(events));
    yield { message_id: `word-${number}`, text: word.text };
  }
  async function* turns(): AsyncGenerator<Turn> {
    for (const [at, one] of asked.entries()) {
      const stop = new AbortController();
      if (one.stop) void until(() => one.stop!(events)).then(() => stop.abort());
      yield { number: at + 1, prompt: one.prompt, kept: true, messages: words(one, at + 1), signal: stop.signal };
    }
  }
  Object.defineProperty(ctx, "turns", { value: turns() });
  const adapter = new Codex();
  adapter.initialize({ working_directory: place.workdir, access_modes: [], programs_contained: true });
  for await (const given of adapter.runSession({ workdir: place.workdir, prompt: "", model: "gpt-5.5" }, ctx)) {
    events.push(...[given].flat());
  }
  ctx.close();
  const lasts = events.filter(({ type }) => type === "completed" || type === "error");
  return { events, lasts, programs: ctx.programs, requests: model.requests };
}

const spoke = (events: readonly AdapterEvent[]) => events.some(({ type }) => type === "output");
const ran = (events: readonly AdapterEvent[]) => events.some(({ type }) => type === "tool_call");
const messages = (events: readonly AdapterEvent[]) =>
  events.flatMap((event) => event.type === "message" ? [`${event.message_id} ${event.state}`] : []);

test("codex: a second turn in the same program knows the first", { timeout: 60_000 }, async () => {
  const { lasts, programs, requests, events } = await talk("text", [{ prompt: "The wharf." }, { prompt: "The pier." }]);
  expect(lasts).toMatchObject([{ type: "completed" }, { type: "completed" }]);
  expect(programs).toBe(1);
  expect(requests.at(-1)).toMatch(/The wharf\.[^]*The pier\./);
  expect(events.filter(({ type }) => type === "usage").length).toBe(2);
});

test("codex: a word into a running turn is in its next request", { timeout: 60_000 }, async () => {
  const word = { text: "Look at the pier.", when: spoke };
  const { lasts, requests, events } = await talk("endless", [
    { prompt: "The wharf.", word, stop: (seen) => messages(seen).length > 0 },
    { prompt: "More.", stop: (seen) => seen.filter(({ type }) => type === "output").length > 20 },
  ]);
  expect(messages(events)).toEqual(["word-1 taken"]);
  expect(lasts).toMatchObject([{ code: "interrupted" }, { code: "interrupted" }]);
  expect(requests.at(-1)).toMatch(/The wharf\.[^]*Look at the pier\.[^]*More\./);
});

test("codex: a word that a stop overtakes comes back, and the next turn begins without it", {
  timeout: 60_000,
}, async () => {
  let given = 0;
  const word = { text: "Look at the pier.", when: ran };
  const stop = (seen: readonly AdapterEvent[]) => {
    if (ran(seen)) given ||= performance.now();
    return given > 0 && performance.now() - given > 500;
  };
  const { lasts, requests, events, programs } = await talk("command_endless", [
    { prompt: "The wharf.", word, stop },
    { prompt: "Go on." },
  ]);
  expect(messages(events)).toEqual(["word-1 returned"]);
  expect(lasts).toMatchObject([{ code: "interrupted" }, { type: "completed" }]);
  expect(programs).toBe(1);
  expect(requests.at(-1)).toContain("Go on.");
  expect(requests.at(-1)).not.toContain("Look at the pier.");
});

test("codex: a helper that it waits for begins and ends, with what it used", { timeout: 60_000 }, async () => {
  const { events, lasts } = await talk("helper", [{ prompt: "Have a helper look." }]);
  expect(lasts).toMatchObject([{ type: "completed" }]);
  const told = events.filter(({ type }) => type === "agent_started" || type === "agent_ended");
  expect(told).toMatchObject([
    { type: "agent_started", name: "look" },
    { type: "agent_ended", outcome: "completed", usage: { tokens_in: 100, tokens_out: 20 } },
  ]);
  expect(events.filter(({ type }) => type === "usage").length).toBe(4);
  expect(events.filter(({ type }) => type === "unparsed")).toEqual([]);
});
