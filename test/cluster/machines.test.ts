import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RemoteSession } from "../../core/doors/client/mod.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import { logMachine } from "./log-fixture.ts";
import { type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

describe("three machines on one server", () => {
  let on: NatsServers;
  let one: Machine;
  let two: Machine;
  let three: Machine;

  beforeAll(async () => {
    on = await startServers();
    const names = ["one", "two", "three"];
    const made = await Promise.all(names.map((name) => startMachine({ name, servers: on.urls, labels: { at: name } })));
    [one, two, three] = made as [Machine, Machine, Machine];
    // The first note of a machine comes before its host, and so its agents.
    await until("each sees the others with their agents", async () => {
      const seen = await Promise.all(made.map(({ host }) => host.cluster()));
      return seen.every(({ machines }) =>
        machines.filter(({ state, agents }) => state === "present" && agents.length > 0).length === 3
      );
    });
  }, 60_000);

  afterAll(async () => {
    for (const machine of [one, two, three]) await machine?.remove();
    await on?.stop();
  });

  test("show one another, with labels, agents and logs", async () => {
    const status = await one.host.cluster();
    expect(status).toMatchObject({ machine: "one", connected: true, prefix: "bulkhead", waiting_entries: 0 });
    expect(status.machines.map(({ name, self, labels }) => ({ name, self, labels }))).toEqual([
      { name: "one", self: true, labels: { at: "one" } },
      { name: "three", self: false, labels: { at: "three" } },
      { name: "two", self: false, labels: { at: "two" } },
    ]);
    expect(status.machines[1]!.agents).toEqual(expect.arrayContaining(["asker", "brief", "ticker", "writer"]));
    expect(status.logs.map(({ machine, writer }) => [machine, writer])).toEqual([
      ["one", "one"],
      ["three", "three"],
      ["two", "two"],
    ]);
  });

  test("list, show and delete each session from every machine", async () => {
    const session = await one.host.start({ workdir: one.workdir, prompt: "go" }, { adapter: "brief" });
    const own = await eventsOf(session);
    for (const { host } of [two, three]) {
      await until(
        "it is listed",
        async () => (await host.list()).some((listed) => listed.session_id === session.id && listed.state === "ended"),
      );
      expect(await eventsOf(await host.open(session.id))).toEqual(own);
      expect(await host.history(session.id)).toEqual(await one.host.history(session.id));
    }
    await three.host.delete(session.id);
    for (const { host } of [one, two, three]) {
      await until("it is gone", async () => !(await host.list()).some(({ session_id }) => session_id === session.id));
    }
  });

  test("follow, answer and interrupt a session that runs elsewhere", async () => {
    const asking = await one.host.start({ workdir: one.workdir, prompt: "go" }, { adapter: "asker" });
    await until(
      "the question is seen",
      async () => (await two.host.get(asking.id).catch(() => null))?.waiting.length === 1,
    );
    const there = await two.host.open(asking.id);
    expect(await there.answer("r1", "yes")).toBe(true);
    expect(await there.answer("r1", "no")).toBe(false);
    const texts = (await eventsOf(await three.host.open(asking.id))).map(({ event }) =>
      event.type === "output" ? event.data : ""
    );
    expect(texts).toContain("told yes\n");

    const ticking = await one.host.start({ workdir: one.workdir, prompt: "go" }, { adapter: "ticker" });
    await until("it is there", async () => (await two.host.get(ticking.id).catch(() => null)) !== null);
    await until("the others list what it does", async () => {
      const lists = await Promise.all(
        [one, two, three].map(({ host }) => host.list({ facts: true, state: "running" })),
      );
      return lists.every((list) => {
        const facts = list.find(({ session_id }) => session_id === ticking.id)?.facts;
        return facts?.last_event_at != null && facts.beats.some((events) => events > 0);
      });
    });
    const result = await (await two.host.open(ticking.id)).interrupt();
    expect(result).toMatchObject({ outcome: "error", stop_reason: "interrupted" });
  });

  test("answer a list with one question to each other machine", async () => {
    const machines = [one, two, three];
    const running = await Promise.all(
      machines.map(({ host, workdir }) => host.start({ workdir, prompt: "go" }, { adapter: "asker" })),
    );
    await until("all wait on every machine", async () => {
      const lists = await Promise.all(machines.map(({ host }) => host.list({ state: "running" })));
      return lists.every((list) => list.filter(({ waiting }) => waiting.length === 1).length === 3);
    });
    const watcher = await logMachine("watcher", on);
    let asked = 0;
    watcher.engine.listen("bulkhead.call.*", () => asked++);
    await watcher.engine.roundTripMs();
    await one.host.list();
    await sleep(300);
    await watcher.close();
    expect(asked).toBe(2);
    await Promise.all(running.map((session) => session.interrupt()));
  });

  test("merge their events, and a cursor of one goes on exactly on another", async () => {
    const cursors: string[] = [];
    const told: string[] = [];
    const watching = new AbortController();
    const first = (async () => {
      for await (const { cursor, session_id, seq } of one.host.events({ after: 0, signal: watching.signal })) {
        cursors.push(cursor!);
        told.push(`${session_id} ${seq}`);
      }
    })();
    const started = await Promise.all(
      [one, two, three].map(({ host, workdir }) => host.start({ workdir, prompt: "go" }, { adapter: "brief" })),
    );
    await Promise.all(started.map((session) => session.result()));
    const ends = await Promise.all(started.map(async ({ id }) => `${id} ${(await one.host.get(id)).last_seq}`));
    await until("all ends are told", () => ends.every((end) => told.includes(end)));
    watching.abort();
    await first;
    expect(new Set(told).size).toBe(told.length);
    for (const at of [0, Math.floor(told.length / 2), told.length - 3]) {
      const rest: string[] = [];
      const reading = new AbortController();
      for await (const { session_id, seq } of three.host.events({ cursor: cursors[at]!, signal: reading.signal })) {
        rest.push(`${session_id} ${seq}`);
        if (rest.length === told.length - at - 1) reading.abort();
      }
      expect(rest.sort()).toEqual(told.slice(at + 1).sort());
    }
    await expect((async () => {
      for await (const _ of one.host.events({ cursor: "c1.bm8" })) break;
    })()).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("take over a machine that was killed: its sessions end once, and nothing of them is lost", async () => {
    const request = { workdir: two.workdir, prompt: "go", resume: "after_restart" as const };
    const session = await two.host.start(request, { adapter: "ticker" });
    const seen: Envelope[] = [];
    await until("it ticks", async () => {
      for await (const envelope of session.events({ after: seen.at(-1)?.seq ?? 0 })) {
        seen.push(envelope);
        if (seen.length >= 30) break;
      }
      return seen.length >= 30;
    });
    await two.signal("SIGKILL");
    const summaries = async () =>
      await Promise.all([one, three].map(({ host }) => host.get(session.id).catch(() => null)));
    await until(
      "the others have ended it",
      async () => (await summaries()).every((summary) => summary?.state === "ended"),
    );
    const told = await Promise.all([one, three].map(async ({ host }) => await eventsOf(await host.open(session.id))));
    for (const events of told) {
      expect(events.slice(0, seen.length)).toEqual(seen);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
      expect(events.filter(({ event }) => event.type === "session_ended")).toHaveLength(1);
      expect(events.at(-1)?.event).toMatchObject({
        result: { stop_reason: "machine_lost", resumed_as: expect.any(String) },
      });
    }
    expect(told[0]).toEqual(told[1]);
    const next = resultOf(told[0]!).resumed_as!;
    await until("it goes on", async () => (await one.host.get(next).catch(() => null)) !== null);
    expect((await one.host.list({ state: "running" })).map(({ session_id }) => session_id)).toEqual([next]);
    expect(await (await one.host.open(next)).interrupt()).toMatchObject({ stop_reason: "interrupted" });
    await two.start();
    expect(await eventsOf(await two.host.open(session.id))).toEqual(told[0]);
    expect((await two.host.list({ state: "running" })).map(({ session_id }) => session_id)).not.toContain(session.id);
  });

  test("refuse a machine that wakes up too late; it ends its agents and joins again", async () => {
    const session = await three.host.start({ workdir: three.workdir, prompt: "go" }, { adapter: "ticker" });
    await until("the others have it", async () => (await one.host.get(session.id).catch(() => null)) !== null);
    await three.signal("SIGSTOP");
    await until("they have ended it", async () => (await one.host.get(session.id)).state === "ended");
    await three.signal("SIGCONT");
    await until("it has joined again", async () => {
      await three.ready();
      return (await three.host.get(session.id)).state === "ended";
    });
    const [here, there] = await Promise.all(
      [one, three].map(async ({ host }) => await eventsOf(await host.open(session.id))),
    );
    expect(there).toEqual(here);
    expect(here!.at(-1)?.event).toMatchObject({ result: { stop_reason: "machine_lost" } });
    const next = await three.host.start({ workdir: three.workdir, prompt: "go" }, { adapter: "brief" });
    expect(await next.result()).toMatchObject({ outcome: "completed" });
  });

  test("keep an answer for a machine that is silent", async () => {
    const asking = await two.host.start({ workdir: two.workdir, prompt: "go" }, { adapter: "asker" });
    await until(
      "the question is seen",
      async () => (await one.host.get(asking.id).catch(() => null))?.waiting.length === 1,
    );
    await two.signal("SIGSTOP");
    await until("it is missed", async () => {
      const { machines } = await one.host.cluster();
      return machines.some(({ name, state }) => name === "two" && state === "silent");
    });
    const there = await one.host.open(asking.id);
    expect(await there.answer("r2", "yes")).toBe(false);
    expect(await there.answer("r1", "yes")).toBe(true);
    await two.signal("SIGCONT");
    expect(await there.result()).toMatchObject({ outcome: "completed" });
  });

  test("show the diff of a machine that is gone", async () => {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: three.workdir, stdio: "pipe" });
    git("init", "-q");
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first");
    const session = await three.host.start({ workdir: three.workdir, prompt: "go", workspace: "worktree" }, {
      adapter: "writer",
    });
    expect(await session.result()).toMatchObject({ outcome: "completed" });
    const before = await one.host.workspaces.diff(session.id);
    expect(before.artifacts).toMatchObject([{ path: "made.txt", change: "untracked" }]);
    await three.signal("SIGKILL");
    await until("it is missed", async () => {
      const { machines } = await one.host.cluster();
      return machines.some(({ name, state }) => name === "three" && state === "lost");
    });
    expect(await one.host.workspaces.diff(session.id)).toEqual(before);
    expect(await one.host.workspaces.list()).toMatchObject([{
      session_id: session.id,
      workdir: three.workdir,
      state: "open",
    }]);
    expect(await one.host.workspaces.apply(session.id)).toMatchObject({
      artifacts: [{ path: "made.txt", change: "untracked" }],
    });
    expect(existsSync(join(three.workdir, "made.txt"))).toBe(true);
    await expect(one.host.workspaces.apply(session.id)).rejects.toMatchObject({ code: "already_exists" });
    await expect(one.host.workspaces.discard(session.id)).rejects.toMatchObject({ code: "unavailable" });
    await three.start();
    expect(await one.host.workspaces.apply(session.id)).toMatchObject({ artifacts: [] });
    expect(execFileSync("cat", [join(three.workdir, "made.txt")], { encoding: "utf8" })).toBe("made\n");
  });

  test("wait while the server is away, and lose nothing", async () => {
    const session = await one.host.start({ workdir: one.workdir, prompt: "go" }, { adapter: "ticker" });
    await until("it ticks", async () => (await one.host.get(session.id)).last_seq > 5);
    await on.servers[0]!.kill();
    await until("the clients are told", async () => !(await one.host.ready()));
    await on.servers[0]!.start();
    await until(
      "all are back",
      async () => (await Promise.all([one, two, three].map(({ host }) => host.ready()))).every(Boolean),
    );
    const { last_seq } = await one.host.get(session.id);
    await until("it ticks on", async () => (await one.host.get(session.id)).last_seq > last_seq + 5);
    expect(await (await two.host.open(session.id)).interrupt()).toMatchObject({ stop_reason: "interrupted" });
    const [here, there] = await Promise.all(
      [one, three].map(async ({ host }) => await eventsOf(await host.open(session.id))),
    );
    expect(there).toEqual(here);
    expect(here!.map(({ seq }) => seq)).toEqual(here!.map((_, at) => at + 1));
  });
});

function resultOf(events: readonly Envelope[]): SessionResult {
  const last = events.at(-1)?.event;
  if (last?.type !== "session_ended") throw new Error("It has no end.");
  return last.result;
}

async function eventsOf(session: RemoteSession): Promise<Envelope[]> {
  const events: Envelope[] = [];
  for await (const envelope of session.events()) events.push(envelope);
  return events;
}
