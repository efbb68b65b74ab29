import { execFileSync } from "node:child_process";
import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { bySession, checkSession } from "../session/session-rules.ts";
import { adapterCode, completed, errorOf, openHost, type TestHost, until } from "./test-host.ts";

const write = { manifest: "permissions:\n  write: [workdir]\n  read: [workdir]" };
const grant = { write: ["workdir"], read: ["workdir"] };

function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", cwd, ...args], { env })
    .toString();
}

/** A host whose working directory is a repository with one committed file. */
async function withRepository(): Promise<TestHost> {
  const made = await openHost();
  git(made.workdir, "init", "-q");
  await writeFile(join(made.workdir, "a.txt"), "one\n");
  git(made.workdir, "add", ".");
  git(made.workdir, "commit", "-qm", "first");
  return made;
}

async function run({ host, workdir }: TestHost, adapter: string | string[], request: Partial<SessionRequest> = {}) {
  const session = await host.runSession({ workdir, prompt: "go", workspace: "worktree", ...request }, { adapter });
  const events: Envelope[] = [];
  for await (const envelope of session.events()) events.push(envelope);
  expect(checkSession(events)).toEqual([]);
  return await session.result();
}

describe("a session in a worktree", () => {
  test("of large data says how much was copied", async () => {
    const made = await withRepository();
    await writeFile(join(made.workdir, "big"), "");
    await truncate(join(made.workdir, "big"), 51 * 1024 * 1024);
    await made.add("plain", { code: adapterCode(`    yield ${completed};`) });
    const session = await made.host.runSession(
      { workdir: made.workdir, prompt: "go", workspace: "worktree" },
      { adapter: "plain" },
    );
    const events: Envelope[] = [];
    for await (const envelope of session.events()) events.push(envelope);
    expect(events[0]?.event).toMatchObject({ type: "session_started", copied: { files: 1, bytes: 51 * 1024 * 1024 } });
  });

  test("changes nothing in the person's folder until it is applied", async () => {
    const made = await withRepository();
    await writeFile(join(made.workdir, "a.txt"), "one, edited\n");
    const code = adapterCode(`    const before = await ctx.fs.readText("a.txt");
    await ctx.fs.writeText("a.txt", before + "two\\n");
    await ctx.fs.writeText("b.txt", ctx.workdir);
    yield ${completed};`);
    await made.add("writer", { code, ...write }, { grant });
    const result = await run(made, "writer");
    expect(result).toMatchObject({ outcome: "completed", effective: { workspace: "worktree" } });
    expect(result.artifacts?.map(({ path }) => path).sort()).toEqual(["a.txt", "b.txt"]);
    expect(await readFile(join(made.workdir, "a.txt"), "utf8")).toBe("one, edited\n");
    const { patch } = await made.host.workspaces.diff(result.session_id);
    expect(new TextDecoder().decode(patch)).toContain("+two\n");
    await made.host.workspaces.apply(result.session_id);
    expect(await readFile(join(made.workdir, "a.txt"), "utf8")).toBe("one, edited\ntwo\n");
    expect(await readFile(join(made.workdir, "b.txt"), "utf8")).not.toBe(made.workdir);
    expect(git(made.workdir, "worktree", "list").trim().split("\n")).toHaveLength(1);
  });

  test("is put back before another adapter takes over, whatever was done before", async () => {
    const made = await withRepository();
    const fails = adapterCode(`    yield { type: "tool_call", call_id: "c", tool: "edit", kind: "edit", input: {} };
    await ctx.fs.writeText("a.txt", "spoilt");
    await ctx.fs.writeText("junk.txt", "junk");
    yield { type: "file_change", path: "junk.txt", action: "create" };
    yield { type: "error", code: "unavailable", message: "The agent left.", recoverable: false };`);
    const looks = adapterCode(`    const names = (await ctx.fs.list(".")).filter((name) => name !== ".git").sort();
    yield { type: "output", stream: "stdout", data: JSON.stringify([names, await ctx.fs.readText("a.txt")]) };
    yield ${completed};`);
    await made.add("fails", { code: fails, ...write }, { grant });
    await made.add("looks", { code: looks, ...write }, { grant });
    const result = await run(made, ["fails", "looks"]);
    expect(result).toMatchObject({
      outcome: "completed",
      artifacts: [],
      claimed_only: [],
      substitutions: [{ to: "looks" }],
    });
    expect(JSON.parse(result.output)).toEqual([["a.txt"], "one\n"]);
    // Nothing was changed in the end, so nothing waits for a decision.
    expect(git(made.workdir, "worktree", "list").trim().split("\n")).toHaveLength(1);
  });

  test("that floods it with files lists those that matter first, counts the others, and knows all claims", async () => {
    const made = await withRepository();
    const code = adapterCode(
      `    const flood = "echo two > a.txt; mkdir many; seq 10020 | sed s,^,many/, | xargs touch";
    const child = await ctx.run("sh", ["-c", flood]);
    await child.exit;
    for (const path of ["many/9999", "never"]) yield { type: "file_change", path, action: "create" };
    yield ${completed};`,
    );
    const permissions = { run: [{ binary: "sh", args: ["-c {}"] }], read: ["workdir"], write: ["workdir"] };
    await made.add("floods", { code, manifest: `permissions: ${JSON.stringify(permissions)}` }, { grant: permissions });
    const result = await run(made, "floods");
    expect(result.artifacts).toHaveLength(10_000);
    expect(result.artifacts![0]).toMatchObject({ path: "a.txt", change: "modified" });
    expect(result).toMatchObject({ artifacts_omitted: 21, claimed_only: ["never"] });
    const { artifacts, artifacts_omitted } = await made.host.workspaces.diff(result.session_id);
    expect([artifacts.length, artifacts_omitted]).toEqual([10_000, 21]);
  }, 120_000);

  test("that cannot start leaves no worktree behind", async () => {
    const made = await withRepository();
    await made.add("plain", { code: adapterCode(`    yield ${completed};`) });
    const error = await errorOf(run(made, "plain", { budget: { cost: 1 } }));
    expect(error.code).toBe("unenforceable");
    expect(git(made.workdir, "worktree", "list").trim().split("\n")).toHaveLength(1);
    expect((await made.host.workspaces.list()).filter(({ state }) => state === "open")).toEqual([]);
  });
});

test("two sessions in one folder are each told of the other", async () => {
  const made = await withRepository();
  const code = adapterCode(`    await ctx.sleep(300);\n    yield ${completed};`);
  await made.add("slow", { code });
  const [one, two] = await Promise.all([
    run(made, "slow", { workspace: "inplace" }),
    run(made, "slow", { workspace: "inplace" }),
  ]);
  expect(one.artifacts_shared_with).toEqual([two.session_id]);
  expect(two.artifacts_shared_with).toEqual([one.session_id]);
  expect((await run(made, "slow", { workspace: "inplace" })).artifacts_shared_with).toBeUndefined();
});

test("two sessions of two hosts of one state folder are told of each other as well", async () => {
  const made = await withRepository();
  const code = adapterCode(`    yield { type: "progress", message: "here" };
    await ctx.sleep(600);
    yield ${completed};`);
  await made.add("slow", { code });
  const other = await openHost({ root: made.root });
  await other.host.registry.register(join(made.root, "packages", "slow"));
  const inplace = { workspace: "inplace" } as const;
  const [one, two] = await Promise.all([run(made, "slow", inplace), run(other, "slow", inplace)]);
  expect(one.artifacts_shared_with).toEqual([two.session_id]);
  expect(two.artifacts_shared_with).toEqual([one.session_id]);
  expect((await run(other, "slow", inplace)).artifacts_shared_with).toBeUndefined();
  await until(async () => (await readdir(join(made.stateDir, "active"))).length === 0);
  await other.host.close();
});

test("its worktree may be decided over by whoever has seen its last event", async () => {
  const made = await withRepository();
  const code = adapterCode(`    await ctx.fs.writeText("b.txt", "x");\n    yield ${completed};`);
  await made.add("writer", { code, ...write }, { grant });
  for (const decide of ["apply", "discard"] as const) {
    const session = await made.host.runSession({ workdir: made.workdir, prompt: "go", workspace: "worktree" }, {
      adapter: "writer",
    });
    let decided = false;
    for await (const { event } of session.events()) {
      if (event.type !== "session_ended") continue;
      await made.host.workspaces[decide](session.id);
      decided = true;
    }
    expect(decided).toBe(true);
  }
});

test("a session that runs is still not decided over", async () => {
  const made = await withRepository();
  await made.add("slow", { code: adapterCode(`    await ctx.sleep(60_000);`) });
  const session = await made.host.runSession({ workdir: made.workdir, prompt: "go", workspace: "worktree" }, {
    adapter: "slow",
  });
  expect(await errorOf(made.host.workspaces.discard(session.id))).toMatchObject({ code: "busy" });
  await session.interrupt();
});

test("a host that is closed while a worktree is made leaves none, and starts nothing in it", async () => {
  const made = await withRepository();
  await made.add("slow", { code: adapterCode(`    await ctx.sleep(60_000);`) });
  const request = { workdir: made.workdir, prompt: "go", workspace: "worktree" } as const;
  const starting = made.host.runSession(request, { adapter: "slow" }).then(() => "started", ({ code }) => code);
  const places = join(made.stateDir, "workspaces");
  await until(async () => (await readdir(places).catch(() => [])).length > 0);
  await made.host.close();
  expect(await Promise.race([starting, Promise.resolve("still starting")])).toBe("host_closed");
  expect(git(made.workdir, "worktree", "list").trim().split("\n")).toHaveLength(1);
  const kept = await readdir(places, { recursive: true });
  expect(kept.filter((name) => name.endsWith("a.txt"))).toEqual([]);
});

test("a session that is interrupted while its worktree is made says so", async () => {
  const made = await withRepository();
  await made.add("slow", { code: adapterCode(`    await ctx.sleep(60_000);`) });
  const controller = new AbortController();
  const starting = made.host.runSession({ workdir: made.workdir, prompt: "go", workspace: "worktree" }, {
    adapter: "slow",
    signal: controller.signal,
  });
  const places = join(made.stateDir, "workspaces");
  const refused = errorOf(starting);
  await until(async () => (await readdir(places).catch(() => [])).length > 0);
  controller.abort();
  expect(await refused).toMatchObject({ code: "interrupted" });
});

describe("host.runAll()", () => {
  const writes = (text: string) => ({
    code: adapterCode(`    await ctx.fs.writeText("a.txt", "${text}");
    await ctx.fs.writeText(${JSON.stringify(`by-${text}.txt`)}, "x\\ny\\n");
    yield ${completed};`),
    ...write,
  });

  test("runs one prompt on several adapters, each in its own worktree, and compares them", async () => {
    const made = await withRepository();
    for (const id of ["alpha", "beta"]) await made.add(id, writes(id), { grant });
    await made.add("gamma", { code: adapterCode(`    yield ${completed};`), manifest: "models: [other]" });
    const all = await made.host.runAll({ workdir: made.workdir, prompt: "go", labels: { a: "b" } }, {
      adapters: ["alpha", "beta", "nobody"],
    });
    const events: Envelope[] = [];
    for await (const envelope of all) events.push(envelope);
    for (const own of bySession(events).values()) expect(checkSession(own)).toEqual([]);
    expect(bySession(events).size).toBe(2);
    expect(all.passed_over).toMatchObject([{ adapter_id: "nobody" }]);
    const { sessions, overlapping_files } = await all.comparison;
    expect(sessions).toMatchObject([
      { adapter_id: "alpha", outcome: "completed", files_changed: 2, lines_added: 3, lines_removed: 1 },
      { adapter_id: "beta", outcome: "completed", files_changed: 2, lines_added: 3, lines_removed: 1 },
    ]);
    expect(overlapping_files).toMatchObject([{ path: "a.txt", same: false }]);
    expect((await readdir(made.workdir)).sort()).toEqual([".git", "a.txt"]);
  });

  test("without a list takes all that are available, and refuses when nobody can", async () => {
    const made = await withRepository();
    for (const id of ["alpha", "beta"]) await made.add(id, writes(id), { grant });
    const all = await made.host.runAll({ workdir: made.workdir, prompt: "go" });
    expect(all.sessions).toHaveLength(2);
    await all.comparison;
    const none = made.host.runAll({ workdir: made.workdir, prompt: "go" }, { require: { code_review: true } });
    expect((await errorOf(none)).code).toBe("unavailable");
  });

  test("an empty list is refused with a reason", async () => {
    const made = await withRepository();
    const none = made.host.runAll({ workdir: made.workdir, prompt: "go" }, { adapters: [] });
    expect(await errorOf(none)).toMatchObject({ code: "unknown_adapter" });
  });
});

describe("a session that goes on from one in a worktree", () => {
  /** Adds a line to one file, and says what it read in it. */
  const adds = adapterCode(`    const before = await ctx.fs.readText("talk.txt").catch(() => "");
    const word = request.prompt.split("\\n").at(-1);
    await ctx.fs.writeText("talk.txt", before + word + "\\n");
    if (word === "wait") await ctx.sleep(1e8);
    yield { type: "completed", success: true, output: before, files_changed: [], tokens_used: null, cost: null };`);

  async function talk(made: TestHost, id: string, text: string, more: Partial<NewMessage> = {}) {
    const content: NewMessage["content"] = [{ type: "text", text }];
    const { session_id } = await made.host.sessions.conversations.say(id, { content, ...more });
    return { id: session_id, result: await (await made.host.sessions.open(session_id)).result() };
  }

  async function begun(): Promise<{ made: TestHost; id: string }> {
    const made = await withRepository();
    await made.add("adds", { code: adds, ...write }, { grant });
    const { session_id } = await run(made, "adds", { prompt: "one" });
    return { made, id: session_id };
  }

  test("works in the same worktree, and has changes of its own", async () => {
    const { made, id } = await begun();
    const next = await talk(made, id, "two");
    expect(next.result).toMatchObject({ output: "one\n", artifacts: [{ path: "talk.txt", change: "modified" }] });
    const [only, ...others] = await made.host.workspaces.list();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ session_id: id, later_sessions: [next.id], state: "open", running: false });
    const patches = await Promise.all([id, next.id].map(async (one) => (await made.host.workspaces.diff(one)).patch));
    expect(patches[0]).toEqual(patches[1]);
    expect(await made.host.workspaces.apply(next.id)).toMatchObject({ artifacts: [{ path: "talk.txt" }] });
    expect(await readFile(join(made.workdir, "talk.txt"), "utf8")).toBe("one\ntwo\n");
  });

  test("begins in a fresh one where the changes were applied or discarded", async () => {
    const { made, id } = await begun();
    await made.host.workspaces.apply(id);
    const next = await talk(made, id, "two");
    // What was applied is in the source, which is copied.
    expect(next.result.output).toBe("one\n");
    await made.host.workspaces.discard(next.id);
    expect((await talk(made, next.id, "three")).result.output).toBe("one\n");
    expect((await made.host.workspaces.list()).map(({ state }) => state)).toEqual(["applied", "discarded", "open"]);
  });

  test("keeps the worktree while it runs, from every session's id, and when nothing comes of it", async () => {
    const { made, id } = await begun();
    const { conversations } = made.host.sessions;
    const said = await conversations.say(id, { content: [{ type: "text", text: "wait" }] });
    const folder = (await made.host.workspaces.list())[0]!.folder;
    await until(async () => (await readFile(join(folder, "talk.txt"), "utf8")).includes("wait"));
    for (const one of [id, said.session_id]) {
      expect(await errorOf(made.host.workspaces.apply(one))).toMatchObject({ code: "busy" });
      expect(await errorOf(made.host.workspaces.discard(one))).toMatchObject({ code: "busy" });
    }
    await (await made.host.sessions.open(said.session_id)).interrupt();
    await until(async () => (await made.host.workspaces.list())[0]?.running === false);
    const gone = await errorOf(
      conversations.say(id, { content: [{ type: "text", text: "x" }], with: { agent: "no" } }),
    );
    expect(gone).toMatchObject({ code: "unknown_adapter" });
    expect((await talk(made, id, "two")).result.output).toBe("one\nwait\n");
  });

  test("that is kept ends in order when its changes are applied", async () => {
    const { made, id } = await begun();
    const { conversations } = made.host.sessions;
    const kept: NewMessage = { content: [{ type: "text", text: "two" }], with: { keep_ms: 60_000 } };
    const { session_id } = await conversations.say(id, kept);
    await until(async () => (await conversations.get(id)).state === "kept");
    await made.host.workspaces.apply(id);
    expect(await readFile(join(made.workdir, "talk.txt"), "utf8")).toBe("one\ntwo\n");
    expect(await (await made.host.sessions.open(session_id)).result()).toMatchObject({ stop_reason: "end_turn" });
  });

  test("is never tried again over the work of the sessions before it", async () => {
    const { made, id } = await begun();
    const code = adapterCode(`    await ctx.fs.writeText("talk.txt", "mine");
    yield { type: "error", code: "provider_error", message: "away", retryable: true };`);
    await made.add("fails", { code, ...write }, { grant });
    const next = await talk(made, id, "two", { with: { agent: "fails", retry: "safe" } });
    expect(next.result).toMatchObject({ outcome: "error" });
    expect((await made.host.sessions.history(next.id)).attempts).toHaveLength(1);
  });

  test("says so where a person removed the worktree", async () => {
    const { made, id } = await begun();
    const folder = (await made.host.workspaces.list())[0]!.folder;
    await rm(folder, { recursive: true });
    const failed = await errorOf(talk(made, id, "two"));
    expect(failed).toMatchObject({ code: "workdir_missing", hint: expect.stringContaining(`discard ${id}`) });
    await made.host.workspaces.discard(id);
    expect((await talk(made, id, "three")).result.output).toBe("");
  });
});
