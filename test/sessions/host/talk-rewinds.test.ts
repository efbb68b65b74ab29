import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RewindRequest } from "../../../plugin-sdk/conversation.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { adapterCode, errorOf, openHost, type TestHost, until } from "./test-host.ts";

/** An agent whose sessions can be copied up to a turn. Each turn writes `<turn>.txt`, and answers with all that it knows. */
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
      await ctx.fs.writeText(turn.number + ".txt", "x");
      yield { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null,
        agent_ref: String(known.length) };
    }`);

const forgets = adapterCode(`
    await ctx.fs.writeText("f" + request.prompt.length + ".txt", "x");
    const output = "[" + request.prompt + "]";
    yield { type: "completed", success: true, output, files_changed: [], tokens_used: null, cost: null };`);

function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", cwd, ...args], { env })
    .toString();
}

/** A conversation of three turns. */
async function talked(adapter: string, request: Partial<SessionRequest> = {}): Promise<TestHost & { id: string }> {
  const setting = await openHost();
  const { host, workdir } = setting;
  git(workdir, "init", "-q");
  await writeFile(join(workdir, "mine.txt"), "mine\n");
  git(workdir, "add", ".");
  git(workdir, "commit", "-qm", "first");
  const rights = "permissions:\n  kv: true\n  write: [workdir]\n  read: [workdir]";
  const grant = { grant: { kv: true, write: ["workdir"], read: ["workdir"] } };
  const accepts = "accepts: [continue_from, fork, continue_at, turns]";
  await setting.add("copies", { code: remembers, manifest: `${accepts}\n${rights}` }, grant);
  await setting.add("forgets", { code: forgets, manifest: rights }, grant);
  const { id } = await host.runSession({ workdir, prompt: "one", checkpoints: true, ...request }, { adapter });
  for (const words of ["two", "three"]) await said(setting, id, words);
  return { ...setting, id };
}

async function said(setting: TestHost, id: string, words: string): Promise<string> {
  await resting(setting, id);
  const { session_id } = await setting.host.sessions.conversations.say(id, {
    content: [{ type: "text", text: words }],
  });
  await resting(setting, id);
  return session_id;
}

async function resting({ host }: TestHost, id: string): Promise<void> {
  await until(async () => {
    const { state, pending } = await host.sessions.conversations.get(id);
    return state !== "working" && pending.length === 0;
  });
}

async function startOf({ host }: TestHost, id: string) {
  for await (const { event } of (await host.sessions.open(id)).events()) {
    if (event.type === "session_started") return event;
  }
  throw new Error("It has no beginning.");
}

/** Ends a session that is kept. */
async function outputOf({ host }: TestHost, id: string): Promise<string> {
  const handle = await host.sessions.open(id);
  if ((await host.sessions.get(id)).state === "running") await handle.interrupt();
  return (await handle.result()).output;
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== ".git").sort();
}

const back = ({ host }: TestHost, id: string, request: RewindRequest) =>
  host.sessions.conversations.rewind(id, request);

describe.each([["in one session", 60_000], ["in three sessions", 0]])("a rewind of a talk %s", (_, keep_ms) => {
  test("begins a session without a turn, and the agent goes on from a copy that knows no later turn", async () => {
    const setting = await talked("copies", { keep_ms });
    const { host: { sessions: { conversations } }, id, workdir } = setting;
    const dry = await back(setting, id, { to: 1, talk: true, files: false, dry_run: true });
    expect(dry).toMatchObject({
      to: 1,
      dry_run: true,
      files: [],
      before: "",
      talk: { forgets: [2, 3], session_id: null },
    });
    const report = await back(setting, id, { to: 1, talk: true, files: false });
    const { head, sessions, turn } = await conversations.get(id);
    expect(report).toMatchObject({ dry_run: false, talk: { forgets: [2, 3], session_id: head } });
    expect(sessions.at(-1)).toMatchObject({ session_id: head, state: "ended", why: "rewind" });
    expect(turn).toBe(3);
    expect((await startOf(setting, head)).follows).toMatchObject({
      conversation_id: id,
      turn: 1,
      why: "rewind",
      memory: "agent",
    });
    // The files stay.
    expect(await filesOf(workdir)).toContain("3.txt");
    const next = await said(setting, id, "other");
    expect((await startOf(setting, next)).requested).toMatchObject({ continue_from: "s1", fork: { at: "1" } });
    expect(await outputOf(setting, next)).toBe("one other");
    const last = await said(setting, id, "more");
    expect(await outputOf(setting, last)).toBe("one other more");
    expect((await conversations.get(id)).turns.map(({ turn, title }) => [turn, title])).toEqual([
      [1, "one"],
      [2, "two"],
      [3, "three"],
      [4, "other"],
      [5, "more"],
    ]);
    // Turns that were taken back can be gone back to: so the talk comes back.
    expect((await back(setting, id, { to: 3, talk: true, files: false })).talk?.forgets).toEqual([4, 5]);
    expect(await outputOf(setting, await said(setting, id, "again"))).toBe("one two three again");
    expect((await back(setting, id, { to: 0, talk: true, files: false })).talk?.forgets).toEqual([1, 2, 3, 6]);
    expect(await outputOf(setting, await said(setting, id, "new"))).toBe("new");
  });

  test("takes the files with it, and an undo brings back the files alone", async () => {
    const setting = await talked("copies", { keep_ms });
    const { id, workdir } = setting;
    const dry = await back(setting, id, { to: 1, talk: true, dry_run: true });
    expect(dry.files.map(({ path }) => path)).toEqual(["2.txt", "3.txt"]);
    const report = await back(setting, id, { to: 1, talk: true });
    expect({ ...report, dry_run: true, talk: { ...report.talk, session_id: null } }).toEqual(dry);
    expect(await filesOf(workdir)).toEqual(["1.txt", "mine.txt"]);
    const next = await said(setting, id, "other");
    expect(await outputOf(setting, next)).toBe("one other");
    expect(await filesOf(workdir)).toEqual(["1.txt", "4.txt", "mine.txt"]);
    // The turns that count are those of the line that is active: 1 and 4.
    expect((await back(setting, id, { to: 1, dry_run: true })).files.map(({ path }) => path)).toEqual(["4.txt"]);
    await back(setting, id, { to: 0, talk: true });
    expect(await filesOf(workdir)).toEqual(["mine.txt"]);
    const undone = await back(setting, id, { undo: true });
    expect(undone).not.toHaveProperty("talk");
    expect(await filesOf(workdir)).toEqual(["1.txt", "4.txt", "mine.txt"]);
    expect(await outputOf(setting, await said(setting, id, "new"))).toBe("new");
  });
});

describe("a rewind of a talk", () => {
  test("with an agent that remembers nothing is a briefing of the turns that are left", async () => {
    const setting = await talked("forgets");
    const { id } = setting;
    const { talk } = await back(setting, id, { to: 1, talk: true });
    expect((await startOf(setting, talk!.session_id!)).follows?.memory).toBe("briefing");
    const output = await outputOf(setting, await said(setting, id, "other"));
    expect(output).toContain('"one"');
    expect(output).not.toMatch(/two|three/);
  });

  test("works in the conversation's worktree, which stays", async () => {
    const setting = await talked("copies", { workspace: "worktree" });
    const { id } = setting;
    const { workdir: there } = await startOf(setting, id);
    const { talk } = await back(setting, id, { to: 0, talk: true });
    expect(await filesOf(there)).toEqual(["mine.txt"]);
    expect((await startOf(setting, talk!.session_id!)).workdir).toBe(there);
    const next = await said(setting, id, "other");
    expect((await startOf(setting, next)).workdir).toBe(there);
    expect(await filesOf(there)).toEqual(["4.txt", "mine.txt"]);
  });

  test("in a fork goes back to turns of the conversation that it comes from", async () => {
    const setting = await talked("copies");
    const { host: { sessions: { conversations } }, id } = setting;
    const { session_id: fork } = await conversations.fork(id, { prompt: "other" });
    await resting(setting, fork);
    expect((await back(setting, fork, { to: 2, talk: true, files: false })).talk?.forgets).toEqual([3, 4]);
    const next = await said(setting, fork, "again");
    expect(await outputOf(setting, next)).toBe("one two again");
    expect(await conversations.get(next)).toMatchObject({ conversation_id: fork });
    // Before its own first turn, its files are as they were when it began.
    expect((await back(setting, fork, { to: 3, dry_run: true })).files.map(({ path }) => path)).toEqual([
      "4.txt",
      "5.txt",
    ]);
  });

  test("is refused where it is unclear, and leaves both alone where one of them cannot go back", async () => {
    const setting = await talked("copies");
    const { host: { sessions: { conversations } }, id, workdir } = setting;
    for (
      const request of [{}, { to: 1, undo: true }, { to: 1, files: false }, { undo: true, talk: true }, {
        undo: true,
        files: false,
      }]
    ) {
      expect(await errorOf(back(setting, id, request))).toMatchObject({ code: "invalid_request" });
    }
    expect(await errorOf(back(setting, id, { to: 9, talk: true }))).toMatchObject({ code: "not_found" });
    const { head } = await conversations.get(id);
    await writeFile(join(workdir, "3.txt"), "a person's\n");
    expect(await errorOf(back(setting, id, { to: 1, talk: true }))).toMatchObject({ code: "conflict" });
    const refuse = () => {
      throw new Error("No.");
    };
    await expect(conversations.rewind(id, { to: 1, talk: true, keep_theirs: true }, { admit: refuse })).rejects
      .toThrow("No.");
    expect((await conversations.get(id)).head).toBe(head);
    expect(await filesOf(workdir)).toEqual(["1.txt", "2.txt", "3.txt", "mine.txt"]);
    expect(await readFile(join(workdir, "3.txt"), "utf8")).toBe("a person's\n");
  });

  test("brings the files back where its session cannot begin", async () => {
    const setting = await talked("copies");
    const { host, id, workdir } = setting;
    const { head } = await host.sessions.conversations.get(id);
    // The plugin is gone between the check and the start.
    const admit = async (request: SessionRequest) => {
      await host.registry.remove("copies");
      return request;
    };
    await errorOf(host.sessions.conversations.rewind(id, { to: 1, talk: true }, { admit }));
    expect((await host.sessions.conversations.get(id)).head).toBe(head);
    expect(await filesOf(workdir)).toEqual(["1.txt", "2.txt", "3.txt", "mine.txt"]);
  });
});
