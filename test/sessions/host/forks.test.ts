import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ForkRequest, NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { adapterCode, errorOf, openHost, type TestHost, until } from "./test-host.ts";

/**
 * An agent with sessions of its own: each has a name, keeps its prompts in a file of the agent's, and can be copied up to a
 * turn, which is named by its number.
 */
const remembers = adapterCode(`
    const read = async (id) => JSON.parse(await ctx.kv.get(id) ?? "[]");
    let id = request.continue_from;
    let known = id === undefined ? [] : await read(id);
    if (id === undefined || request.fork !== undefined) {
      if (request.fork?.at !== undefined) known = known.slice(0, Number(request.fork.at));
      id = "s" + (Number(await ctx.kv.get("last") ?? 0) + 1);
      await ctx.kv.set("last", id.slice(1));
    }
    yield { type: "agent_info", agent_session_id: id };
    for await (const turn of ctx.turns) {
      const output = known.concat(turn.prompt).join(" ");
      known.push(turn.prompt);
      await ctx.kv.set(id, JSON.stringify(known));
      if (turn.prompt === "wait") await ctx.sleep(1e8);
      yield { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null,
        agent_ref: String(known.length) };
    }`);

const forgets = adapterCode(`
    const output = "[" + request.prompt + "]";
    yield { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null };`);

/** Each turn writes `<turn>.txt`, and adds a line to `all.txt`. */
const writes = adapterCode(`
    for await (const turn of ctx.turns) {
      const all = await ctx.fs.readText("all.txt").catch(() => "");
      await ctx.fs.writeText("all.txt", all + turn.number + "\\n");
      await ctx.fs.writeText(turn.number + ".txt", turn.prompt);
      yield { type: "completed", success: true, output: turn.prompt, files_changed: [], tokens_used: null, cost: null };
    }`);

const kv = "permissions: { kv: true }\n";

async function made(): Promise<TestHost> {
  const setting = await openHost();
  const own = { grant: { kv: true } };
  await setting.add("copies", {
    code: remembers,
    manifest: `${kv}accepts: [continue_from, fork, continue_at, turns, model]`,
  }, own);
  await setting.add("whole", { code: remembers, manifest: `${kv}accepts: [continue_from, fork, turns]` }, own);
  await setting.add("continues", { code: remembers, manifest: `${kv}accepts: [continue_from, turns]` }, own);
  await setting.add("forgets", { code: forgets });
  return setting;
}

/** A conversation of three turns, in one session or, without `keep_ms`, in three. */
async function talked(setting: TestHost, adapter: string, request: Partial<SessionRequest> = {}): Promise<string> {
  const { host, workdir } = setting;
  const { id } = await host.runSession({ workdir, prompt: "one", ...request }, { adapter });
  for (const words of ["two", "three"]) await said(setting, id, words);
  return id;
}

async function said(setting: TestHost, id: string, words: string, more: Partial<NewMessage> = {}): Promise<string> {
  await resting(setting, id);
  const content: NewMessage["content"] = [{ type: "text", text: words }];
  const { session_id } = await setting.host.sessions.conversations.say(id, { content, ...more });
  await resting(setting, id);
  return session_id;
}

async function resting({ host }: TestHost, id: string): Promise<void> {
  await until(async () => {
    const { state, pending } = await host.sessions.conversations.get(id);
    return state !== "working" && pending.length === 0;
  });
}

async function forked(setting: TestHost, id: string, request: ForkRequest = {}): Promise<string> {
  const { session_id } = await setting.host.sessions.conversations.fork(id, request);
  await resting(setting, session_id);
  return session_id;
}

async function startOf({ host }: TestHost, id: string) {
  for await (const { event } of (await host.sessions.open(id)).events()) {
    if (event.type === "session_started") return event;
  }
  throw new Error("It has no beginning.");
}

async function outputOf({ host }: TestHost, id: string): Promise<string> {
  const handle = await host.sessions.open(id);
  if ((await host.sessions.get(id)).state === "running") await handle.interrupt();
  return (await handle.result()).output;
}

describe.each([["in one session", 60_000], ["in three sessions", 0]])("a fork of a conversation %s", (_, keep_ms) => {
  test("knows the turns up to one by the agent's own copy, and the conversation stays as it is", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const id = await talked(setting, "copies", { keep_ms, checkpoints: false });
    const summary = await conversations.fork(id, { at: 2, prompt: "other" }).catch((error) => error);
    // In place, at the newest turn alone.
    expect(summary).toMatchObject({ code: "not_found", message: expect.stringContaining("turn 2") });
    const traceparent = (span: string) => `00-${"a".repeat(32)}-${span.repeat(16)}-01`;
    const wish = { prompt: "other", message_id: "m1" };
    const fork = await forked(setting, id, { ...wish, traceparent: traceparent("b") });
    // A call that is repeated may have another span.
    expect(await forked(setting, id, { ...wish, traceparent: traceparent("c") })).toBe(fork);
    expect(await startOf(setting, fork)).toMatchObject({
      requested: { continue_from: "s1", fork: { at: "3" }, traceparent: traceparent("b") },
      follows: { conversation_id: fork, turn: 3, why: "fork", memory: "agent", message: { message_id: "m1" } },
    });
    expect(await conversations.get(fork)).toMatchObject({ conversation_id: fork, turn: 4 });
    expect(await outputOf(setting, fork)).toBe("one two three other");
    const next = await said(setting, fork, "more");
    expect(await outputOf(setting, next)).toBe("one two three other more");
    expect(await outputOf(setting, await said(setting, id, "four"))).toBe("one two three four");
  });

  test("of an agent that cannot copy, or another one, is a briefing", async () => {
    const setting = await made();
    const id = await talked(setting, "continues", { keep_ms });
    for (const request of [{}, { agent: "forgets" }, { agent: "copies" }] satisfies ForkRequest[]) {
      const fork = await forked(setting, id, { prompt: "other", ...request });
      const { requested, follows } = await startOf(setting, fork);
      expect(requested).not.toHaveProperty("continue_from");
      expect(follows).toMatchObject({ conversation_id: fork, turn: 3, why: "fork", memory: "briefing" });
      const output = await outputOf(setting, fork);
      for (const words of ["one", "two", "three", "other"]) expect(output).toContain(words);
    }
  });

  test("without a prompt waits for its first message, and knows the turns then", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const id = await talked(setting, "copies", { keep_ms });
    const fork = await forked(setting, id);
    expect(await conversations.get(fork)).toMatchObject({ state: "ended", turn: 3, turns: [] });
    expect((await startOf(setting, fork)).requested.continue_from).toBeUndefined();
    const next = await said(setting, fork, "other");
    expect(await startOf(setting, next)).toMatchObject({
      requested: { continue_from: "s1", fork: { at: "3" } },
      follows: { conversation_id: fork, session_id: fork, turn: 3, why: "message", memory: "agent" },
    });
    expect(await outputOf(setting, next)).toBe("one two three other");
    // A briefing of the fork tells the turns of the conversation that it comes from.
    const briefed = await said(setting, fork, "again", { with: { agent: "forgets" } });
    expect(await outputOf(setting, briefed)).toMatch(/"one".*"two".*"three".*"other"/s);
  });
});

describe("a fork", () => {
  test("of an agent that copies its sessions as a whole is one at the newest turn, while none other goes on with it", async () => {
    const setting = await made();
    const id = await talked(setting, "whole");
    const fork = await forked(setting, id, { prompt: "other" });
    expect((await startOf(setting, fork)).requested).toMatchObject({ continue_from: "s1", fork: {} });
    expect(await outputOf(setting, fork)).toBe("one two three other");
  });

  test("is made once for a message id, and refused for another wish", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const id = await talked(setting, "copies");
    const first = await forked(setting, id, { prompt: "other", message_id: "m" });
    await said(setting, id, "four");
    expect(await forked(setting, id, { prompt: "other", message_id: "m" })).toBe(first);
    expect(await forked(setting, id, { prompt: "other" })).not.toBe(first);
    expect(await errorOf(conversations.fork(id, { prompt: "else", message_id: "m" }))).toMatchObject({
      code: "idempotency_conflict",
    });
  });

  test("is refused at a turn that is not there, or runs", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const id = await talked(setting, "copies", { keep_ms: 60_000 });
    expect(await errorOf(conversations.fork(id, { at: 9 }))).toMatchObject({ code: "not_found" });
    expect(await errorOf(conversations.fork("none", {}))).toMatchObject({ code: "not_found" });
    await conversations.say(id, { content: [{ type: "text", text: "wait" }] });
    await until(async () => (await conversations.get(id)).turn === 4);
    expect(await errorOf(conversations.fork(id, { at: 4 }))).toMatchObject({ code: "busy" });
    // The newest turn that is over.
    const fork = await forked(setting, id, { prompt: "other" });
    expect((await startOf(setting, fork)).follows?.turn).toBe(3);
    expect(await outputOf(setting, fork)).toBe("one two three other");
    await (await setting.host.sessions.open(id)).interrupt();
  });

  test("has the caller's admission, and the turn's own request otherwise", async () => {
    const setting = await made();
    const { conversations } = setting.host.sessions;
    const id = await talked(setting, "copies", { labels: { team: "a" }, budget: { turns: 9 }, best_effort: true });
    const asked: SessionRequest[] = [];
    const admit = (request: SessionRequest) => {
      asked.push(request);
      return { ...request, budget: { turns: 2 } };
    };
    const { session_id } = await conversations.fork(id, { prompt: "x", model: "m" }, { client: "ann", admit });
    expect(asked).toMatchObject([{ prompt: "x", model: "m", labels: { team: "a" }, budget: { turns: 9 } }]);
    expect((await startOf(setting, session_id)).requested).toMatchObject({ budget: { turns: 2 }, model: "m" });
    const refused = () => {
      throw new Error("No.");
    };
    await expect(conversations.fork(id, {}, { admit: refused })).rejects.toThrow("No.");
  });
});

/** An agent as {@link remembers}, whose program turns out to lack a part of what the manifest promises. */
const lacking = (field: "fork" | "continue_from", fields: readonly string[] = [field]) =>
  remembers.replace(
    "let id = request.continue_from;",
    `if (request.${field} !== undefined) {
      const details = { fields: ${JSON.stringify(fields)} };
      throw Object.assign(new Error("It has no ${field}."), { code: "unsupported", hint: undefined, details });
    }
    let id = request.continue_from;`,
  );

/** A copy that is none: the agent goes on with the session that it was to copy. */
const shares = remembers.replace("if (id === undefined || request.fork !== undefined) {", "if (id === undefined) {");

describe("an agent that lacks what its manifest promises", () => {
  async function openWith(code: string): Promise<TestHost> {
    const setting = await openHost();
    const manifest = `${kv}accepts: [continue_from, fork, turns]`;
    await setting.add("lacks", { code, manifest }, { grant: { kv: true } });
    return setting;
  }

  const attemptsOf = async ({ host }: TestHost, id: string) => (await (await host.sessions.open(id)).result()).attempts;

  test.each([
    ["does not copy its sessions", lacking("fork"), /^one two three four$/],
    // The host learns it by the name that the agent tells with its first prompt.
    ["goes on with the one that it was to copy", shares, /^one two three (other )?four$/],
  ])("forks by a briefing where it %s, and goes on with a session of its own", async (_, code, known) => {
    const setting = await openWith(code);
    const id = await talked(setting, "lacks");
    const fork = await forked(setting, id, { prompt: "other" });
    const output = await outputOf(setting, fork);
    for (const words of ['"one"', '"two"', '"three"', "other"]) expect(output).toContain(words);
    expect(await attemptsOf(setting, fork)).toMatchObject([{ error: { code: "unsupported" } }, { attempt: 2 }]);
    expect((await attemptsOf(setting, fork))[1]).not.toHaveProperty("error");
    const next = await said(setting, fork, "more");
    expect((await startOf(setting, next)).requested.continue_from).toBe("s2");
    expect(await outputOf(setting, await said(setting, id, "four"))).toMatch(known);
    // Without a prompt its first message is the one that needs the copy.
    const empty = await forked(setting, id);
    expect(await outputOf(setting, await said(setting, empty, "later"))).toMatch(/"one".*"four".*later/s);
  });

  test("goes on by a briefing where it keeps no sessions, in the next session and in the next turn of one", async () => {
    const setting = await openWith(lacking("continue_from"));
    const id = await talked(setting, "lacks");
    expect(await outputOf(setting, await said(setting, id, "four"))).toMatch(/"one".*"two".*"three".*four/s);
    const leaves = lacking("continue_from").replace("agent_ref: String(known.length) };", "}; return;");
    const other = await openWith(leaves);
    const kept = await talked(other, "lacks", { keep_ms: 60_000 });
    expect(await outputOf(other, kept)).toMatch(/"one".*"two".*three/s);
  });

  test("fails where the client named the agent's session itself, or something else is not supported", async () => {
    const setting = await openWith(lacking("fork"));
    const { host, workdir } = setting;
    const request = { workdir, prompt: "go", continue_from: "s1", fork: {} };
    const named = await (await host.runSession(request, { adapter: "lacks" })).result();
    expect(named).toMatchObject({ outcome: "error", error: { code: "unsupported" }, attempts: [{ attempt: 1 }] });
    const other = await openWith(lacking("fork", ["content"]));
    const fork = await forked(other, await talked(other, "lacks"), { prompt: "other" });
    expect(await attemptsOf(other, fork)).toMatchObject([{ error: { code: "unsupported" } }]);
  });
});

function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", cwd, ...args], { env })
    .toString();
}

/** A conversation of three turns that write files, in a repository. */
async function worked(request: Partial<SessionRequest> = {}): Promise<TestHost & { id: string }> {
  const setting = await openHost();
  const { workdir } = setting;
  git(workdir, "init", "-q");
  await writeFile(join(workdir, "mine.txt"), "mine\n");
  git(workdir, "add", ".");
  git(workdir, "commit", "-qm", "first");
  await setting.add("writes", {
    code: writes,
    manifest: "accepts: [turns]\npermissions:\n  write: [workdir]\n  read: [workdir]",
  }, { grant: { write: ["workdir"], read: ["workdir"] } });
  const id = await talked(setting, "writes", { checkpoints: true, ...request });
  return { ...setting, id };
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== ".git").sort();
}

describe("a fork in a worktree", () => {
  test.each(
    [
      ["in place", { keep_ms: 60_000 }],
      ["in a worktree", { keep_ms: 60_000, workspace: "worktree" }],
      ["in sessions of one turn", {}],
    ] as const,
  )("of a conversation %s has the files as they were after the turn", async (_, request) => {
    const setting = await worked(request);
    const { host, id, workdir } = setting;
    await writeFile(join(workdir, "mine.txt"), "changed since\n");
    const fork = await forked(setting, id, { at: 1, prompt: "other" });
    const { workdir: there, effective, follows } = await startOf(setting, fork);
    expect(effective.workspace).toBe("worktree");
    expect(follows).toMatchObject({ turn: 1, memory: "briefing" });
    expect(await filesOf(there)).toEqual(["1.txt", "2.txt", "all.txt", "mine.txt"]);
    expect(await readFile(join(there, "all.txt"), "utf8")).toBe("1\n2\n");
    expect(await readFile(join(there, "mine.txt"), "utf8")).toBe("mine\n");
    expect(await readFile(join(there, "2.txt"), "utf8")).toMatch(/"one".*other$/s);
    await outputOf(setting, fork);
    expect(await host.workspaces.diff(fork)).toMatchObject({
      artifacts: [{ path: "2.txt" }, { path: "all.txt" }],
    });
    await (await host.sessions.open(id)).interrupt();
    // It needs nothing of the conversation that it comes from.
    for (const { session_id } of (await host.sessions.conversations.get(id)).sessions) {
      await host.sessions.delete(session_id);
    }
    const next = await said(setting, fork, "more");
    expect((await startOf(setting, next)).workdir).toBe(there);
  });

  test("without a prompt keeps its worktree for the first message", async () => {
    const setting = await worked();
    const fork = await forked(setting, setting.id, { at: 0, workspace: "worktree" });
    const { workdir: there } = await startOf(setting, fork);
    expect(await filesOf(there)).toEqual(["mine.txt"]);
    const next = await said(setting, fork, "first");
    expect((await startOf(setting, next)).workdir).toBe(there);
    expect(await filesOf(there)).toEqual(["1.txt", "all.txt", "mine.txt"]);
  });

  test("of a folder below the top takes that folder's files of then, and the others of now", async () => {
    const setting = await openHost();
    const { workdir: top } = setting;
    git(top, "init", "-q");
    const below = join(top, "part");
    await mkdir(below);
    await writeFile(join(top, "top.txt"), "1\n");
    await writeFile(join(below, "a.txt"), "1\n");
    git(top, "add", ".");
    git(top, "commit", "-qm", "first");
    await setting.add("writes", {
      code: writes,
      manifest: "accepts: [turns]\npermissions:\n  write: [workdir]\n  read: [workdir]",
    }, { grant: { write: ["workdir"], read: ["workdir"] } });
    const id = await talked(setting, "writes", { checkpoints: true, workdir: below });
    await writeFile(join(top, "top.txt"), "2\n");
    const fork = await forked(setting, id, { at: 2 });
    const { workdir: there } = await startOf(setting, fork);
    expect(await filesOf(there)).toEqual(["1.txt", "2.txt", "a.txt", "all.txt"]);
    expect(await readFile(join(there, "..", "top.txt"), "utf8")).toBe("2\n");
  });

  test("is refused with the reason where no files of the turn are kept, and in place where they are not there", async () => {
    const setting = await worked({ checkpoints: false });
    const { host, id } = setting;
    const { conversations } = host.sessions;
    expect(await errorOf(conversations.fork(id, { at: 2 }))).toMatchObject({
      code: "not_found",
      message: expect.stringContaining("checkpoints are off"),
      hint: expect.stringContaining("--checkpoints"),
    });
    expect(await errorOf(conversations.fork(id, { at: 2, workspace: "in_place" }))).toMatchObject({
      code: "invalid_request",
      hint: expect.stringContaining("--worktree"),
    });
    expect((await host.workspaces.list()).length).toBe(0);
  });
});
