import { expect, test } from "vitest";
import { RewoundTalks } from "../../../core/sessions/host/state/rewound-talks.ts";
import { LocalConversations } from "../../../core/sessions/host/conversations.ts";
import { SharedBudgets } from "../../../core/sessions/session/spend/shared-budgets.ts";
import { MergedLog } from "../../../core/sessions/session/merged-log.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import type { LiveSession } from "../../../core/sessions/host/live-sessions.ts";
import type { LiveTalk, SessionMessage } from "../../../core/sessions/session/session-turns.ts";
import type { SessionRecord } from "../../../core/records/journal/session-record.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { NewMessage } from "../../../plugin-sdk/conversation.ts";
import type { Envelope, Follows } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";

/** A session that takes messages until it ends. */
class FakeSession {
  readonly taken: SessionMessage[] = [];
  readonly live: LiveSession;
  isRetired = false;
  current: { number: number } | null = { number: 1 };
  end!: () => void;

  readonly id: string;
  readonly request: SessionRequest;
  readonly follows: Follows | null;

  constructor(id: string, { request, follows }: { request: SessionRequest; follows: Follows | null }) {
    [this.id, this.request, this.follows] = [id, request, follows];
    const result = new Promise<void>((resolve) => (this.end = resolve));
    const talk: Partial<LiveTalk> = {
      say: (message) => {
        if (this.isRetired) return "closed";
        this.taken.push(message);
        const { message_id } = message;
        return { said: { message_id, session_id: id, state: "pending" }, written: Promise.resolve() };
      },
      stopTurn: () => void (this.current = null),
      retire: () => void (this.isRetired = true),
      messages: [],
      all: [],
    };
    Object.defineProperty(talk, "current", { get: () => this.current });
    const candidates = [{ plugin: { id: "agent", manifest: {} } }];
    this.live = { id, result, session: { talk }, admitted: { request, follows, candidates } } as unknown as LiveSession;
  }
}

class FakeHost {
  readonly sessions: FakeSession[] = [];
  readonly ended = new Set<FakeSession>();
  readonly journal = createMemoryJournal();
  readonly logs: string[] = [];
  /** Why no session can begin. */
  fault: BulkheadError | null = null;
  /** Happens after the sessions were read, and before they are there. */
  onRecords: (() => Promise<void>) | null = null;
  readonly conversations = new LocalConversations({
    journal: this.journal,
    log: new MergedLog(this.journal),
    shared: new SharedBudgets(),
    find: (id) => this.running.find((one) => one.id === id)?.live,
    ofConversation: () => this.running.at(-1)?.live,
    record: (id) =>
      Promise.resolve(this.sessions.map((one) => this.#record(one)).find((one) => one.session_id === id) ?? null),
    rewinds: {
      rewind: () => Promise.reject(new Error("Nothing is kept.")),
      turnDiff: () => Promise.reject(new Error("Nothing is kept.")),
      rest: () => Promise.resolve(),
      hasRewound: () => Promise.resolve(false),
    },
    rewound: new RewoundTalks(this.journal),
    records: async () => {
      const records = this.sessions.map((one) => this.#record(one)).reverse();
      await this.onRecords?.();
      return records;
    },
    open: (id) => Promise.resolve({ events: () => this.#events(id) } as never),
    start: (request, { sessionId }, { follows }) =>
      this.fault === null
        ? Promise.resolve(this.begin(request, { sessionId, follows }).live)
        : Promise.reject(this.fault),
    attachments: { check: (parts) => Promise.resolve([...parts]), name: () => Promise.resolve() },
    carried: { keepFor: () => {} },
    ownSessions: () => ({ continues: false, copies: false, copiesAt: false }),
    firstOpen: () => Promise.resolve(null),
    once: (_request, _options, start) => start(undefined),
    summary: () => Promise.reject(new Error("No summary is kept.")),
    written: () => Promise.resolve(),
    writeLog: ({ message }) => void this.logs.push(message),
  });

  constructor() {
    this.begin({ workdir: "/w", prompt: "one" }, { follows: null });
  }

  get running(): FakeSession[] {
    return this.sessions.filter((one) => !this.ended.has(one));
  }

  begin(
    request: SessionRequest,
    { sessionId, follows }: { sessionId?: string | undefined; follows: Follows | null },
  ): FakeSession {
    const session = new FakeSession(sessionId ?? `s${this.sessions.length + 1}`, { request, follows });
    this.sessions.push(session);
    return session;
  }

  end(session: FakeSession): void {
    session.isRetired = true;
    this.ended.add(session);
    session.end();
  }

  #record(session: FakeSession): SessionRecord {
    const state = this.ended.has(session) ? "ended" : "running";
    const known = { conversation_id: "s1", last_turn: 1, last_gseq: 1, deleted: null };
    return { session_id: session.id, state, ...known } as SessionRecord;
  }

  async *#events(id: string): AsyncGenerator<Envelope> {
    const { request: requested, follows } = this.sessions.find((one) => one.id === id)!;
    const event = { type: "session_started", requested, adapter_id: "agent", follows };
    const adapter = { id: "agent", version: "1.0.0" };
    yield { session_id: id, ts: "", gseq: 1, adapter, event } as unknown as Envelope;
  }
}

const text = (words: string, more: Partial<NewMessage> = {}): NewMessage => ({
  message_id: words,
  content: [{ type: "text", text: words }],
  ...more,
});

const ids = (messages: readonly { message_id: string }[]) => messages.map(({ message_id }) => message_id);

test("say gives a running session its message, of each client in turn", async () => {
  const host = new FakeHost();
  const said = await Promise.all([
    host.conversations.say("s1", text("two"), { client: "ann" }),
    host.conversations.say("s1", text("three"), { client: "bob" }),
  ]);
  expect(said.map(({ session_id, state }) => [session_id, state])).toEqual([["s1", "pending"], ["s1", "pending"]]);
  expect(host.sessions[0]!.taken.map(({ message_id, by }) => [message_id, by.client])).toEqual([
    ["two", "ann"],
    ["three", "bob"],
  ]);
});

test("say ends a session in order for a message with other terms, which begins the next one", async () => {
  const host = new FakeHost();
  const [first] = host.sessions as [FakeSession];
  const asked = host.conversations.say("s1", text("two", { with: { model: "big" } }));
  const behind = host.conversations.say("s1", text("three"));
  await expect.poll(() => first.isRetired).toBe(true);
  expect([first.current, host.sessions.length]).toEqual([{ number: 1 }, 1]);
  host.end(first);
  expect(await asked).toMatchObject({ session_id: "s2", state: "delivered" });
  expect(await behind).toMatchObject({ session_id: "s2", state: "pending" });
  expect(host.sessions[1]).toMatchObject({ request: { prompt: "two", model: "big" }, follows: { why: "terms" } });
  // The same terms are no others.
  await host.conversations.say("s1", text("four", { with: { model: "big", agent: "agent" } }));
  expect(ids(host.sessions[1]!.taken)).toEqual(["three", "four"]);
});

test("say stops the turn for an interrupt with other terms", async () => {
  const host = new FakeHost();
  const [first] = host.sessions as [FakeSession];
  const asked = host.conversations.say("s1", text("two", { delivery: "interrupt", with: { model: "big" } }));
  await expect.poll(() => first.isRetired).toBe(true);
  expect(first.current).toBeNull();
  host.end(first);
  await asked;
});

test("move begins the next session with the first message and gives it the others, before any later one", async () => {
  const host = new FakeHost();
  const [first] = host.sessions as [FakeSession];
  first.isRetired = true;
  const later = host.conversations.say("s1", text("later"));
  const given = ["two", "three"].map((words) => ({ ...text(words), message_id: words, by: { client: "ann" } }));
  const to = host.conversations.moved.move(first.live, given);
  host.end(first);
  expect(await later).toMatchObject({ session_id: to, state: "pending" });
  const [, next] = host.sessions;
  expect(next).toMatchObject({ id: to, request: { prompt: "two" }, follows: { message: { message_id: "two" } } });
  expect(ids(next!.taken)).toEqual(["three", "later"]);
});

const message = (words: string) => ({ ...text(words), message_id: words, by: { client: "ann" } });

/** The sessions that the journal names, whose messages are not all taken. */
async function listed({ journal }: FakeHost): Promise<string> {
  return (await journal.findKey("moved messages"))?.digest ?? "[]";
}

test("a conversation is not told as ended whose next session begins while its sessions are read", async () => {
  const host = new FakeHost();
  const [first] = host.sessions as [FakeSession];
  first.isRetired = true;
  const to = host.conversations.moved.move(first.live, [message("two")]);
  host.ended.add(first);
  host.onRecords = async () => {
    host.onRecords = null;
    host.end(first);
    await expect.poll(async () => host.sessions.length === 2 && await listed(host)).toBe("[]");
  };
  expect(await host.conversations.get("s1")).toMatchObject({ state: "working", head: to });
});

test("the events of a conversation go on with the session that takes what the one before has moved", async () => {
  const host = new FakeHost();
  const [first] = host.sessions as [FakeSession];
  first.isRetired = true;
  const to = host.conversations.moved.move(first.live, [message("two")]);
  const read: string[] = [];
  host.ended.add(first);
  const reading = (async () => {
    for await (const { session_id } of host.conversations.events("s1")) read.push(session_id);
  })();
  await expect.poll(() => read).toEqual(["s1"]);
  host.end(first);
  await reading;
  expect(read).toEqual(["s1", to]);
});

test("move keeps messages that cannot be taken while the host cannot write, and gives them before the next one", async () => {
  const host = new FakeHost();
  const [first] = host.sessions as [FakeSession];
  host.fault = new BulkheadError("journal_error", "The disk is full.");
  host.conversations.moved.move(first.live, [message("two"), message("three")]);
  expect(await listed(host)).toBe('["s1"]');
  host.end(first);
  await expect(host.conversations.say("s1", text("four"))).rejects.toMatchObject({ code: "journal_error" });
  expect(await listed(host)).toBe('["s1"]');
  host.fault = null;
  await host.conversations.say("s1", text("four"));
  expect(host.sessions[1]).toMatchObject({ request: { prompt: "two" } });
  expect(ids(host.sessions[1]!.taken)).toEqual(["three", "four"]);
  expect(await listed(host)).toBe("[]");
});

test("move writes a session that says why, where the next one is refused", async () => {
  const host = new FakeHost();
  const [first] = host.sessions as [FakeSession];
  host.fault = new BulkheadError("unknown_adapter", "The agent is gone.");
  const to = host.conversations.moved.move(first.live, [message("two"), message("three")]);
  host.end(first);
  await expect.poll(() => listed(host)).toBe("[]");
  expect(host.logs).toEqual([]);
  const events = (await host.journal.read({ after: 0, sessionId: to })).map(({ event }) => event);
  expect(events.map(({ type }) => type)).toEqual([
    "session_started",
    ...["message_accepted", "message_accepted", "message_dropped", "message_dropped"],
    "session_ended",
  ]);
  expect(events.at(-2)).toMatchObject({ message_id: "three", reason: "session_ended" });
  expect(events.at(-1)).toMatchObject({ result: { error: { code: "unknown_adapter" } } });
});
