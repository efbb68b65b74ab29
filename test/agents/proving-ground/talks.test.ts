import process from "node:process";
import { rm } from "node:fs/promises";
import { createHost, type Host } from "bulkhead";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedWith } from "../../../core/packages/permissions/requested-permissions.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type MockModel, startMockModel } from "../mock-model/mock-model.ts";
import type { ScenarioName } from "../mock-model/scenarios.ts";
import { sleeper } from "../mock-model/scenarios.ts";
import { type Agent, bundledFor } from "./agent.ts";
import { agents as allAgents } from "./agents.ts";
import { type Home, leftBehind, openHome, openPlace, type Place, processesOf } from "./place.ts";

/** Agents of the Agent Client Protocol that are run by name: `AGENTS=acp-claude,acp-codex`; without it the first lot. */
const named = process.env["AGENTS"]?.split(",");
const talkers = ["acp-claude", "acp-codex", "acp-gemini", "acp-opencode"];
const steered = ["acp-claude", "acp-codex"];
const agents = allAgents.filter(({ id, more }) =>
  talkers.includes(id) && (named?.includes("all") || (named?.includes(id) ?? !more))
);
const patience = { timeout: 120_000, interval: 100 };

let home: Home;
let models: MockModel;

beforeAll(async () => {
  home = await openHome({ more: agents.some(({ more }) => more) });
  models = await startMockModel();
  for (const agent of agents) await agent.settle(home.path);
}, 60_000);

afterAll(async () => {
  await models.close();
  await home.remove();
}, 60_000);

/** A session that is kept. */
interface Talk {
  envelopes: Envelope[];
  place: Place;
  say(text: string, delivery?: "queue" | "steer" | "interrupt"): string;
  stop(): void;
  ended(turn: number): Promise<Extract<Envelope["event"], { type: "turn_ended" }>>;
  outcomes(): string[];
  requests: string[];
  scenario(name: ScenarioName): void;
}

/** Runs a talk with an agent on a host of its own; nothing of it is there afterwards. */
async function talk(agent: Agent, scenario: ScenarioName, act: (talk: Talk) => Promise<void>): Promise<string[]> {
  const place = await openPlace();
  const model = models.open(scenario, { workdir: place.workdir, offersTools: agent.tools });
  const prepared = await agent.prepare({ name: "text", model, place });
  const { folder, config = {}, grant } = prepared;
  const host = await createHost({
    root: place.root,
    stateDir: `${place.root}/state`,
    bundledDir: bundledFor(prepared),
    writeLog: () => {},
  });
  try {
    const asked = grant ?? requestedWith(await readManifest(folder), config);
    const net = [new URL(model.url).host];
    const plugin = await host.registry.register(folder, { isolation: "process", grant: { ...asked, net }, config });
    await act(await begin(host, { adapter: plugin.id, place, model, request: prepared.request }));
    await host.close();
    return await leftBehind(place);
  } finally {
    await host.close();
    for (const { pid } of await processesOf(place)) process.kill(pid, "SIGKILL");
    await rm(place.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

async function begin(
  host: Host,
  { adapter, place, model, request }: {
    adapter: string;
    place: Place;
    model: { requests: string[]; scenario?: ScenarioName };
    request: object;
  },
): Promise<Talk> {
  const whole = { prompt: "Say the word wharf.", keep_ms: 120_000, retry: "never", approval: "all" } as const;
  const session = await host.runSession({ workdir: place.workdir, ...whole, ...request }, { adapter });
  const { conversations } = host.sessions;
  const envelopes: Envelope[] = [];
  void (async () => {
    for await (const envelope of session.events()) envelopes.push(envelope);
  })();
  let said = 0;
  return {
    envelopes,
    place,
    requests: model.requests,
    scenario: (name) => void (model.scenario = name),
    say(text, delivery = "queue") {
      const message_id = `m${++said}`;
      const content = [{ type: "text" as const, text }];
      void conversations.say(session.id, { message_id, content, delivery });
      return message_id;
    },
    stop: () => void conversations.stop(session.id),
    async ended(turn) {
      const find = () =>
        envelopes.flatMap(({ event }) => event.type === "turn_ended" && event.turn === turn ? [event] : []);
      await expect.poll(() => find().length + Number(envelopes.at(-1)?.event.type === "session_ended"), patience)
        .toBeGreaterThan(0);
      const [event] = find();
      if (event === undefined) throw new Error(JSON.stringify(envelopes.at(-1)?.event));
      return event;
    },
    outcomes: () =>
      envelopes.flatMap(({ event }) =>
        event.type === "message_delivered"
          ? [`${event.message_id} ${event.how} ${event.turn}`]
          : event.type === "message_dropped"
          ? [`${event.message_id} ${event.reason}`]
          : []
      ),
  };
}

const entries = ({ envelopes }: Talk) => envelopes.filter(({ event }) => event.type === "attempt_started").length;
/** Resolves when the model has said something. */
const speaks = (talk: Talk) =>
  expect.poll(() => talk.envelopes.some(({ event }) => event.type === "output" && event.stream === "stdout"), patience)
    .toBe(true);

test("the agents that can talk are among those of the proving ground", () => {
  expect(allAgents.map(({ id }) => id)).toEqual(expect.arrayContaining(talkers));
});

describe.each(agents)("a talk with $id", (agent) => {
  test("has two turns in one process, and the second one knows the first", { timeout: 240_000 }, async () => {
    const left = await talk(agent, "text", async (one) => {
      expect(await one.ended(1)).toMatchObject({ outcome: "completed", output: "It is done." });
      one.say("And now say quay.");
      expect(await one.ended(2)).toMatchObject({ outcome: "completed", output: "It is done." });
      expect(one.outcomes()).toEqual(["m1 new_turn 2"]);
      expect(entries(one)).toBe(1);
      expect(one.requests.some((body) => body.includes("wharf") && body.includes("quay"))).toBe(true);
      expect(one.envelopes.filter(({ event }) => event.type === "unparsed").map(({ event }) => event)).toEqual([]);
    });
    expect(left).toEqual([]);
  });

  test("goes on after a stop in the middle of a text, in the same process", { timeout: 240_000 }, async () => {
    const left = await talk(agent, "endless", async (one) => {
      await speaks(one);
      one.scenario("text");
      one.stop();
      expect(await one.ended(1)).toMatchObject({ stop_reason: "interrupted" });
      one.say("And now say quay.");
      expect(await one.ended(2)).toMatchObject({ outcome: "completed", output: "It is done." });
      expect(entries(one)).toBe(1);
    });
    expect(left).toEqual([]);
  });

  test("goes on after a stop of a command that runs", { timeout: 240_000 }, async () => {
    const left = await talk(agent, "command_endless", async (one) => {
      const runs = async () => (await processesOf(one.place)).some(({ command }) => command === sleeper);
      await expect.poll(runs, patience).toBe(true);
      one.scenario("text");
      one.say("Stop that, and say quay.", "interrupt");
      expect(await one.ended(1)).toMatchObject({ stop_reason: "interrupted" });
      expect(await one.ended(2)).toMatchObject({ outcome: "completed", output: "It is done." });
      expect(one.outcomes()).toEqual(["m1 new_turn 2"]);
      await expect.poll(runs, patience).toBe(false);
    });
    expect(left).toEqual([]);
  });

  test("takes a word into its turn, or has it as the next one", { timeout: 240_000 }, async () => {
    const left = await talk(agent, "endless", async (one) => {
      await speaks(one);
      one.scenario("text");
      one.say("Say quay as well.", "steer");
      if (!steered.includes(agent.id)) {
        await new Promise((resolve) => setTimeout(resolve, 1000));
        one.stop();
      }
      await expect.poll(() => one.outcomes().length, patience).toBe(1);
      await one.ended(steered.includes(agent.id) ? 1 : 2);
      expect(one.requests.some((body) => body.includes("quay"))).toBe(true);
      expect(one.outcomes()).toEqual([steered.includes(agent.id) ? "m1 injected 1" : "m1 new_turn 2"]);
    });
    expect(left).toEqual([]);
  });
});
