import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runCli } from "../../core/doors/cli/run-cli.ts";
import { connectHost, type RemoteHost } from "../../core/doors/client/mod.ts";
import { type Daemon, startDaemon } from "../../core/doors/daemon/daemon.ts";
import { unixFetch } from "../../core/ground/platform/net/unix-fetch.ts";
import { loadHostManifest } from "../../core/packages/manifest/find-host-manifest.ts";
import { createHost } from "../../core/sessions/host/create-host.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { fakeTerminal } from "../doors/cli/fake-terminal.ts";
import { adapterCode, completed, errorOf, writePlugin } from "../sessions/host/test-host.ts";

const { faults, refusing, sentences } = await vi.hoisted(() => import("./refused/refusing.ts"));

vi.mock("node:fs/promises", (real) => refusing.promises(real));
vi.mock("node:fs", (real) => refusing.files(real));
vi.mock("../../core/ground/platform/state/sqlite.ts", (real) => refusing.sqlite(real));

let root = "";
let stateDir = "";
let daemon: Daemon;
let host: RemoteHost;
let fetched: ReturnType<typeof unixFetch>;
let token = "";

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bh-unwritten-")));
  stateDir = join(root, "state");
  await mkdir(join(root, "work"));
  await writePlugin(join(root, "plugins", "ticks"), "ticks", {
    code: adapterCode(`    for (let n = 0; n < Number(request.prompt); n++) {
      yield { type: "progress", message: "tick " + n };
      await ctx.sleep(20);
    }
    yield ${completed};`),
  });
  await writeFile(
    join(root, "bulkhead.yaml"),
    "bulkhead: 1\nplugins: { ticks: {} }\ndaemon: { port: 0 }\nlimits: { teardown_timeout_ms: 200, warden_grace_ms: 200 }\n",
  );
  daemon = await startDaemon({
    createHost,
    readManifest: async () => await loadHostManifest({ config: join(root, "bulkhead.yaml"), from: root }) ?? undefined,
    root,
    stateDir,
    bundledDir: null,
  });
  token = (await readFile(daemon.record.token_file, "utf8")).trim();
  fetched = unixFetch(daemon.record.socket!);
  host = connectHost({ fetch: fetched, token, patienceMs: 20_000 });
});

afterEach(async () => {
  faults.allow();
  await daemon.stop({ drainMs: 0 });
  await rm(root, { recursive: true, force: true });
});

async function started(prompt: string): Promise<Reading> {
  const session = await host.start({ workdir: join(root, "work"), prompt, retry: "never" }, {
    adapter: "ticks",
    artifacts: "none",
  });
  const seen: Envelope[] = [];
  const over = (async () => {
    for await (const envelope of session.events()) seen.push(envelope);
  })();
  over.catch(() => {});
  return { id: session.id, seen, over };
}

interface Reading {
  id: string;
  seen: Envelope[];
  over: Promise<void>;
}

/** A request for a session, as any program sends it. */
async function post(): Promise<{ status: number; code: string; detail: string }> {
  const response = await fetched("http://localhost/v1/sessions", {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ workdir: join(root, "work"), prompt: "1", adapter: "ticks", artifacts: "none" }),
  });
  return { status: response.status, ...await response.json() as { code: string; detail: string } };
}

async function logged(): Promise<{ level: string; message: string }[]> {
  const text = await readFile(join(stateDir, "daemon.log"), "utf8");
  return text.trimEnd().split("\n").map((line) => JSON.parse(line) as { level: string; message: string });
}

/** The codes after which a host does not wait for room: it ends its sessions at once. */
describe.each(["ENOSPC", "EIO", "EMFILE", "EACCES", "EROFS"] as const)("%s", (code) => {
  test("sessions end with the cause, none starts, and all that was shown stays; the ends follow, and it serves again", async () => {
    const readings = await Promise.all(Array.from({ length: code === "ENOSPC" ? 10 : 2 }, () => started("2000")));
    await expect.poll(() => readings.every(({ seen }) => seen.length > 4), { timeout: 20_000 }).toBe(true);
    faults.refuse(code, { folder: stateDir });
    const began = performance.now();
    for (const { over } of readings) {
      expect(await errorOf(over)).toMatchObject({
        code: "journal_error",
        message: expect.stringMatching(sentences[code]),
      });
    }
    expect(performance.now() - began).toBeLessThan(12_000);
    expect(await post()).toMatchObject({
      status: 503,
      code: "journal_error",
      detail: expect.stringMatching(sentences[code]),
    });
    expect(await host.refusal()).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(sentences[code]),
    });
    expect((await host.refusal())!.message).not.toContain(root);
    expect(await host.list({ state: "running" })).toEqual([]);
    expect(await host.list()).toHaveLength(readings.length);
    for (const { id, seen } of readings) {
      expect(await host.get(id)).toMatchObject({ state: "ended", outcome: "error" });
      const shown = await host.open(id);
      expect(await shown.result()).toMatchObject({ outcome: "error", error: { code: "journal_error" } });
      // Who resumes meanwhile learns the cause, too.
      expect(await errorOf(collect(shown.events({ after: seen.at(-1)!.seq })))).toMatchObject({
        code: "journal_error",
      });
    }
    faults.allow();
    await expect.poll(() => host.ready(), { timeout: 10_000 }).toBe(true);
    for (const { id, seen } of readings) {
      const all = await collect((await host.open(id)).events());
      expect(all.slice(0, seen.length)).toEqual(seen);
      expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at + 1));
      expect(all.at(-1)!.event).toMatchObject({ type: "session_ended", result: { error: { code: "journal_error" } } });
    }
    const next = await started("1");
    await next.over;
    expect(next.seen.at(-1)!.event).toMatchObject({ type: "session_ended", result: { outcome: "completed" } });
    expect((await daemon.host.verify()).problems).toEqual([]);
    const about = (await logged()).filter(({ message }) => /The state can/.test(message));
    expect(about.map(({ level }) => level)).toEqual(["error", "info"]);
    expect(about[0]!.message).toMatch(sentences[code]);
  });
});

test("a command that runs a session ends with the cause, and status and doctor name it", async () => {
  const cli = async (...args: string[]) => {
    const where = ["--config", join(root, "bulkhead.yaml"), "--state-dir", stateDir];
    const terminal = fakeTerminal({ args: [...args, ...where], cwd: join(root, "work") });
    const code = await runCli(terminal, { createHost });
    return { code, out: terminal.out(), err: terminal.err() };
  };
  const running = [cli("run", "ticks", "2000"), cli("run", "ticks", "2000", "--json")];
  await expect.poll(() => host.list({ state: "running" }).then(({ length }) => length), { timeout: 20_000 }).toBe(2);
  faults.refuse("EIO", { folder: stateDir });
  const [run, json] = await Promise.all(running);
  expect(run).toMatchObject({ code: 1, err: expect.stringMatching(sentences.EIO) });
  expect(run!.err).not.toContain("does not answer");
  expect(json!.code).toBe(1);
  expect(json!.out + json!.err).toMatch(sentences.EIO);
  expect(await cli("status")).toMatchObject({ code: 6, out: expect.stringMatching(sentences.EIO) });
  expect(await cli("doctor")).toMatchObject({ code: 1, out: expect.stringMatching(sentences.EIO) });
  expect(await cli("run", "ticks", "1")).toMatchObject({ code: 1, err: expect.stringMatching(sentences.EIO) });
  const list = await cli("session", "list");
  expect([list.code, list.out.match(/error/g)?.length]).toEqual([0, 2]);
});

test("a session whose beginning cannot be written is refused with the cause, and may be asked for again", async () => {
  const journal = join(stateDir, "host-1", "journal.db");
  faults.refuse("EIO", { folder: journal });
  expect(await post()).toMatchObject({
    status: 503,
    code: "journal_error",
    detail: expect.stringMatching(sentences.EIO),
  });
  expect(await host.ready()).toBe(false);
  faults.allow();
  await expect.poll(() => host.ready(), { timeout: 10_000 }).toBe(true);
  expect(await post()).toMatchObject({ status: 201 });
  expect(await host.list()).toHaveLength(1);
});

test("a state folder that is removed ends the sessions and starts no more, since nobody would find them", async () => {
  const reading = await started("2000");
  await expect.poll(() => reading.seen.length > 4, { timeout: 20_000 }).toBe(true);
  await rm(join(stateDir, "host-1"), { recursive: true });
  expect(await errorOf(reading.over)).toMatchObject({
    code: "journal_error",
    message: expect.stringContaining("is gone"),
  });
  expect(await post()).toMatchObject({ status: 503, code: "journal_error" });
  await mkdir(join(stateDir, "host-1"));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await host.ready()).toBe(false);
});

test("an agent's own folder that refuses says nothing of the state", async () => {
  faults.refuse("EACCES", { folder: join(stateDir, "workspaces") });
  const { writeFile: write } = await import("../../core/ground/platform/files/files.ts");
  await expect(write(join(stateDir, "workspaces", "tree", "a"), "a")).rejects.toMatchObject({ code: "EACCES" });
  expect(await host.ready()).toBe(true);
  expect(await post()).toMatchObject({ status: 201 });
});

async function collect(events: AsyncIterable<Envelope>): Promise<Envelope[]> {
  const all: Envelope[] = [];
  for await (const envelope of events) all.push(envelope);
  return all;
}
