import { readdirSync, readlinkSync } from "node:fs";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { createHost } from "bulkhead";
import { describe, expect, test } from "vitest";
import { openSqlite } from "../../core/ground/platform/state/sqlite.ts";
import { needsWall } from "../ground/platform/os-walls/needs-wall.ts";
import { readRow } from "../../core/ground/platform/processes/process-rows.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import {
  adapterCode,
  completed,
  errorOf,
  openHost,
  type TestHost,
  until,
  writePlugin,
} from "../sessions/host/test-host.ts";
import { checkSession } from "../sessions/session/session-rules.ts";
import { recordedWardens, startHost } from "./host-process.ts";

/** Starts a program that has children in other sessions and process groups, and leaves a call and a request open. */
const busy = adapterCode(`    yield { type: "agent_info", agent_version: "1.2", model: "m" };
    yield { type: "tool_call", call_id: "c1", tool: "shell", kind: "execute", input: {} };
    yield { type: "permission_request", request_id: "r1", tool: "shell", title: "May I?",
      options: [{ id: "yes", label: "Yes", kind: "allow_once" }] };
    const child = await ctx.run("/bin/sh", ["-c", request.prompt]);
    for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
    await ctx.sleep(1e8);`);

const manifest = `permissions:
  run:
    - { binary: /bin/sh, args: ["-c {*}"] }
`;
// Without a PID namespace of their own, programs outlive a killed host, and show their own pids.
const settings = { grant: { run: [{ binary: "/bin/sh" }] }, os_walls: { bubblewrap: "off" as const } };

/** Prints the pids of a child, a grandchild in a session of its own that ignores SIGTERM, and a daemon; then waits. */
const family = `sleep 300 & echo pid $! ;
setsid sh -c 'trap "" TERM; echo pid $$; while :; do sleep 0.1; done' &
setsid sh -c '(trap "" HUP; sh -c "echo pid \\$\\$; exec sleep 301") & exit 0';
echo pid $$; wait`;

/** Processes in the PID namespace that the children of a process are in. */
function namespaceBelow(outer: number): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  const namespaceOf = (pid: number): string | null => {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`);
    } catch {
      return null;
    }
  };
  const child = pids.find((pid) => readRow(pid)?.ppid === outer);
  const below = child === undefined ? null : namespaceOf(child);
  if (below === null || below === namespaceOf(process.pid)) return [];
  return pids.filter((pid) => namespaceOf(pid) === below);
}

/** Networks that a process of this machine is in, or holds open. */
function networksInUse(): Set<string> {
  const links = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const files = readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`);
      return [`/proc/${pid}/ns/net`, ...files];
    } catch {
      // It is gone.
      return [];
    }
  });
  return new Set(links.flatMap((link) => {
    try {
      return [readlinkSync(link)];
    } catch {
      return [];
    }
  }));
}

function alive(pid: number): boolean {
  return readRow(pid)?.zombie === false;
}

async function killedHost(test: TestHost): Promise<{ pids: number[]; warden: number; events: Envelope[] }> {
  const folder = await writePlugin(join(test.root, "packages", "busy"), "busy", { code: busy, manifest });
  const { stateDir, workdir } = test;
  const host = startHost({ stateDir, workdir, folder, settings, prompt: family });
  const pids = () =>
    host.lines.flatMap(({ envelope }) =>
      envelope?.event.type === "output"
        ? [...envelope.event.data.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid))
        : []
    );
  await host.seen(() => pids().length === 4);
  const warden = (await recordedWardens(stateDir))[0]!;
  // One that is stopped does not notice that its host is gone.
  process.kill(-warden, "SIGSTOP");
  const found = pids();
  await host.kill();
  const events = host.lines.flatMap(({ envelope }) => (envelope ? [envelope] : []));
  return { pids: found, warden, events };
}

async function eventsOf(host: TestHost["host"], sessionId: string): Promise<Envelope[]> {
  const found: Envelope[] = [];
  for await (const envelope of host.events({ after: 0 })) {
    if (envelope.session_id !== sessionId) continue;
    found.push(envelope);
    if (envelope.event.type === "session_ended") return found;
  }
  return found;
}

async function nextHost({ root, stateDir }: TestHost): Promise<TestHost> {
  return await openHost({ root, stateDir });
}

describe("a host that was killed", () => {
  test("leaves no process behind once the next one has started, and its sessions are ended by the rules", async () => {
    const setting = await openHost();
    await setting.host.close();
    const { pids, warden, events } = await killedHost(setting);
    expect(pids.filter(alive).length).toBeGreaterThan(0);
    const next = await nextHost(setting);
    expect([...pids, warden].filter(alive)).toEqual([]);

    const session = await eventsOf(next.host, events[0]!.session_id);
    expect(session.slice(0, events.length)).toEqual(events);
    expect(checkSession(session)).toEqual([]);
    const added = session.slice(events.length).filter(({ synthetic }) => synthetic).map(({ event }) => event.type);
    expect(added).toEqual(["process_exited", "tool_result", "permission_resolved", "session_ended"]);
    const last = session.at(-1)!.event;
    expect(last.type === "session_ended" && last.result).toMatchObject({
      outcome: "error",
      stop_reason: "host_restarted",
      artifacts: null,
      artifacts_reason: "host_restarted",
      requested: { prompt: family },
      metadata: { tool_version: "1.2" },
      usage: { model: "m" },
      provenance: { adapter_id: "busy", adapter_version: "1.0.0" },
      error: { code: "host_restarted" },
    });
    expect(last.type === "session_ended" && last.result.output).toContain("pid ");

    await next.add("fine", { code: adapterCode(`    yield ${completed};`) });
    const { result, events: later } = await next.run("fine");
    expect(result.outcome).toBe("completed");
    expect(later[0]!.gseq).toBeGreaterThan(session.at(-1)!.gseq);
    expect(next.logs.map(({ message }) => message).join("\n")).toMatch(/Ended a process of a host that was killed/);
  });

  test("is cleaned up after also when the next host takes another part of the state", async () => {
    const setting = await openHost();
    // The first part is held by this test's host, so the killed one had the second.
    const { pids, warden, events } = await killedHost(setting);
    const next = await createHost({ stateDir: setting.stateDir, bundledDir: null });
    try {
      expect([...pids, warden].filter(alive)).toEqual([]);
      const session = await eventsOf(next, events[0]!.session_id);
      expect(checkSession(session)).toEqual([]);
    } finally {
      await next.close();
    }
    await expect(stat(join(setting.stateDir, "host-2", "children.jsonl"))).rejects.toThrow();
  });

  test("takes its programs along where they have a PID namespace of their own, before any other host starts", async (context) => {
    await needsWall(context, "bubblewrap");
    const setting = await openHost();
    await setting.host.close();
    const folder = await writePlugin(join(setting.root, "packages", "busy"), "busy", { code: busy, manifest });
    const { stateDir, workdir } = setting;
    const name = `bulkhead-daemon-${process.pid}`;
    // A daemon that forks twice and clears its environment: neither parents nor marks lead to it.
    const daemon = `(setsid env -i sh -c 'sleep 300 & exec sleep 300' ${name} &) ; echo pid $$; exec sleep 300`;
    const host = startHost({ stateDir, workdir, folder, settings: { grant: settings.grant }, prompt: daemon });
    await host.seen((line) => line.envelope?.event.type === "output");
    const { envelope } = await host.seen((line) => line.envelope?.event.type === "process_spawned");
    const outer = envelope?.event.type === "process_spawned" ? envelope.event.pid : 0;
    // The first process of the namespace, the program, and the daemon with its child.
    await until(() => namespaceBelow(outer).length >= 4);
    const inside = namespaceBelow(outer);
    await host.kill();
    await until(() => inside.filter(alive).length === 0);
  });

  test("leaves no program of a contained agent, no proxy and nothing of its walls", async (context) => {
    await needsWall(context, "bubblewrap");
    const setting = await openHost();
    await setting.host.close();
    const folder = await writePlugin(join(setting.root, "packages", "busy"), "busy", {
      type: "agent",
      code: busy,
      manifest,
    });
    const { stateDir, workdir } = setting;
    const prompt = "echo proxy $HTTP_PROXY; (setsid sleep 300 &); exec sleep 300";
    const host = startHost({ stateDir, workdir, folder, settings: { grant: settings.grant }, prompt });
    await host.seen((line) => line.envelope?.event.type === "output" && line.envelope.event.data.includes("http://"));
    const { envelope } = await host.seen((line) => line.envelope?.event.type === "process_spawned");
    const outer = envelope?.event.type === "process_spawned" ? envelope.event.pid : 0;
    // The first process of the namespace, the program and its daemon.
    await until(() => namespaceBelow(outer).length >= 3);
    const inside = namespaceBelow(outer);
    const network = readlinkSync(`/proc/${outer}/ns/net`);
    expect(network).not.toBe(readlinkSync("/proc/self/ns/net"));
    await host.kill();
    await until(() => inside.filter(alive).length === 0);
    await until(() => !networksInUse().has(network));
    // The next host removes the files.
    await nextHost(setting);
    expect((await readdir(stateDir, { recursive: true })).filter((name) => name.includes("-walls"))).toEqual([]);
    expect(await readdir(workdir)).toEqual([]);
  });

  test("never has a process signalled that got one of its pids", async () => {
    const setting = await openHost();
    await setting.host.close();
    const { pids } = await killedHost(setting);
    const ledger = join(setting.stateDir, "host-1", "children.jsonl");
    const [head, ...lines] = (await readFile(ledger, "utf8")).trim().split("\n").map((line) =>
      JSON.parse(line) as object
    );
    // As if every pid, and this test's own, had been given to another process, and no mark could be read.
    const strangers = lines.map((line) => ({ ...line, start: "1" }));
    const own = { role: "agent", pid: process.pid, start: "1" };
    const forged = [{ ...head, mark: "0".repeat(32) }, ...strangers, own].map((line) => JSON.stringify(line)).join(
      "\n",
    );
    const before = await readFile(ledger, "utf8");
    await writeFile(ledger, forged);
    const journal = await openSqlite(join(setting.stateDir, "host-1", "journal.db"), { busyTimeoutMs: 1000 });
    journal.exec("UPDATE child SET identity = 'another process'");
    journal.close();
    const next = await nextHost(setting);
    expect(pids.filter((pid) => pid !== 0 && alive(pid)).length).toBeGreaterThan(0);
    await next.host.close();
    await writeFile(ledger, before);
    await nextHost(setting);
    await until(() => pids.filter(alive).length === 0);
  });

  test("is cleaned up after by what its journal knows where the ledger of its children is gone", async () => {
    const setting = await openHost();
    await setting.host.close();
    const folder = await writePlugin(join(setting.root, "packages", "busy"), "busy", { code: busy, manifest });
    const { stateDir, workdir } = setting;
    const host = startHost({ stateDir, workdir, folder, settings, prompt: "echo pid $$; exec sleep 300" });
    const { envelope } = await host.seen((line) => line.envelope?.event.type === "process_spawned");
    const pid = envelope?.event.type === "process_spawned" ? envelope.event.pid : 0;
    await host.seen((line) => line.envelope?.event.type === "output");
    await host.kill();
    expect(alive(pid)).toBe(true);
    await rm(join(stateDir, "host-1", "children.jsonl"));
    const next = await nextHost(setting);
    expect(alive(pid)).toBe(false);
    const { children, grants } = await next.host.sessions.history(envelope!.session_id);
    expect(children).toMatchObject([{ pid, program: expect.stringContaining("sh"), ended_at: expect.any(String) }]);
    expect(grants).toMatchObject([{ attempt: 1, adapter_id: "busy", permissions: settings.grant }]);
    expect(next.logs.map(({ message }) => message)).toContain(
      `Ended a process of a host that was killed: agent ${pid}.`,
    );
  });

  describe("whose journal cannot be read in part", () => {
    /** What a host left that was killed, and of whose session those batches that fit were overwritten. */
    async function damaged(where: string) {
      const setting = await openHost();
      await setting.host.close();
      const folder = await writePlugin(join(setting.root, "packages", "busy"), "busy", { code: busy, manifest });
      const { stateDir, workdir } = setting;
      const host = startHost({ stateDir, workdir, folder, settings, prompt: "echo said; exec sleep 300" });
      const { envelope } = await host.seen((line) => line.envelope?.event.type === "output");
      await host.kill();
      const journal = await openSqlite(join(stateDir, "host-1", "journal.db"), { busyTimeoutMs: 1000 });
      const { changes } = journal.prepare(`UPDATE batch SET body = 'x' WHERE ${where}`).run();
      journal.close();
      expect(changes).toBeGreaterThan(0);
      return { setting, id: envelope!.session_id };
    }

    async function afterDamage(where: string) {
      const { setting, id } = await damaged(where);
      const next = await nextHost(setting);
      return { next, id, session: await next.host.sessions.open(id) };
    }

    test("gives the state folder back where it cannot start because of it", async () => {
      const { setting } = await damaged("first_seq = 1");
      const writeLog = () => {
        throw new Error("The log is full.");
      };
      const { root, stateDir } = setting;
      // First where it ends the programs that were left, then where it ends the session.
      for (const _ of ["programs", "session"]) {
        await expect(createHost({ root, stateDir, bundledDir: null, writeLog })).rejects.toThrow("The log is full.");
      }
      const next = await openHost({ root, onlyFirst: true });
      expect(await next.host.sessions.list()).toHaveLength(1);
    });

    test("has its session ended with what can be read, so that it can be deleted", async () => {
      const { next, id, session } = await afterDamage("first_seq > 1");
      expect(await next.host.sessions.get(id)).toMatchObject({ state: "ended", stop_reason: "host_restarted" });
      expect(await session.interrupt()).toMatchObject({
        stop_reason: "host_restarted",
        requested: { prompt: "echo said; exec sleep 300" },
        error: { message: expect.stringMatching(/and [1-9]\d* of its events cannot be read any more\.$/) },
      });
      await next.host.sessions.delete(id);
      expect(await errorOf(next.host.sessions.get(id))).toMatchObject({ code: "not_found" });
    });

    test("says of a session without a beginning that nobody runs it, and deletes it", async () => {
      const { next, id, session } = await afterDamage("first_seq = 1");
      const left = {
        code: "journal_error",
        message: `Session "${id}" has no end: its beginning cannot be read, or its end not be written.`,
        hint: expect.stringContaining(`bulkhead session delete ${id}`),
      };
      expect(next.logs.map(({ message }) => message)).toContain(left.message);
      expect(await errorOf(session.interrupt())).toMatchObject(left);
      expect(await errorOf(session.result())).toMatchObject(left);
      await next.host.sessions.delete(id);
      expect(await errorOf(next.host.sessions.get(id))).toMatchObject({ code: "not_found" });
      expect(await next.host.sessions.list()).toEqual([]);
    });
  });

  test("has nothing to be cleaned up after an orderly end", async () => {
    const setting = await openHost();
    await setting.add("fine", { code: adapterCode(`    yield ${completed};`) });
    await setting.run("fine");
    await setting.host.close();
    await expect(stat(join(setting.stateDir, "host-1", "children.jsonl"))).rejects.toThrow();
    expect(setting.logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });
});
