import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { Mirror } from "../../core/cluster/log/mirror.ts";
import { admittedElsewhere } from "../../core/cluster/machines/admissions.ts";
import { answerCalls, type CallAnswers, type CallAsk, callMachine } from "../../core/cluster/machines/calls.ts";
import { clusterConversations } from "../../core/cluster/machines/cluster-conversations.ts";
import type { MachineFacts } from "../../core/cluster/machines/machine.ts";
import { mostMachines, Presence } from "../../core/cluster/machines/presence.ts";
import type { Conversations, SessionHost } from "../../core/sessions/host/session-host.ts";
import { type LogMachine, logMachine } from "./log-fixture.ts";
import { until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

let on: NatsServers;
let one: LogMachine;
let two: LogMachine;

beforeAll(async () => {
  on = await startServers();
  [one, two] = [await logMachine("one", on), await logMachine("two", on)];
});

afterAll(async () => {
  await two?.close();
  await one?.close();
  await on?.stop();
});

describe("callMachine", () => {
  const ask = () => callMachine(one.engine, { machine: "two", name: "worktrees", ask: {} });

  for (
    const [what, said, error] of [
      ["no JSON", "nonsense", { code: "unsupported" }],
      ["something else", JSON.stringify({ answer: [{ session_id: 7 }] }), { code: "unsupported" }],
      ["nothing", "{}", { code: "unsupported" }],
      ["a code that is none", JSON.stringify({ error: { code: "constructor", message: "no" } }), {
        code: "internal",
        message: "no",
      }],
      ["an error", JSON.stringify({ error: { code: "not_found", message: "no", hint: "so" } }), {
        code: "not_found",
        hint: "so",
      }],
    ] as const
  ) {
    test(`gives a typed error where a machine answers with ${what}`, async () => {
      const stop = two.engine.answer(two.engine.names.calls("two"), () => Promise.resolve(said));
      await two.engine.roundTripMs();
      const told = vi.spyOn(one.engine.dropped, "tell").mockImplementation(() => {});
      await expect(ask()).rejects.toMatchObject(error);
      const names = told.mock.calls.map(([name]) => name);
      expect(names).toEqual(error.code === "unsupported" ? ['An answer of machine "two" to "worktrees"'] : []);
      told.mockRestore();
      stop();
    });
  }

  test("tells the asker that an answer is larger than a message may be", async () => {
    const answers = { waiting: () => Promise.resolve({ s: [{ text: "x".repeat(2 * 1024 * 1024) }] }) };
    const stop = answerCalls(two.engine, { machine: "two", answers: answers as unknown as CallAnswers });
    await two.engine.roundTripMs();
    await expect(callMachine(one.engine, { machine: "two", name: "waiting", ask: {} })).rejects.toMatchObject({
      code: "too_large",
    });
    stop();
  });
});

describe("clusterConversations", () => {
  const mirror = { machine: "two", journal: { session: () => Promise.resolve({ conversation_id: "c" }) } };
  const conversations = (): Conversations =>
    clusterConversations({ get: (session_id: string) => Promise.resolve({ session_id }) } as unknown as SessionHost, {
      engine: one.engine,
      mirrors: () => [mirror as unknown as Mirror],
      carry: () => Promise.resolve(),
    });

  async function answering(answers: Partial<CallAnswers>, act: () => Promise<void>): Promise<void> {
    const stop = answerCalls(two.engine, { machine: "two", answers: answers as CallAnswers });
    await two.engine.roundTripMs();
    await act().finally(stop);
  }

  test("says that a machine of an older version does not fork, nor take a talk back", async () => {
    const older = {
      rewind: ({ admitted: _unknown, ...ask }: CallAsk) =>
        admittedElsewhere(ask, async ({ admit }) => await admit!({ workdir: "/", prompt: "" }) as never),
    };
    await answering(older, async () => {
      await expect(conversations().fork("c", {})).rejects.toMatchObject({
        code: "unsupported",
        message: "This machine does not know the question: its version is another one.",
      });
      await expect(conversations().rewind("c", { to: 1, talk: true })).rejects.toMatchObject({
        code: "unsupported",
        message: "Cannot begin the conversation's next session from another machine.",
      });
    });
  });

  test("forks with the request that the client's admission has narrowed, and asks again where it is another one", async () => {
    let prompt = 0;
    const given: unknown[] = [];
    const fork = (ask: CallAsk) =>
      admittedElsewhere(ask, async ({ client, admit }) => {
        given.push(client, await admit!({ workdir: "/", prompt: String(Math.min(++prompt, 3)) }));
        return { session_id: "made" };
      });
    const admit = vi.fn((request: SessionRequest) => ({ ...request, budget: { turns: 2 } }));
    await answering({ fork }, async () => {
      expect(await conversations().fork("c", {}, { client: "ann", admit })).toMatchObject({ session_id: "made" });
    });
    const place = { machine: "two" };
    expect(admit.mock.calls).toEqual(["1", "2", "3"].map((said) => [{ workdir: "/", prompt: said, place }]));
    expect(given).toEqual(["ann", { workdir: "/", prompt: "3", budget: { turns: 2 } }]);
  });

  test("gives up a fork whose request is another one each time, and begins none that was not admitted", async () => {
    let prompt = 0;
    const fork = (ask: CallAsk) =>
      admittedElsewhere(ask, async ({ admit }) => {
        await admit!({ workdir: "/", prompt: String(++prompt) });
        return { session_id: "made" };
      });
    await answering({ fork }, async () => {
      await expect(conversations().fork("c", {})).rejects.toMatchObject({ code: "busy" });
      const admit = () => Promise.reject(new BulkheadError("forbidden", "No."));
      await expect(conversations().fork("c", {}, { admit })).rejects.toMatchObject({ code: "forbidden" });
    });
  });

  test("tells an error without the details that do not fit into a message", async () => {
    const paths = ["x".repeat(2 * 1024 * 1024)];
    const rewind = () => Promise.reject(new BulkheadError("conflict", "They differ.", { details: { paths } }));
    await answering({ rewind }, async () => {
      await expect(conversations().rewind("c", { to: 0 })).rejects.toMatchObject({
        code: "conflict",
        message: "They differ.",
      });
    });
  });
});

describe("Presence", () => {
  const facts: MachineFacts = {
    name: "one",
    run: "r",
    version: "1",
    runtime: "x",
    started_at: "2026-01-01T00:00:00.000Z",
    said_at: "2026-01-01T00:00:00.000Z",
    labels: {},
    agents: [],
    sessions: 0,
    slots: 1,
    seq: 0,
    gseq: 0,
    copies: {},
    leaving: false,
    gone: false,
  };

  test("believes a machine about itself alone, and knows so many at most", async () => {
    const heard: string[] = [];
    const presence = new Presence({
      engine: one.engine,
      name: "one",
      heartbeatMs: 60_000,
      silentMs: 60_000,
      facts: () => facts,
      onHeard: (name) => void heard.push(name),
      onSilent: () => {},
      onDouble: () => {},
    });
    presence.start();
    await one.engine.roundTripMs();
    const say = (name: string, by = name) =>
      two.engine.say(two.engine.names.presence(by), JSON.stringify({ ...facts, name, added_later: true }));
    say("three", "two");
    say("two");
    await until("the true one is heard", () => heard.length > 0);
    expect(heard).toEqual(["two"]);
    for (let at = 0; at < 2 * mostMachines; at++) say(`m${at}`);
    await two.engine.roundTripMs();
    await until("all came", () => heard.length >= mostMachines);
    await one.engine.roundTripMs();
    expect(presence.heard()).toHaveLength(mostMachines);
    two.engine.say(two.engine.names.presence("two"), JSON.stringify({ ...facts, name: "two", gone: true }));
    say("late");
    await until("one that left makes room", () => heard.at(-1) === "late");
    expect(presence.heard()).toHaveLength(mostMachines);
    presence.stop();
  });
});
