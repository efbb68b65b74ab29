import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { LiveSession } from "../../../core/sessions/host/live-sessions.ts";
import { openSessionHost, type SessionHostDeps } from "../../../core/sessions/host/open-session-host.ts";
import { noConversations } from "./no-conversations.ts";
import { sessionHandle } from "../../../core/sessions/host/session-handle.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import type { ElsewhereSummary } from "../../../core/sessions/host/host-seams.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { OtherJournals } from "../../../core/sessions/host/state/other-journals.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import { LateEnds } from "../../../core/sessions/session/late-ends.ts";
import { MergedLog } from "../../../core/sessions/session/merged-log.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { hangs, ScriptedSession } from "../session/scripted-session.ts";
import { adapterCode, completed, errorOf, openHost, type TestHost, until } from "./test-host.ts";

const says = adapterCode(`
    for (const word of request.prompt.split(" ")) yield { type: "output", stream: "stdout", data: word };
    yield ${completed};`);

const asks = adapterCode(`
    yield { type: "question", request_id: "q", question: "Which colour?", options: ["red", "blue"] };
    const answer = await ctx.answer("q");
    yield { type: "output", stream: "stdout", data: String(answer) };
    yield ${completed};`);

const waits = adapterCode(`
    yield { type: "output", stream: "stdout", data: "begun" };
    await ctx.sleep(600_000);
    yield ${completed};`);

async function made(): Promise<TestHost> {
  const test = await openHost();
  await test.add("says", { code: says });
  await test.add("waits", { code: waits });
  return test;
}

async function readAll(events: AsyncIterable<Envelope>): Promise<Envelope[]> {
  const all: Envelope[] = [];
  for await (const envelope of events) all.push(envelope);
  return all;
}

describe("openSessionHost", () => {
  test("a session is known from its start on, and its handle gives its events and its result", async () => {
    const { host, workdir } = await made();
    const request = { workdir, prompt: " one\n two", task_id: "t", labels: { team: "a" } };
    const handle = await host.sessions.start(request, { adapter: "says", artifacts: "none" });
    expect(await host.sessions.get(handle.id)).toMatchObject({ session_id: handle.id, state: "running", waiting: [] });
    const result = await handle.result();
    const events = await readAll(handle.events());
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)?.event.type).toBe("session_ended");
    expect(await host.sessions.get(handle.id)).toEqual({
      session_id: handle.id,
      state: "ended",
      adapter_id: "says",
      workdir,
      title: "one two",
      conversation_id: handle.id,
      task_id: "t",
      labels: { team: "a" },
      started_at: events[0]?.ts,
      ended_at: events.at(-1)?.ts,
      outcome: "completed",
      stop_reason: "end_turn",
      last_seq: events.length,
      waiting: [],
    });
    expect(result.session_id).toBe(handle.id);
  });

  test("events after any cursor are the live suffix, also of a session of an earlier host", async () => {
    const first = await made();
    const { result, events } = await first.run("says", { prompt: "a b c d e" });
    const id = result.session_id;
    await first.host.close();
    const { host } = await openHost({ root: first.root });
    const handle = await host.sessions.open(id);
    for (let after = 0; after <= events.length + 1; after++) {
      expect(await readAll(handle.events({ after }))).toEqual(events.slice(after));
    }
    expect(await handle.result()).toEqual(result);
    expect(await handle.interrupt()).toEqual(result);
    expect(await handle.answer("q", "red")).toBe(false);
  });

  test("lists the newest first, a page at a time, and what fits", async () => {
    const { host, run } = await made();
    const ids: string[] = [];
    for (const team of ["a", "b", "a"]) {
      ids.unshift((await run("says", { labels: { team, "o'dd \"key": "x" }, task_id: team })).result.session_id);
    }
    const idsOf = async (query = {}) => (await host.sessions.list(query)).map(({ session_id }) => session_id);
    expect(await idsOf()).toEqual(ids);
    expect(await idsOf({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await idsOf({ before: ids[1] })).toEqual(ids.slice(2));
    expect(await idsOf({ labels: { team: "a", "o'dd \"key": "x" } })).toEqual([ids[0], ids[2]]);
    expect(await idsOf({ labels: { team: "A" } })).toEqual([]);
    expect(await idsOf({ task_id: "b", outcome: "completed", adapter: "says", state: "ended" })).toEqual([ids[1]]);
    expect(await idsOf({ state: "running" })).toEqual([]);
    expect(await idsOf({ outcome: "error" })).toEqual([]);
    expect(await idsOf({ adapter: "other" })).toEqual([]);
    expect(await errorOf(host.sessions.list({ before: "nobody" }))).toMatchObject({ code: "not_found" });
    expect(await errorOf(host.sessions.list({ limit: 501 }))).toMatchObject({ code: "invalid_request" });
  });

  test("a running session is interrupted by its handle and cannot be deleted; a deleted one leaves a gap", async () => {
    const { host, workdir } = await made();
    const { id } = await host.sessions.start({ workdir, prompt: "secret" }, { adapter: "waits", artifacts: "none" });
    const handle = await host.sessions.open(id);
    await until(async () => (await host.sessions.get(id)).adapter_id === "waits");
    expect(await errorOf(host.sessions.delete(id))).toMatchObject({ code: "busy" });
    const live = readAll(handle.events());
    expect(await handle.interrupt()).toMatchObject({ outcome: "error", stop_reason: "interrupted" });
    const seen = await live;
    expect(seen.at(-1)?.event.type).toBe("session_ended");

    await host.sessions.delete(id);
    expect(await errorOf(host.sessions.get(id))).toMatchObject({
      code: "not_found",
      message: `Session "${id}" was deleted.`,
      details: { session_id: id, deleted_by: "client" },
    });
    expect(await errorOf(host.sessions.delete(id))).toMatchObject({ code: "not_found" });
    expect(await host.sessions.list()).toEqual([]);
    const gone = await host.sessions.open(id);
    const events = await readAll(gone.events({ after: 1 }));
    expect(events.map(({ event }) => event)).toEqual([{ type: "gap", from_seq: 2, to_seq: seen.length }]);
    expect(await errorOf(gone.result())).toMatchObject({ code: "not_found" });
    for await (const { event, session_id } of host.sessions.events({ after: 0 })) {
      expect([session_id, event]).toEqual([id, { type: "gap", from_seq: 1, to_seq: seen.length }]);
      break;
    }
    expect(await errorOf(host.sessions.get("nobody"))).toMatchObject({ code: "not_found" });
    expect(await errorOf(host.sessions.open("nobody"))).toMatchObject({ code: "not_found" });
  });

  test("a running session says what it waits for until somebody answers", async () => {
    const { host, workdir, add } = await made();
    await add("asks", { code: asks });
    const { id } = await host.sessions.start({ workdir, prompt: "go" }, { adapter: "asks", artifacts: "none" });
    await until(async () => (await host.sessions.get(id)).waiting.length > 0);
    expect((await host.sessions.list())[0]?.waiting).toMatchObject([
      { request_id: "q", type: "question", text: "Which colour?", choices: ["red", "blue"] },
    ]);
    const handle = await host.sessions.open(id);
    expect(await handle.answer("q", "red")).toBe(true);
    expect(await handle.answer("q", "red")).toBe(false);
    expect((await handle.result()).output).toBe("red");
    expect((await host.sessions.get(id)).waiting).toEqual([]);
  });

  test("sessions of another host of the state folder are listed and read, and deleted when that host is gone", async () => {
    const one = await made();
    const first = (await one.run("says", { prompt: "first" })).result.session_id;
    const two = await openHost({ root: one.root });
    await two.add("says", { code: says });
    const { result, events } = await two.run("says", { prompt: "second one" });
    const id = result.session_id;
    const { sessions } = one.host;
    expect((await sessions.list()).map(({ session_id }) => session_id)).toEqual([id, first]);
    expect((await sessions.list({ before: id })).map(({ session_id }) => session_id)).toEqual([first]);
    expect(await sessions.list({ before: first })).toEqual([]);
    expect(await sessions.get(id)).toEqual(await two.host.sessions.get(id));
    const handle = await sessions.open(id);
    expect(await readAll(handle.events({ after: 2 }))).toEqual(events.slice(2));
    expect(await handle.interrupt()).toEqual(result);
    expect(await errorOf(sessions.delete(id))).toMatchObject({ code: "busy" });
    await two.host.close();
    await sessions.delete(id);
    expect(await errorOf(sessions.get(id))).toMatchObject({ code: "not_found", details: { deleted_by: "client" } });
    expect((await readAll(handle.events())).map(({ event }) => event.type)).toEqual(["gap"]);
    expect((await sessions.list()).map(({ session_id }) => session_id)).toEqual([first]);
  });
});

/** The first events of a session. */
async function beginning(): Promise<Envelope[]> {
  const scripted = new ScriptedSession([{ id: "alpha", scripts: [hangs] }]);
  while (!scripted.types.includes("attempt_started")) await setTimeout(1);
  const begun = [...scripted.events];
  scripted.session.stop("interrupted", "The test is over.");
  await scripted.ended();
  return begun;
}

/** The sessions of a host that has this journal and runs none but those that it finds. */
function sessionsOf(
  journal: Journal,
  find: SessionHostDeps["find"] = () => undefined,
  listed: ElsewhereSummary[] | OtherJournals = [],
) {
  const log = new MergedLog(journal);
  const nobody = () => Promise.reject(new Error("Nobody asks."));
  const others = Array.isArray(listed)
    ? { find: () => Promise.resolve(null), list: () => Promise.resolve(listed) } as unknown as OtherJournals
    : listed;
  const lateEnds = new LateEnds();
  const asked = {
    start: nobody,
    onDeleted: () => Promise.resolve(),
    agents: nobody,
    attach: nobody,
    budgets: nobody,
    conversations: noConversations,
  };
  const deps = { journal, log, lateEnds, others: [others], find, ...asked };
  return { log, sessions: openSessionHost(deps) };
}

test("a session whose id another machine says again is listed once, as it is here", async () => {
  const journal = createMemoryJournal();
  const { log } = sessionsOf(journal);
  const [{ source, event, adapter, attempt }] = await beginning() as [Envelope];
  await log.add({ sessionId: "s", adapter, attempt, lastSeq: 0 }, [{ source, event }]);
  const record = (await journal.session("s"))!;
  const said = (session_id: string): ElsewhereSummary => ({
    record: { ...record, session_id, title: "forged", state: "ended", outcome: "completed" },
    waiting: [],
  });
  const { sessions } = sessionsOf(journal, () => undefined, [said("s"), said("t"), said("t")]);
  const titles = async (query = {}) => (await sessions.list(query)).map(({ session_id, title }) => [session_id, title]);
  expect((await titles()).sort()).toEqual([["s", record.title], ["t", "forged"]]);
  expect(await titles({ state: "ended" })).toEqual([["t", "forged"]]);
});

test("an ended session keeps its changed lines, in a list, alone, and where another host of the folder has it", async () => {
  const journal = createMemoryJournal();
  const envelopes = [...await beginning()];
  const last = envelopes.at(-1)!;
  const artifacts = [{ path: "a", lines: { added: 12, removed: 2 } }, { path: "b" }];
  const result = { outcome: "completed", stop_reason: "end_turn", usage: {}, artifacts };
  const event = { type: "session_ended", result } as unknown as Envelope["event"];
  envelopes.push({ ...last, seq: last.seq + 1, gseq: last.gseq + 1, source: "host", event });
  await journal.append({ session_id: last.session_id, envelopes });
  const { sessions } = sessionsOf(journal);
  const lines = { added: 12, removed: 2 };
  expect(await sessions.list({ facts: true })).toMatchObject([{ state: "ended", facts: { step: null, lines } }]);
  expect((await sessions.get(last.session_id, { facts: true })).facts?.lines).toEqual(lines);
  expect((await sessions.list())[0]).not.toHaveProperty("facts");
  const root = await mkdtemp(join(tmpdir(), "bulkhead-lines-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, "host-1"));
  const written = await openJournal(join(root, "host-1", "journal.db"));
  await written.append({ session_id: last.session_id, envelopes });
  await written.close();
  const other = new OtherJournals(root, { ownFile: join(root, "host-2", "journal.db") });
  const there = sessionsOf(createMemoryJournal(), () => undefined, other).sessions;
  expect(await there.list({ facts: true })).toMatchObject([{ facts: { lines } }]);
  expect((await there.get(last.session_id, { facts: true })).facts?.lines).toEqual(lines);
});

test("a cursor of a cluster is refused by a host that is in none", async () => {
  const { sessions } = sessionsOf(createMemoryJournal());
  const error = await errorOf(
    (async () => await sessions.events({ cursor: "c1.AAAA" })[Symbol.asyncIterator]().next())(),
  );
  expect(error).toMatchObject({ code: "invalid_request", message: expect.stringContaining("in no cluster") as string });
});

test("a session that runs here is known, however long the journal takes to write its start", async () => {
  const journal = createMemoryJournal();
  const append = journal.append.bind(journal);
  journal.append = async (batch) => (await setTimeout(700), await append(batch));
  const { log, sessions } = sessionsOf(journal, () =>
    ({
      session: { waiting: [], talk: { current: null, all: [], pending: 0 } },
    }) as unknown as LiveSession);
  const [{ source, event, adapter, attempt }] = await beginning() as [Envelope];
  const written = log.add({ sessionId: "s", adapter, attempt, lastSeq: 0 }, [{ source, event }]);
  expect(await sessions.get("s")).toMatchObject({ session_id: "s", state: "running" });
  await written;
});

test("a session whose end could not be written keeps nobody waiting for it", async () => {
  const journal = createMemoryJournal();
  const begun = await beginning();
  await journal.append({ session_id: "s", envelopes: begun, texts: [] });
  const { sessions } = sessionsOf(journal);
  const handle = await sessions.open("s");
  expect(await errorOf(handle.result())).toMatchObject({ code: "journal_error" });
  expect(await errorOf(handle.interrupt())).toMatchObject({ code: "journal_error" });
  expect((await readAll(handle.events())).map(({ seq }) => seq)).toEqual(begun.map(({ seq }) => seq));
});

describe("the first reader of a session", () => {
  afterEach(() => void vi.useRealTimers());

  /** Appends that have begun once a reader has come and then the agent says something. */
  async function appendsOf({ waitsForDisk }: { waitsForDisk: boolean }): Promise<number[]> {
    const inner = createMemoryJournal();
    const sizes: number[] = [];
    const append: Journal["append"] = (batch) => (sizes.push(batch.envelopes.length), inner.append(batch));
    const journal = { lastGseq: 0, waitsForDisk, append } as unknown as Journal;
    const log = new MergedLog(journal);
    const [{ source, event, adapter, attempt }] = await beginning() as [Envelope];
    // A busy machine must not take so long here that the log waits no more.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const stream = { sessionId: "s", adapter, attempt, lastSeq: 0 };
    const opening = log.add(stream, [{ source, event }]);
    const live = { firstReader: () => log.subscribe() } as unknown as LiveSession;
    sessionHandle({ journal, log, lateEnds: new LateEnds(), find: () => undefined }, "s", live).events();
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    const said = { type: "output", stream: "stdout", data: "a" } as const;
    await Promise.all([opening, log.add(stream, [{ source: "agent", event: said }])]);
    return sizes;
  }

  test("has the opening at once", async () => {
    expect(await appendsOf({ waitsForDisk: false })).toEqual([1, 1]);
  });

  test("has it with the agent's first words where each append waits for the disk", async () => {
    expect(await appendsOf({ waitsForDisk: true })).toEqual([2]);
  });
});
