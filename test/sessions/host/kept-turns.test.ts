import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseHostManifest } from "bulkhead";
import { gateSessions } from "../../../core/doors/daemon/gated-sessions.ts";
import type { Conversations } from "../../../core/sessions/host/session-host.ts";
import type { ConversationReport } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { expect, test } from "vitest";
import { adapterCode, openHost, type TestHost } from "./test-host.ts";

/** Answers each turn with its prompt, in one process. */
const echo = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "output", stream: "stdout", data: turn.number + ": " + turn.prompt };
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });

/** A host with a manifest of its own. */
async function hostWith(lines = ""): Promise<TestHost & { file: string }> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-kept-")));
  const file = join(root, "bulkhead.yaml");
  await writeFile(file, `bulkhead: 1\nplugins: {}\n${lines}`);
  return {
    ...await openHost({ root, manifest: { ...await parseHostManifest(await readFile(file, "utf8"), { file }), file } }),
    file,
  };
}

async function talking(made: TestHost, adapter = "alpha", more: object = {}) {
  const { host, workdir } = made;
  const session = await host.runSession({ workdir, prompt: "one", keep_ms: 60_000, ...more }, { adapter });
  const { conversations } = host.sessions;
  await until(conversations, session.id, ({ state }) => state === "kept");
  return { session, conversations, id: session.id };
}

async function until(
  conversations: Conversations,
  id: string,
  isIt: (report: ConversationReport) => boolean,
): Promise<ConversationReport> {
  for (;;) {
    const report = await conversations.get(id);
    if (isIt(report)) return report;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Reads a session's events up to the end of this turn. */
async function upTo(events: AsyncIterable<Envelope>, turn: number): Promise<Envelope["event"][]> {
  const seen = [];
  for await (const { event } of events) {
    seen.push(event);
    if (event.type === "turn_ended" && event.turn === turn) break;
  }
  return seen;
}

test("a kept agent takes the next message in the same entry", async () => {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const { session, conversations, id } = await talking(made);
  expect(await conversations.say(id, text("two"))).toMatchObject({ session_id: id });
  await until(conversations, id, ({ state, turn }) => state === "kept" && turn === 2);
  const result = await session.interrupt();
  expect(result).toMatchObject({ outcome: "completed", output: "2: two", attempts: [{ attempt: 1 }] });
});

test.each([[2000], [50]])(
  "a session that its limits end while a turn is stopped says so: grace of %i ms",
  async (agent_grace_ms) => {
    const made = await openHost();
    const code = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "progress", message: "begun" };
      await new Promise((stopped) => turn.signal.addEventListener("abort", stopped));
      await new Promise((go) => setTimeout(go, 200));
      for (;;) yield { type: "progress", message: "on" };
    }`);
    await made.add("alpha", { code, manifest: "accepts: [turns, stop_turn]" }, {
      limits: { events: 200, agent_grace_ms },
    });
    const session = await made.host.runSession({ workdir: made.workdir, prompt: "one" }, { adapter: "alpha" });
    await made.host.sessions.conversations.say(session.id, text("after"));
    for await (const { event } of session.events()) {
      if (event.type === "progress") break;
    }
    await made.host.sessions.conversations.stop(session.id);
    expect(await session.result()).toMatchObject({ outcome: "error", error: { code: "limit_exceeded" } });
  },
);

/** Answers each turn with its terms, in one process. */
const terms = adapterCode(`
    for await (const { effort, plan } of ctx.turns) {
      yield { type: "output", stream: "stdout", data: effort + " " + plan };
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

test("another effort or plan holds from the message's turn on, in the same entry where the adapter takes it", async () => {
  const made = await openHost();
  await made.add("alpha", { code: terms, manifest: "accepts: [turns, effort, plan]" });
  const { session, conversations, id } = await talking(made, "alpha", { effort: "low" });
  const said = [{ effort: "high", plan: true }, {}, { plan: false }] as const;
  for (const [at, other] of said.entries()) {
    expect(await conversations.say(id, { ...text("more"), with: other })).toMatchObject({ session_id: id });
    await until(conversations, id, ({ state, turn }) => state === "kept" && turn === at + 2);
  }
  const outputs = (await upTo(session.events(), 4)).flatMap((event) =>
    event.type === "turn_ended" ? [event.output] : []
  );
  expect(outputs).toEqual(["low undefined", "high true", "high true", "high false"]);
  expect(await session.interrupt()).toMatchObject({ attempts: [{ attempt: 1 }], effective: { effort: "low" } });
  // The next session has what the last turn had.
  const next = await conversations.say(id, text("and now"));
  expect(next.session_id).not.toBe(id);
  await until(conversations, id, ({ state, turn }) => state === "kept" && turn === 5);
  const last = await (await made.host.sessions.open(next.session_id)).interrupt();
  expect(last).toMatchObject({ output: "high false", requested: { effort: "high", plan: false } });
});

test("another effort begins a session where the adapter takes it for a whole one, and is refused where it does not", async () => {
  const made = await openHost();
  await made.add("alpha", { code: terms, manifest: "accepts: [effort]" });
  const { conversations, id } = await talking(made);
  const { session_id } = await conversations.say(id, { ...text("two"), with: { effort: "high" } });
  expect(session_id).not.toBe(id);
  const refused = conversations.say(id, { ...text("three"), with: { plan: true } });
  await expect(refused).rejects.toMatchObject({ code: "unenforceable", details: { fields: ["plan"] } });
  const { host, workdir } = made;
  const run = { workdir, prompt: "one", plan: true, best_effort: true };
  const free = await (await host.runSession(run, { adapter: "alpha" })).result();
  expect(free.effective).toMatchObject({ unenforced: ["plan"] });
  expect(free.effective.plan).toBe(undefined);
});

test("the agent's own name of a turn's end is told with the turn, and a fork is not inherited", async () => {
  const made = await openHost();
  const code = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "agent_info", agent_session_id: "own" };
      const data = JSON.stringify([request.continue_from ?? null, request.fork ?? null]);
      yield { type: "output", stream: "stdout", data };
      const agent_ref = "end-" + turn.number;
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null, agent_ref };
    }`);
  await made.add("alpha", { code, manifest: "accepts: [turns, continue_from, fork, continue_at]" });
  const { session, conversations, id } = await talking(made, "alpha", { continue_from: "old", fork: { at: "end-3" } });
  const ended = (await upTo(session.events(), 1)).at(-1);
  expect(ended).toMatchObject({ agent_ref: "end-1", output: '["old",{"at":"end-3"}]' });
  await session.interrupt();
  const next = await conversations.say(id, text("two"));
  await until(conversations, id, ({ state, turn }) => state === "kept" && turn === 2);
  const last = await (await made.host.sessions.open(next.session_id)).interrupt();
  expect(last).toMatchObject({ output: '["own",null]' });
});

test("between two turns the adapter's own calls wait for the next one", async () => {
  const made = await openHost();
  const code = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
      // Long after the turn is over, and long before the next one.
      if (turn.number === 1) setTimeout(() => ctx.fs.writeText("between.txt", "1"), 300);
    }`);
  const permissions = "accepts: [turns]\npermissions:\n  write: [workdir]";
  await made.add("alpha", { code, manifest: permissions }, { grant: { write: ["workdir"] } });
  const { session, conversations, id } = await talking(made);
  const isWritten = () => existsSync(join(made.workdir, "between.txt"));
  await new Promise((resolve) => setTimeout(resolve, 900));
  expect(isWritten()).toBe(false);
  await conversations.say(id, text("two"));
  await expect.poll(isWritten, { timeout: 10_000 }).toBe(true);
  await session.interrupt();
});

test("the longest kept session makes room when there are too many", async () => {
  const made = await hostWith("limits: { kept_sessions: 2 }\n");
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const [first, second, third] = [await talking(made), await talking(made), await talking(made)];
  expect(await first.session.result()).toMatchObject({ outcome: "completed", stop_reason: "end_turn" });
  expect((await second.conversations.get(second.id)).state).toBe("kept");
  const said = await first.conversations.say(first.id, text("more"));
  expect(said.session_id).not.toBe(first.id);
  await third.session.interrupt();
  await made.host.sessions.open(said.session_id).then((session) => session.interrupt());
});

test("a kept session gives its place to one that waits for it", async () => {
  const made = await hostWith("limits: { sessions_per_worker: 1, workers: 1 }\n");
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const { session } = await talking(made);
  const other = await made.host.runSession({ workdir: made.workdir, prompt: "other" }, { adapter: "alpha" });
  expect(await other.result()).toMatchObject({ output: "1: other" });
  expect(await session.result()).toMatchObject({ outcome: "completed", output: "1: one" });
});

test("a kept session ends before its next prompt once the host manifest was edited", async () => {
  const made = await hostWith();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const { session, conversations, id } = await talking(made);
  await writeFile(made.file, "bulkhead: 1\nplugins: {}\n# edited\n");
  const said = await conversations.say(id, text("two"));
  expect(await session.result()).toMatchObject({ output: "1: one" });
  const next = await until(conversations, id, ({ sessions }) => sessions.length === 2);
  expect(next.head).not.toBe(id);
  expect(await conversations.messages(id)).toMatchObject([{ message_id: said.message_id }]);
});

test("a commit of the person between two turns is seen by the next one", async () => {
  const made = await openHost();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: made.workdir, stdio: "pipe" });
  git("init", "-q");
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one");
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const { conversations, id, session } = await talking(made);
  await writeFile(join(made.workdir, "a.txt"), "a");
  await conversations.say(id, text("two"));
  await until(conversations, id, ({ state, turn }) => state === "kept" && turn === 2);
  const events = await upTo((await made.host.sessions.open(id)).events(), 2);
  // What the person did between the turns is none of the agent's changes.
  expect(events.filter(({ type }) => type === "turn_ended")).toMatchObject([{ artifacts: [] }, { artifacts: [] }]);
  await session.interrupt();
});

test("a host that is to be idle ends a kept session, with the messages that wait", async () => {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const { session, conversations, id } = await talking(made);
  await conversations.say(id, text("two"));
  await made.host.idle();
  expect(await session.result()).toMatchObject({ outcome: "completed", output: "2: two" });
});

test("a daemon that shuts down takes no message", async () => {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const { session, id } = await talking(made);
  const gate = gateSessions(made.host.sessions);
  gate.shut();
  await expect(gate.sessions.conversations.say(id, text("two"))).rejects.toMatchObject({ code: "host_closed" });
  expect(await gate.sessions.conversations.messages(id)).toEqual([]);
  await session.interrupt();
});

test("a message with a schema that is none is refused, and nothing of it is kept", async () => {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns]" });
  const { session, conversations, id } = await talking(made);
  const output_schema = { type: "no such type" };
  await expect(conversations.say(id, { ...text("two"), output_schema })).rejects.toMatchObject({
    code: "invalid_request",
  });
  expect(await conversations.messages(id)).toEqual([]);
  await session.interrupt();
});

test.each([[true, "accepts: [turns, steer]"], [false, "accepts: [turns]"]])(
  "a conversation tells whether words go into the turn that runs: %s",
  async (steers, manifest) => {
    const made = await openHost();
    const code = adapterCode(`
    for await (const turn of ctx.turns) {
      if (turn.number === 2) yield { type: "question", request_id: "go", question: "Go on?" };
      if (turn.number === 2) await ctx.answer("go");
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);
    await made.add("alpha", { code, manifest });
    const { session, conversations, id } = await talking(made, "alpha", { answer_timeout_ms: 60_000 });
    expect(await conversations.get(id)).not.toHaveProperty("steers");
    await conversations.say(id, text("two"));
    await until(conversations, id, ({ state }) => state === "working");
    expect(await conversations.get(id)).toMatchObject({ state: "working", steers });
    await session.interrupt();
  },
);
