import process from "node:process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { LiveSessions } from "../../../core/sessions/host/live-sessions.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import type { Host } from "../../../core/sessions/host/host.ts";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { checkSession } from "../../sessions/session/session-rules.ts";
import { type MockModel, type ModelRun, startMockModel } from "../mock-model/mock-model.ts";
import { orders } from "../mock-model/scenarios.ts";
import { agents as allAgents } from "./agents.ts";
import { claudeCode } from "./own-adapters.ts";
import { type Home, leftBehind, openHome, openPlace, type Place, processesOf } from "./place.ts";

const wanted = process.env["AGENTS"]?.split(",") ?? ["claude-code"];
const isWanted = wanted.includes("claude-code") || wanted.includes("all");

let home: Home;
let models: MockModel;
beforeAll(async () => {
  home = await openHome({ more: false });
  models = await startMockModel();
}, 60_000);
afterAll(async () => {
  await models.close();
  await home.remove();
}, 60_000);

/** A conversation with the real program in one session. */
class Talk {
  readonly envelopes: Envelope[] = [];
  readonly model: ModelRun;
  readonly #place: Place;
  readonly #host: Host;
  #live: { find: LiveSessions["find"] } | null = null;
  #id = "";
  #said = 0;

  constructor(host: Host, { place, model }: { place: Place; model: ModelRun }) {
    this.#host = host;
    this.#place = place;
    this.model = model;
  }

  /** Starts a session; resolves once it is admitted. */
  async start(request: Partial<SessionRequest> = {}): Promise<void> {
    const { request: settings = {} } = await claudeCode.prepare({
      name: "text",
      model: this.model,
      place: this.#place,
    });
    const begin = LiveSessions.prototype.start;
    const spy = vi.spyOn(LiveSessions.prototype, "start").mockImplementation(function (this: LiveSessions, ...given) {
      sessions = this;
      return begin.apply(this, given);
    });
    let sessions: LiveSessions | null = null;
    const session = await this.#host.runSession({
      workdir: this.#place.workdir,
      prompt: "Begin.",
      retry: "never",
      keep_ms: 120_000,
      answer_timeout_ms: 0,
      ...settings,
      ...request,
    }, { adapter: "claude-code" });
    spy.mockRestore();
    this.#live = sessions;
    this.#id = session.id;
    const { envelopes } = this;
    envelopes.length = 0;
    void (async () => {
      for await (const envelope of session.events()) envelopes.push(envelope);
    })();
  }

  get #talk() {
    return this.#live!.find(this.#id)!.session.talk;
  }

  /** Says something, and returns the id of the message. */
  say(text: string, delivery: "queue" | "steer" | "interrupt" = "queue"): string {
    const message_id = `m${++this.#said}`;
    this.#talk.say({ message_id, content: [{ type: "text", text }], delivery, by: { client: "test" } });
    return message_id;
  }

  /** Resolves with the first event that fits, from then on. */
  async seen(isIt: (event: Envelope["event"], index: number) => boolean, from = 0): Promise<Envelope["event"]> {
    const end = Date.now() + 90_000;
    for (;;) {
      const found = this.envelopes.slice(from).find(({ event }, index) => isIt(event, index + from));
      if (found) return found.event;
      if (Date.now() > end) {
        throw new Error(
          `Not seen in:\n${this.envelopes.map(({ event }) => JSON.stringify(event).slice(0, 300)).join("\n")}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async turnEnded(turn: number): Promise<Extract<HostEvent, { type: "turn_ended" }>> {
    return await this.seen((event) => event.type === "turn_ended" && event.turn === turn) as never;
  }

  /** What became of a message. */
  async outcomeOf(id: string): Promise<Envelope["event"]> {
    return await this.seen((event) =>
      (event.type === "message_delivered" || event.type === "message_dropped") && event.message_id === id
    );
  }

  /** Returns the place of what became of a message. */
  indexOf(id: string): number {
    return this.envelopes.findIndex(({ event }) => event.type === "message_delivered" && event.message_id === id);
  }

  /** Resolves once no turn runs and nothing waits. */
  async idle(): Promise<void> {
    while (this.#talk.current !== null || this.#talk.pending > 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Number of the programs that were started. */
  get programs(): number {
    return this.envelopes.filter(({ event }) => event.type === "process_spawned").length;
  }

  async end() {
    return await (await this.#host.sessions.open(this.#id)).interrupt();
  }
}

async function withTalk(act: (talk: Talk) => Promise<void>): Promise<void> {
  const place = await openPlace();
  const model = models.open("conversation", { workdir: place.workdir, offersTools: true });
  const host = await createHost({
    root: place.root,
    stateDir: join(place.root, "state"),
    bundledDir: join(place.root, "none"),
    writeLog: () => {},
  });
  try {
    const { permissions = {} } = await readManifest(claudeCode.folder);
    const net = [new URL(model.url).host];
    await host.registry.register(claudeCode.folder, { isolation: "process", grant: { ...permissions, net } });
    await act(new Talk(host, { place, model }));
    await host.close();
    expect(await leftBehind(place), "processes left behind").toEqual([]);
  } finally {
    await host.close();
    for (const { pid } of await processesOf(place)) process.kill(pid, "SIGKILL");
    await rm(place.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

const isOutput = ({ type }: Envelope["event"]) => type === "output";

test("the agent that talks here is one of the proving ground", () => {
  expect(allAgents.map(({ id }) => id)).toContain(claudeCode.id);
});

test.each(isWanted ? [claudeCode] : [])(
  "$id talks in one process: turns, words and stops",
  { timeout: 300_000 },
  async () => {
    await withTalk(async (talk) => {
      const { requests } = talk.model;
      await talk.start();
      expect(await talk.turnEnded(1)).toMatchObject({ outcome: "completed" });
      const first = talk.envelopes.find(({ event }) => event.type === "usage")?.event;

      // Another turn.
      talk.say("Go on.");
      const second = await talk.turnEnded(2);
      expect(second).toMatchObject({
        outcome: "completed",
        usage: { tokens_in: (first as { tokens_in: number }).tokens_in },
      });
      expect(requests.at(-1)).toMatch(/Begin\..*Go on\./s);

      // A word while a tool runs.
      talk.say(orders.command);
      const from = talk.envelopes.length;
      await talk.seen(({ type }) => type === "tool_call", from);
      const word = talk.say("Mind the wharf.", "steer");
      expect(await talk.turnEnded(3)).toMatchObject({ outcome: "completed" });
      expect(await talk.outcomeOf(word)).toMatchObject({ type: "message_delivered", turn: 3, how: "injected" });
      expect(requests.at(-1)).toContain("Mind the wharf.");

      // A word in mid-text begins a turn.
      let at = talk.envelopes.length;
      talk.say(orders.slowly);
      await talk.seen(isOutput, at);
      const late = talk.say("Then sum up.", "steer");
      expect(await talk.turnEnded(4)).toMatchObject({ output: expect.stringContaining("word 14") });
      expect(await talk.outcomeOf(late)).toMatchObject({ type: "message_delivered", turn: 5, how: "new_turn" });
      expect(await talk.turnEnded(5)).toMatchObject({ outcome: "completed", output: "It is done." });

      // A stop, by a message that goes on.
      at = talk.envelopes.length;
      talk.say(orders.endlessly);
      await talk.seen(isOutput, at);
      talk.say("Stop that.", "interrupt");
      expect(await talk.turnEnded(6)).toMatchObject({ stop_reason: "interrupted" });
      expect(await talk.turnEnded(7)).toMatchObject({ outcome: "completed", output: "It is done." });
      expect(requests.at(-1)).toContain("Stop that.");

      expect(talk.programs).toBe(1);
      await talk.end();
      expect(checkSession(talk.envelopes)).toEqual([]);
      expect(talk.envelopes.filter(({ event }) => event.type === "unparsed")).toEqual([]);
    });
  },
);
