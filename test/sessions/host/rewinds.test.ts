import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunSessionOptions } from "../../../core/sessions/host/session-host.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { back, eventsOf, filesOf, git, resting, said, talked } from "./talked-files.ts";
import { adapterCode, errorOf, openHost, until } from "./test-host.ts";

describe.each([["in one session", 60_000], ["in three sessions", 0]])("a conversation %s", (_, keep_ms) => {
  test("has its files taken back to any turn, and that taken back", async () => {
    const made = await talked({ keep_ms });
    const { workdir, id } = made;
    expect(await filesOf(workdir)).toEqual(["1.txt", "2.txt", "3.txt", "all.txt", "mine.txt"]);
    await writeFile(join(workdir, "mine.txt"), "mine, edited\n");
    git(workdir, "add", "mine.txt");
    const index = git(workdir, "ls-files", "-s");

    const dry = await back(made, id, { to: 1, dry_run: true });
    expect(dry.files).toEqual([
      { path: "2.txt", change: "removed" },
      { path: "3.txt", change: "removed" },
      { path: "all.txt", change: "restored" },
    ]);
    expect(await filesOf(workdir)).toContain("3.txt");
    expect(await back(made, id, { to: 1 })).toEqual({ ...dry, dry_run: false });
    expect(await filesOf(workdir)).toEqual(["1.txt", "all.txt", "mine.txt"]);
    expect(await readFile(join(workdir, "all.txt"), "utf8")).toBe("1\n");
    expect(await readFile(join(workdir, "mine.txt"), "utf8")).toBe("mine, edited\n");
    expect(git(workdir, "ls-files", "-s")).toBe(index);

    expect(await errorOf(back(made, id, { to: 2 }))).toMatchObject({ code: "not_found", details: { turns: [1] } });
    const second = await made.host.sessions.conversations.turnDiff(id, 2);
    expect(second).toMatchObject({ conversation_id: id, turn: 2, taken_back: true });
    expect(second.files).toEqual([{ path: "2.txt", change: "created" }, { path: "all.txt", change: "modified" }]);
    expect(second.patch).toContain("@@ -1 +1,2 @@\n 1\n+2\n");

    await back(made, id, { undo: true });
    expect(await readFile(join(workdir, "all.txt"), "utf8")).toBe("1\n2\n3\n");
    expect(await made.host.sessions.conversations.turnDiff(id, 2)).toMatchObject({ taken_back: false });
    await back(made, id, { to: 0 });
    expect(await filesOf(workdir)).toEqual(["mine.txt"]);
    // What was taken back is no part of the next turn.
    const next = await said(made, id, "four");
    await resting(made, id);
    expect(await filesOf(workdir)).toEqual(["4.txt", "all.txt", "mine.txt"]);
    const report = await back(made, next, { to: 0, dry_run: true });
    expect(report.files.map(({ path }) => path)).toEqual(["4.txt", "all.txt"]);
  });
});

describe("a rewind", () => {
  test("refuses what a person changed as well, and leaves it alone when asked", async () => {
    const made = await talked();
    const { workdir, id } = made;
    await writeFile(join(workdir, "all.txt"), "a person's\n");
    const refused = await errorOf(back(made, id, { to: 1 }));
    expect(refused).toMatchObject({ code: "conflict", details: { paths: ["all.txt"] } });
    expect(await filesOf(workdir)).toContain("3.txt");
    expect(await back(made, id, { to: 1, keep_theirs: true })).toMatchObject({ conflicts: ["all.txt"] });
    expect(await filesOf(workdir)).toEqual(["1.txt", "all.txt", "mine.txt"]);
    expect(await readFile(join(workdir, "all.txt"), "utf8")).toBe("a person's\n");
  });

  test("is refused while a turn runs, or another session works in the folder", async () => {
    const made = await talked();
    const { host, workdir, id } = made;
    const works = await said(made, id, "wait");
    await until(async () => (await filesOf(workdir)).includes("4.txt"));
    expect(await errorOf(back(made, id, { to: 1 }))).toMatchObject({ code: "busy", details: { session_id: works } });
    await (await host.sessions.open(works)).interrupt();
    const other = await host.runSession({ workdir, prompt: "wait" }, { adapter: "writes" });
    expect(await errorOf(back(made, id, { to: 1 }))).toMatchObject({ code: "busy", details: { session_id: other.id } });
    await other.interrupt();
    expect((await back(made, id, { to: 3, keep_theirs: true })).to).toBe(3);
  });

  test("ends a session that is kept, which a dry run does not, and the next message begins another", async () => {
    const made = await talked({ keep_ms: 60_000 });
    const { host, id } = made;
    const dry = await back(made, id, { to: 2, dry_run: true });
    // A dry run leaves it, its program and its store as they are.
    expect((await host.sessions.conversations.get(id)).state).toBe("kept");
    expect(await said(made, id, "once more")).toBe(id);
    await resting(made, id);
    expect((await back(made, id, { to: 2, dry_run: true })).files).toEqual([
      dry.files[0],
      { path: "4.txt", change: "removed" },
      ...dry.files.slice(1),
    ]);
    await back(made, id, { to: 2 });
    expect(await (await host.sessions.open(id)).result()).toMatchObject({ stop_reason: "end_turn" });
    expect(await said(made, id, "four")).not.toBe(id);
    const trees = (await eventsOf(made, id)).flatMap((event) => event.type === "turn_ended" ? [event.checkpoint] : []);
    expect(trees).toEqual(Array(4).fill(expect.any(String)));
  });

  test("says what is not there: checkpoints, a turn, a rewind to undo, and both or none", async () => {
    const made = await talked();
    const { host, workdir, id } = made;
    const plain = await host.runSession({ workdir, prompt: "x" }, { adapter: "writes" });
    await plain.result();
    expect(await errorOf(back(made, plain.id, { to: 0 }))).toMatchObject({
      code: "not_found",
      hint: expect.stringContaining("--checkpoints"),
    });
    expect(await errorOf(back(made, id, { to: 9 }))).toMatchObject({ code: "not_found" });
    expect(await errorOf(back(made, id, { undo: true }))).toMatchObject({ code: "not_found" });
    for (const request of [{}, { to: 1, undo: true }]) {
      expect(await errorOf(back(made, id, request))).toMatchObject({ code: "invalid_request" });
    }
  });

  test("works in the conversation's worktree, where all is the agent's", async () => {
    const made = await talked({ workspace: "worktree" });
    const { host, workdir, id } = made;
    const folder = (await host.workspaces.list())[0]!.folder;
    expect(await filesOf(folder)).toContain("3.txt");
    expect((await back(made, id, { to: 1 })).files).toHaveLength(3);
    expect(await filesOf(folder)).toEqual(["1.txt", "all.txt", "mine.txt"]);
    expect(await filesOf(workdir)).toEqual(["mine.txt"]);
  });
});

test("the log of the next session tells what was taken back, once", async () => {
  const made = await talked();
  const { id } = made;
  const { before, after, files } = await back(made, id, { to: 1 });
  await back(made, id, { undo: true });
  const told = async (session: string) => {
    await resting(made, session);
    return (await eventsOf(made, session)).flatMap((event) => event.type === "rewound" ? [event] : []);
  };
  const facts = { type: "rewound", at: expect.any(String), files: files.length, left: 0 };
  expect(await told(await said(made, id, "four"))).toEqual([
    { ...facts, to: 1, undo: false, before, after },
    { ...facts, to: 3, undo: true, before: after, after: before },
  ]);
  expect(await told(await said(made, id, "five"))).toEqual([]);
});

test("a path that another session in the folder changed meanwhile is a conflict", async () => {
  const made = await openHost();
  const { host, workdir } = made;
  git(workdir, "init", "-q");
  // Two at once: what each writes is in the list of both. The first one also writes with a program that names nothing.
  const runs = adapterCode(`    const { own, waitFor } = JSON.parse(request.prompt);
    for (const path of own) await ctx.fs.writeText(path, request.prompt);
    yield { type: "progress", message: "written" };
    while (!(await ctx.fs.readText(waitFor).then(() => true, () => false))) await ctx.sleep(20);
    if (waitFor === "go-1") await (await ctx.run("/bin/sh", ["-c", "echo x > by-sh.txt"])).exit;
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`);
  const permissions = { read: ["workdir"], write: ["workdir"], run: [{ binary: "/bin/sh", args: ["-c {*}"] }] };
  await made.add("runs", {
    code: runs,
    manifest: `permissions: ${JSON.stringify(permissions)}`,
  }, { grant: permissions });
  const start = async (own: string[], waitFor: string, checkpoints: boolean) => {
    const request = { workdir, prompt: JSON.stringify({ own, waitFor }), checkpoints };
    const session = await host.runSession(request, { adapter: "runs" });
    const events = session.events()[Symbol.asyncIterator]();
    for (let next = await events.next(); !next.done && next.value.event.type !== "progress";) {
      next = await events.next();
    }
    return session;
  };
  const first = await start(["mine.txt", "both.txt"], "go-1", true);
  const other = await start(["theirs.txt", "both.txt"], "go-2", false);
  await writeFile(join(workdir, "go-1"), "");
  await first.result();
  await writeFile(join(workdir, "go-2"), "");
  expect(await other.result()).toMatchObject({ artifacts_shared_with: [first.id] });
  const dry = await back(made, first.id, { to: 0, dry_run: true });
  expect(dry.files).toEqual([{ path: "mine.txt", change: "removed" }]);
  expect(dry.conflicts).toEqual(expect.arrayContaining(["both.txt", "by-sh.txt"]));
  expect(await errorOf(back(made, first.id, { to: 0 }))).toMatchObject({ code: "conflict" });
  await back(made, first.id, { to: 0, keep_theirs: true });
  expect(await filesOf(workdir)).toEqual(["both.txt", "by-sh.txt", "go-1", "go-2", "theirs.txt"]);
});

test("what a program writes is its agent's: in all of a turn if it tells no tools, else in its calls", async () => {
  const made = await openHost();
  const { host, workdir } = made;
  git(workdir, "init", "-q");
  const runs = adapterCode(`    yield { type: "progress", message: "begun" };
    const isThere = () => ctx.fs.readText("person-" + request.prompt + ".txt").then(() => true, () => false);
    while (!(await isThere())) await ctx.sleep(50);
    await ctx.sleep(300);
    if (request.prompt === "tells") yield { type: "tool_call", call_id: "1", tool: "sh", kind: "execute", input: {} };
    const child = await ctx.run("/bin/sh", ["-c", "echo x > " + request.prompt + ".txt"]);
    await child.exit;
    if (request.prompt === "tells") {
      yield { type: "tool_result", call_id: "1", tool: "sh", output: "", success: true, duration_ms: null };
    }
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };`);
  const grant = { run: [{ binary: "/bin/sh", args: ["-c {*}"] }], read: ["workdir"] };
  const manifest = `permissions:\n  read: [workdir]\n  run: [{ binary: /bin/sh, args: ["-c {*}"] }]`;
  await made.add("silent", { code: runs, manifest }, { grant });
  await made.add("tells", { code: runs, manifest: `reports: [tool_calls]\n${manifest}` }, { grant });
  for (const id of ["silent", "tells"]) {
    const session = await host.runSession({ workdir, prompt: id, checkpoints: true }, { adapter: id });
    for await (const { event } of session.events()) {
      if (event.type !== "progress") continue;
      // A person's edit while the agent thinks, whole at once: on a busy machine its last byte could come in the call.
      await writeFile(join(workdir, "..", "draft"), "mine\n");
      await rename(join(workdir, "..", "draft"), join(workdir, `person-${id}.txt`));
    }
    const { files, unclaimed } = await back(made, session.id, { to: 0, dry_run: true });
    const paths = files.map(({ path }) => path);
    expect([paths, unclaimed]).toEqual(
      id === "tells" ? [["tells.txt"], ["person-tells.txt"]] : [["person-silent.txt", "silent.txt"], []],
    );
  }
});

test("a turn's tree stands in its events and in the result", async () => {
  const { host, id } = await talked({ keep_ms: 60_000 });
  await (await host.sessions.open(id)).interrupt();
  const trees = (await eventsOf({ host }, id)).flatMap((event) =>
    event.type === "turn_ended" ? [event.checkpoint] : []
  );
  expect(trees).toEqual([expect.stringMatching(/^[0-9a-f]{40}$/), expect.any(String), expect.any(String)]);
  const { checkpoint } = await (await host.sessions.open(id)).result();
  expect(checkpoint).toBe(trees.at(-1));
});

test("where none is asked for, sessions that wait for messages and list their changes have checkpoints", async () => {
  const made = await talked();
  const { host, workdir } = made;
  const treeOf = async (request: Partial<SessionRequest>, options: RunSessionOptions = {}) => {
    const session = await host.runSession({ workdir, prompt: "one", ...request }, { adapter: "writes", ...options });
    await resting(made, session.id);
    await session.interrupt();
    return (await session.result()).checkpoint ?? null;
  };
  const keep_ms = 60_000;
  expect(await treeOf({ keep_ms })).toMatch(/^[0-9a-f]{40}$/);
  expect(await treeOf({ keep_ms, checkpoints: false })).toBeNull();
  expect(await treeOf({ keep_ms }, { artifacts: "none" })).toBeNull();
  expect(await treeOf({})).toBeNull();
});

test("a further turn lists its own changes, with the store and without it", async () => {
  for (const checkpoints of [true, false]) {
    const { host, id } = await talked({ keep_ms: 60_000, checkpoints });
    await (await host.sessions.open(id)).interrupt();
    const ended = (await eventsOf({ host }, id)).flatMap((event) =>
      event.type === "turn_ended" ? [event.artifacts] : []
    );
    expect(ended.map((artifacts) => artifacts?.map(({ path, change }) => [path, change]))).toEqual(
      [1, 2, 3].map((turn) => [
        [`${turn}.txt`, "untracked"],
        ["all.txt", turn === 1 ? "untracked" : "modified"],
      ]),
    );
  }
});

test("what is kept of a conversation goes with the last of its sessions", async () => {
  const made = await talked();
  const { host, id, stateDir } = made;
  const { sessions } = await host.sessions.conversations.get(id);
  const kept = () => readdir(join(stateDir, "checkpoints")).then((names) => names.includes(id));
  for (const { session_id } of sessions) {
    expect(await kept()).toBe(true);
    await host.sessions.delete(session_id);
  }
  await until(async () => !await kept());
});
