import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { loadHostManifest } from "bulkhead";
import { describe, expect, it } from "vitest";
import { neutralKind } from "../../../plugin-sdk/normalise.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { recordSession } from "../../../core/sessions/host/state/record.ts";
import type { Envelope, HostEvent } from "../../../plugin-sdk/envelope.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { execGit } from "../../records/git/git-fixture.ts";
import { adapterCode, closeHosts, completed, errorOf, openHost, type TestHost } from "./test-host.ts";

/** An agent that does all kinds of things. */
const busy = adapterCode(`
    await ctx.fs.writeText("changed.txt", "changed\\n");
    yield { type: "thinking", content: "What now?" };
    yield { type: "tool_call", call_id: "c1", tool: "Write", kind: "edit", input: { path: "new.txt" } };
    await ctx.fs.writeText("sub/new.txt", "new\\n");
    await ctx.sleep(40);
    yield { type: "tool_result", call_id: "c1", tool: "Write", output: "done", success: true, duration_ms: 1 };
    yield { type: "file_change", path: ctx.workdir + "/sub/new.txt", action: "create" };
    await ctx.fs.writeBase64("image.bin", "AP8BgA==");
    await ctx.fs.writeText("moved.txt", await ctx.fs.readText("old.txt"));
    await ctx.fs.remove("old.txt");
    await ctx.fs.remove("gone.txt");
    yield { type: "output", stream: "stdout", data: "Done.\\n" };
    yield { type: "usage", scope: "session", tokens_in: 5, tokens_out: 6, tokens_cached: null, cost: null };
    yield { type: "completed", success: true, output: "Done.", files_changed: [ctx.workdir + "/sub/new.txt", "never.txt"],
      tokens_used: null, cost: null };
`);

const permissions = "permissions:\n  read: [workdir]\n  write: [workdir]\n";
const grant = { read: ["workdir"], write: ["workdir"] };

async function repository(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "changed.txt"), "before\n");
  await writeFile(join(folder, "old.txt"), "a file of some length that is moved\n".repeat(20));
  await writeFile(join(folder, "gone.txt"), "gone\n");
  execGit(folder, ["init", "-q"]);
  execGit(folder, ["add", "-A"]);
  execGit(folder, ["commit", "-q", "-m", "first"]);
  return folder;
}

async function session(
  { host }: TestHost,
  { adapter, workdir, params }: { adapter: string; workdir: string; params?: Record<string, unknown> },
): Promise<{ id: string; result: SessionResult; said: AdapterEvent[]; times: number[] }> {
  const run = await host.runSession({ workdir, prompt: "go", ...(params ? { params } : {}) }, { adapter });
  const said: AdapterEvent[] = [];
  const times: number[] = [];
  for await (const { source, event, ts } of run.events()) {
    if (source !== "agent") continue;
    said.push(event as AdapterEvent);
    times.push(Date.parse(ts));
  }
  return { id: run.id, result: await run.result(), said, times };
}

async function replayer(): Promise<TestHost> {
  const { fileURLToPath } = await import("node:url");
  const at = await openHost();
  const replay = fileURLToPath(new URL("../../../plugins/replay/", import.meta.url));
  await at.host.registry.register(replay, { grant: { read: ["plugin", "workdir", at.root], write: ["workdir"] } });
  return at;
}

describe("host.record", () => {
  it("writes what the replay plugin plays back to the same events and the same artifacts", async () => {
    const at = await replayer();
    await at.add("busy", { code: busy, manifest: permissions }, { grant });
    const first = await session(at, { adapter: "busy", workdir: await repository(join(at.root, "one")) });
    expect(first.result.outcome).toBe("completed");
    const second = await repository(join(at.root, "two"));
    const file = join(second, ".git", "recording.jsonl");
    const report = await at.host.record(first.id, file);
    expect(report).toMatchObject({ session_id: first.id, file, events: 7, files: 5, left_out: [] });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(file)).size).toBe(report.bytes);

    const again = await session(at, { adapter: "replay", workdir: second, params: { recording: file } });
    expect(again.result.outcome).toBe("completed");
    expect(again.said.map(neutralKind)).toEqual(first.said.map(neutralKind));
    expect(again.said.map(({ type }) => type)).toEqual(first.said.map(({ type }) => type));
    expect(first.result.artifacts).toHaveLength(5);
    expect(again.result.artifacts).toEqual(first.result.artifacts);
    expect(again.result.claimed_only).toEqual(first.result.claimed_only);
    expect(again.result.claimed_only).toEqual(["never.txt"]);
    expect([again.result.output, again.result.usage.tokens_in]).toEqual([first.result.output, 5]);
    // The pause in the middle is there again.
    expect((again.times[2] ?? 0) - (again.times[1] ?? 0)).toBeGreaterThanOrEqual(25);
    expect(new Uint8Array(await readFile(join(second, "image.bin")))).toEqual(new Uint8Array([0, 255, 1, 128]));
  }, 120_000);

  it("puts a change before the word that tells of it, and nothing after the last word", async () => {
    const at = await replayer();
    await at.add("busy", { code: busy, manifest: permissions }, { grant });
    const { id } = await session(at, { adapter: "busy", workdir: await repository(join(at.root, "one")) });
    const file = join(at.root, "r.jsonl");
    await at.host.record(id, file);
    const rows = (await readFile(file, "utf8")).trim().split("\n").map((line) => JSON.parse(line));
    const told = rows.findIndex(({ event }) => event?.type === "file_change");
    expect(rows[told - 1]).toMatchObject({ write: { path: "sub/new.txt", text: "new\n" } });
    expect(rows[told].event.path).toBe("sub/new.txt");
    expect(rows.at(-1).event).toMatchObject({ type: "completed", files_changed: ["sub/new.txt", "never.txt"] });
    expect(rows.map(({ at_ms }) => at_ms)).toEqual(rows.map(({ at_ms }) => at_ms).toSorted((a, b) => a - b));
  });

  it("says what it leaves out: links, other files, large ones, and what was changed since", async () => {
    const at = await openHost();
    await at.add("quiet", { code: adapterCode(`await ctx.sleep(400); yield ${completed};`) });
    const workdir = await repository(join(at.root, "one"));
    const running = await at.host.runSession({ workdir, prompt: "go" }, { adapter: "quiet" });
    expect(await errorOf(at.host.record(running.id, join(at.root, "r.jsonl")))).toMatchObject({ code: "busy" });
    for await (const { event } of running.events()) if (event.type === "attempt_started") break;
    await symlink("gone.txt", join(workdir, "link"));
    await writeFile(join(workdir, "big.txt"), "x".repeat(2 * 1024 * 1024));
    await writeFile(join(workdir, ".npmrc"), "x");
    await writeFile(join(workdir, "line\nbreak"), "x");
    await writeFile(join(workdir, "later.txt"), "x");
    await writeFile(join(workdir, "fine.txt"), "x");
    expect((await running.result()).artifacts).toHaveLength(6);
    await writeFile(join(workdir, "later.txt"), "y");
    const { left_out, files } = await at.host.record(running.id, join(at.root, "r.jsonl"));
    expect(files).toBe(1);
    expect(left_out).toEqual([
      { path: ".npmrc", reason: expect.stringContaining('act on ".npmrc" by themselves') },
      { path: "big.txt", reason: "it has 2097152 bytes" },
      { path: "later.txt", reason: "it was changed since" },
      { path: "line\nbreak", reason: "its name holds characters that adapters may not use" },
      { path: "link", reason: "it is a symlink" },
    ]);
  });

  it("never holds a secret: neither in an event nor in a file", async (context) => {
    await needsWall(context, "bubblewrap");
    const value = "sk-live-0123456789abcdef";
    const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-host-")));
    const script = join(root, "leak.mjs");
    await writeFile(
      script,
      `import { writeFileSync } from "node:fs";
      writeFileSync("key.txt", "the key is " + process.env.API_KEY);
      console.log("the key is " + process.env.API_KEY);`,
    );
    await writeFile(join(root, "key"), value);
    const config = join(root, "bulkhead.yaml");
    await writeFile(
      config,
      `bulkhead: 1
secrets: { KEY: "file:${join(root, "key")}" }
tools:
  leaky:
    binary: ${JSON.stringify(process.execPath)}
    command_template: '{binary} ${process.versions["deno"] ? "run -A " : ""}${script}'
    env_vars: { API_KEY: "\${secret:KEY}" }
`,
    );
    const manifest = (await loadHostManifest({ config, from: root }))!;
    const at = await openHost({ root, manifest });
    const { id, result } = await session(at, { adapter: "leaky", workdir: await repository(join(root, "one")) });
    expect(result.artifacts?.map(({ path }) => path)).toEqual(["key.txt"]);
    const file = join(root, "r.jsonl");
    const { left_out } = await at.host.record(id, file);
    expect(left_out).toEqual([{ path: "key.txt", reason: "it holds a secret" }]);
    const text = await readFile(file, "utf8");
    expect(text).toContain("the key is [redacted KEY]");
    expect(text).not.toContain(value);
    await closeHosts();
    await rm(root, { recursive: true });
  });

  it("writes over a file only when told to, leaves no draft, and refuses what it cannot write", async () => {
    const at = await openHost();
    await at.add("quiet", { code: adapterCode(`yield ${completed};`) });
    const { id } = await session(at, { adapter: "quiet", workdir: at.workdir });
    const file = join(at.root, "r.jsonl");
    await writeFile(file, "mine");
    expect(await errorOf(at.host.record(id, file))).toMatchObject({ code: "already_exists" });
    expect(await readFile(file, "utf8")).toBe("mine");
    await at.host.record(id, file, { force: true });
    expect(await readFile(file, "utf8")).toMatch(/^\{"at_ms":\d+,"event":\{"type":"completed"/);
    expect((await errorOf(at.host.record(id, join(at.root, "no", "folder")))).code).toBe("io_error");
    expect((await errorOf(at.host.record("unknown", file))).code).toBe("not_found");
    expect((await readdir(at.root)).filter((name) => name.includes(".tmp"))).toEqual([]);
  });
});

/** Answers each turn; takes one word into the second. */
const talker = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "output", stream: "stdout", data: turn.number + " " + turn.prompt };
      if (turn.number === 2) {
        for await (const { message_id, text } of turn.messages) {
          yield { type: "message", message_id, state: "taken" };
          yield { type: "output", stream: "stdout", data: ", " + text };
          break;
        }
      }
      yield { type: "completed", success: true, output: "said " + turn.number, files_changed: [], tokens_used: null, cost: null };
    }`);

describe("a recording of several turns", () => {
  const say = (text: string) => ({ content: [{ type: "text" as const, text }] });

  /** Talks over three turns, with a word into the second; returns what the agent said. */
  async function talk(
    { host, workdir }: TestHost,
    { adapter, words, params }: { adapter: string; words: string[]; params?: Record<string, unknown> },
  ): Promise<{ id: string; outcomes: string[]; said: string[]; taken: string[] }> {
    const [prompt = "", second = "", steer = "", third = ""] = words;
    const request = { workdir, prompt, keep_ms: 60_000, ...(params ? { params } : {}) };
    const run = await host.runSession(request, { adapter, artifacts: "none" });
    const { conversations } = host.sessions;
    const [outcomes, said, taken]: string[][] = [[], [], []];
    for await (const { event } of run.events()) {
      if (event.type === "output") said!.push(event.data);
      if (event.type === "message_delivered") taken!.push(`${event.how} ${event.turn}`);
      if (event.type === "turn_started" && event.turn === 2) {
        await conversations.say(run.id, { ...say(steer), delivery: "steer" });
        await conversations.say(run.id, say(third));
      }
      if (event.type !== "turn_ended") continue;
      outcomes!.push(`${event.turn} ${event.outcome} ${event.error?.message ?? event.output}`);
      if (event.turn === 3 || event.outcome === "error") void run.interrupt();
      else if (event.turn === 1) await conversations.say(run.id, say(second));
    }
    return { id: run.id, outcomes: outcomes!, said: said!, taken: taken! };
  }

  it("is played turn by turn, with the word into one, and says DRIFT for other words", async () => {
    const at = await replayer();
    await at.add("talker", { code: talker, manifest: "accepts: [turns, steer]" });
    const words = ["one", "two", "quickly", "three"];
    const first = await talk(at, { adapter: "talker", words });
    expect(first).toMatchObject({
      outcomes: ["1 completed said 1", "2 completed said 2", "3 completed said 3"],
      said: ["1 one", "2 two", ", quickly", "3 three"],
      taken: ["new_turn 2", "injected 2", "new_turn 3"],
    });
    const file = join(at.workdir, "talk.jsonl");
    await at.host.record(first.id, file);
    const rows = (await readFile(file, "utf8")).trim().split("\n").map((line) => JSON.parse(line));
    expect(rows.flatMap(({ turn, steer }) => turn ?? (steer === undefined ? [] : `steer ${steer}`)))
      .toEqual(["two", "steer quickly", "three"]);
    const params = { recording: file, speed: 0 };
    const again = await talk(at, { adapter: "replay", words, params });
    expect(again).toEqual({ ...first, id: again.id });
    const drift = async (other: string[]) => (await talk(at, { adapter: "replay", words: other, params })).outcomes[1];
    expect(await drift(["one", "else", "quickly", "three"])).toBe(
      '2 error DRIFT: turn 2 begins with "else", and was recorded with "two".',
    );
    expect(await drift(["one", "two", "slowly", "three"])).toBe(
      '2 error DRIFT: turn 2 gets "slowly", and was recorded with "quickly".',
    );
    // What the agent did without them stays playable: a session that is not kept ends with its first turn.
    const alone = await session(at, { adapter: "replay", workdir: at.workdir, params });
    expect(alone.result).toMatchObject({ outcome: "completed", output: "said 1" });
  }, 120_000);
});

it("tells that a recording lacks the changes that a session's list left out", async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-host-")));
  try {
    const events = [
      { type: "session_started", workdir: root },
      { type: "artifacts", artifacts: [], omitted: 21 },
      { type: "session_ended" },
    ] as unknown as HostEvent[];
    const envelopes = events.map((event, index): Envelope => ({
      v: 1,
      seq: index + 1,
      gseq: index + 1,
      ts: new Date(0).toISOString(),
      session_id: "s",
      attempt: 1,
      adapter: { id: "a", version: "1.0.0" },
      source: "host",
      event,
    }));
    const journal = { read: ({ after }: { after: number }) => Promise.resolve(envelopes.slice(after)) };
    const deps = { journal, isRunning: () => false, redactorOf: () => Promise.resolve(null) };
    const report = await recordSession(deps, { sessionId: "s", file: join(root, "recording.jsonl") });
    expect(report.left_out).toEqual([{ path: ".", reason: "the session's list leaves out 21 more changes" }]);
  } finally {
    await rm(root, { recursive: true });
  }
});
