import fc from "fast-check";
import { expect, it } from "vitest";
import type { Journal } from "../../../core/records/journal/journal.ts";
import type { JournalLimits } from "../../../core/records/journal/journal-limits.ts";
import { SessionCounting } from "../../../core/records/journal/session-groups.ts";
import { compareByAge, type SessionRecord } from "../../../core/records/journal/session-record.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { anyEnvelope } from "./any-envelope.ts";
import { ended, EnvelopeSource, readAll } from "./journal-fixture.ts";

/** Opens an empty journal. */
export type OpenEmpty = (limits?: Partial<JournalLimits>) => Promise<Journal>;

/** What every journal does. */
export function testJournal(openEmpty: OpenEmpty): void {
  it("is empty at first", async () => {
    const journal = await openEmpty();
    expect(journal.lastGseq).toBe(0);
    expect(await journal.read({ after: 0 })).toEqual([]);
    await journal.close();
  });

  it("reads back what was appended, in order, from any cursor", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const first = source.batch("a", 3);
    const second = source.batch("b", 2);
    await journal.append({ session_id: "a", envelopes: first });
    await journal.append({ session_id: "b", envelopes: second });
    expect(journal.lastGseq).toBe(5);
    expect(await journal.read({ after: 0 })).toEqual([...first, ...second]);
    expect(await journal.read({ after: 2 })).toEqual([...first.slice(2), ...second]);
    expect(await journal.read({ after: 5 })).toEqual([]);
    expect(await journal.read({ after: 999 })).toEqual([]);
    await journal.close();
  });

  it("reads one session alone", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    for (const id of ["a", "b", "a", "c", "a"]) {
      await journal.append({ session_id: id, envelopes: source.batch(id, 2) });
    }
    const page = await journal.read({ after: 1, sessionId: "a" });
    expect(page.map(({ gseq, seq }) => [gseq, seq])).toEqual([[2, 2], [5, 3], [6, 4], [9, 5], [10, 6]]);
    expect(await journal.read({ after: 0, sessionId: "none" })).toEqual([]);
    await journal.close();
  });

  it("gives pages of the asked size, or smaller ones", async () => {
    const journal = await openEmpty({ page_events: 5 });
    const source = new EnvelopeSource();
    await journal.append({ session_id: "a", envelopes: source.batch("a", 4) });
    await journal.append({ session_id: "a", envelopes: source.batch("a", 4) });
    const numbers = async (limit?: number): Promise<number[]> =>
      (await journal.read({ after: 2, ...(limit === undefined ? {} : { limit }) })).map(({ gseq }) => gseq);
    expect(await numbers()).toEqual([3, 4, 5, 6, 7]);
    expect(await numbers(1)).toEqual([3]);
    expect(await numbers(100)).toEqual([3, 4, 5, 6, 7, 8]);
    await journal.close();
  });

  it("ends a page early when its text is large, yet always gives something", async () => {
    const journal = await openEmpty({ page_bytes: 1000 });
    const source = new EnvelopeSource();
    for (let count = 0; count < 3; count++) {
      await journal.append({ session_id: "a", envelopes: source.batch("a", 2, "x".repeat(2000)) });
    }
    expect((await journal.read({ after: 0 })).map(({ gseq }) => gseq)).toEqual([1, 2]);
    expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual([1, 2, 3, 4, 5, 6]);
    await journal.close();
  });

  it("keeps any envelope exactly as its JSON", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyEnvelope, { minLength: 1, maxLength: 8 }), async (envelopes) => {
        const journal = await openEmpty();
        const batch = envelopes.map((envelope, index) => ({
          ...envelope,
          session_id: "any \u2028 'id'",
          gseq: index + 1,
        }));
        await journal.append({ session_id: "any \u2028 'id'", envelopes: batch });
        expect(await readAll(journal)).toEqual(JSON.parse(JSON.stringify(batch)));
        await journal.close();
      }),
      { numRuns: 30 },
    );
  });

  it("keeps what was appended, not what the caller makes of it later", async () => {
    const journal = await openEmpty();
    const [envelope] = new EnvelopeSource().batch("a", 1) as [Envelope];
    const before = structuredClone(envelope);
    const done = journal.append({ session_id: "a", envelopes: [envelope] });
    envelope.adapter.id = "other";
    envelope.event = { type: "progress", message: "later" };
    await done;
    const page = await journal.read({ after: 0 });
    expect(page).toEqual([before]);
    page.length = 0;
    expect(await journal.read({ after: 0 })).toEqual([before]);
    await journal.close();
  });

  it("gives others their turn between pages", async () => {
    const journal = await openEmpty({ page_events: 1 });
    await journal.append({ session_id: "a", envelopes: new EnvelopeSource().batch("a", 20) });
    let turns = 0;
    const count = (): void => void (turns++, timer = setImmediate(count));
    let timer = setImmediate(count);
    await readAll(journal);
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(19);
    await journal.close();
  });

  it("takes an empty batch as nothing", async () => {
    const journal = await openEmpty();
    await journal.append({ session_id: "a", envelopes: [] });
    expect(journal.lastGseq).toBe(0);
    await journal.close();
  });

  it("refuses numbers that do not rise, and goes on after it", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const [first, second, third] = source.batch("a", 3) as [Envelope, Envelope, Envelope];
    await journal.append({ session_id: "a", envelopes: [first, second] });
    for (const envelopes of [[second], [third, third], [third, first]]) {
      await expect(journal.append({ session_id: "a", envelopes })).rejects.toMatchObject({ code: "journal_error" });
    }
    await expect(journal.append({ session_id: "b", envelopes: [third] })).rejects.toMatchObject({
      code: "journal_error",
      message:
        'Cannot append event 3 of session "a" to a batch of session "b": it must be of that session and come after event 2.',
    });
    await journal.append({ session_id: "a", envelopes: [third] });
    expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual([1, 2, 3]);
    await journal.close();
  });

  it("gives from any cursor exactly the suffix, at any time, however appends and reads are mixed", async () => {
    const action = fc.oneof(
      fc.record({
        do: fc.constant("append" as const),
        session: fc.constantFrom("a", "b", "c"),
        count: fc.integer({ min: 1, max: 9 }),
      }),
      fc.record({ do: fc.constant("skip" as const), count: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ do: fc.constant("settle" as const) }),
      fc.record({
        do: fc.constant("read" as const),
        after: fc.nat({ max: 60 }),
        limit: fc.integer({ min: 1, max: 20 }),
        session: fc.constantFrom(undefined, "a", "b"),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
        const journal = await openEmpty({ commit_bytes: 700 });
        const source = new EnvelopeSource();
        const appended: Envelope[] = [];
        let acknowledged = 0;
        const pending: Promise<void>[] = [];
        for (const one of actions) {
          if (one.do === "skip") source.skip(one.count);
          else if (one.do === "settle") await Promise.all(pending);
          else if (one.do === "append") {
            const envelopes = source.batch(one.session, one.count);
            appended.push(...envelopes);
            const last = appended.length;
            pending.push(
              journal.append({ session_id: one.session, envelopes }).then(() => {
                acknowledged = Math.max(acknowledged, last);
              }),
            );
          } else {
            const { after, limit, session } = one;
            const options = session === undefined ? { after, limit } : { after, limit, sessionId: session };
            const known = appended.slice(0, acknowledged);
            const suffix = appended.filter(({ gseq, session_id }) =>
              gseq > after && (session ?? session_id) === session_id
            );
            const found = await readAll(journal, options);
            // What is not acknowledged yet may be there or not; what is there is the suffix without a hole.
            expect(found).toEqual(suffix.slice(0, found.length));
            const due = known.filter(({ gseq, session_id }) => gseq > after && (session ?? session_id) === session_id);
            expect(found.length).toBeGreaterThanOrEqual(due.length);
          }
        }
        await Promise.all(pending);
        expect(await readAll(journal)).toEqual(appended);
        expect(journal.lastGseq).toBe(appended.at(-1)?.gseq ?? 0);
        await journal.close();
      }),
      { numRuns: 60 },
    );
  });

  it("knows which sessions have begun and not ended, the oldest first", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const append = async (id: string, last = false) => {
      const envelopes = source.batch(id, 2);
      // What an agent says is no end, whatever it is called.
      envelopes[0]!.event = { type: "unparsed", data: { type: "session_ended" } };
      if (last) envelopes[1]!.event = ended;
      await journal.append({ session_id: id, envelopes });
    };
    expect(await journal.openSessions()).toEqual([]);
    for (const id of ["b", "a", "b", "c"]) await append(id);
    await append("at once", true);
    expect(await journal.openSessions()).toEqual(["b", "a", "c"]);
    await append("a", true);
    expect(await journal.openSessions()).toEqual(["b", "c"]);
    await journal.close();
    await expect(journal.openSessions()).rejects.toMatchObject({ code: "host_closed" });
  });

  it("finds the sessions of a conversation, the newest first, with their last turns", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const append = (id: string, events: unknown[]) => {
      const envelopes = events.map((event): Envelope => ({ ...source.next(id), event: event as Envelope["event"] }));
      return journal.append({ session_id: id, envelopes });
    };
    const started = (follows?: { session_id: string; turn: number }, prompt = "Say it") => ({
      type: "session_started",
      requested: { prompt },
      ...(follows && { follows: { conversation_id: "a", ...follows } }),
    });
    await append("a", [started(), ended]);
    await append("other", [started()]);
    await append("b", [started({ session_id: "a", turn: 1 }), { type: "turn_started", turn: 2 }]);
    await append("b", [{ type: "turn_started", turn: 3 }, ended]);
    await append("c", [started({ session_id: "b", turn: 3 }, "")]);
    const found = await journal.sessions({ conversation_id: "a", limit: 9 });
    expect(found.map(({ session_id, follows_session, last_turn }) => [session_id, follows_session, last_turn]))
      .toEqual([["c", "b", 3], ["b", "a", 3], ["a", null, 1]]);
    await journal.delete("a", "client");
    expect(await journal.session("a")).toMatchObject({ conversation_id: "a", last_turn: 1 });
    await journal.close();
  });

  it("lists sessions, the newest first, and leaves a gap in place of one that is deleted", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const append = (id: string, events: Envelope["event"][]) => {
      const envelopes = events.map((event): Envelope => ({ ...source.next(id), event }));
      return journal.append({ session_id: id, envelopes });
    };
    const said: Envelope["event"] = { type: "output", stream: "stdout", data: "text" };
    await append("a", [said, said]);
    await append("b", [said, said]);
    await append("a", [{ type: "attempt_started", attempt: 2, adapter_id: "second" }, said]);
    const list = async (filter = {}) =>
      (await journal.sessions({ limit: 10, ...filter })).map(({ session_id }) => session_id);
    expect(await list()).toEqual(["b", "a"]);
    expect(await journal.session("a")).toMatchObject({ adapter_id: "second", state: "running", last_seq: 4 });
    expect(await journal.delete("a", "client")).toBe(false);
    await append("a", [ended]);
    await append("b", [said]);
    expect([await list({ state: "ended" }), await list({ state: "running" })]).toEqual([["a"], ["b"]]);
    expect([await list({ before: await journal.session("b") }), await list({ limit: 1 })]).toEqual([["a"], ["b"]]);
    expect(await journal.cursorOf("a", 3)).toBe(4);
    expect(await journal.cursorOf("a", 5)).toBeNull();

    expect(await journal.delete("a", "client")).toBe(true);
    expect(await journal.delete("a", "client")).toBe(false);
    expect(await list()).toEqual(["b"]);
    expect(await journal.session("a")).toMatchObject({ deleted: { by: "client" }, last_seq: 5, title: "" });
    expect(await journal.session("c")).toBeNull();
    const gap = { seq: 5, gseq: 7, session_id: "a", event: { type: "gap", from_seq: 1, to_seq: 5 } };
    expect(await readAll(journal, { sessionId: "a" })).toMatchObject([gap]);
    expect(await readAll(journal, { sessionId: "a", after: 7 })).toEqual([]);
    for (const limit of [1, 2, 10]) {
      expect(await readAll(journal, { limit })).toMatchObject([{ gseq: 3 }, { gseq: 4 }, gap, { gseq: 8 }]);
      expect(await readAll(journal, { limit, after: 6 })).toMatchObject([gap, { gseq: 8 }]);
    }
    await journal.close();
  });

  it("finds sessions by words in any case, folder, times and interruption, and groups them for counting", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const append = async (id: string, day: string, facts: Record<string, unknown>, end: unknown = null) => {
      const { prompt, ...started } = facts;
      const event = { type: "session_started", requested: { prompt }, labels: {}, ...started };
      const events = end === null ? [event] : [event, end];
      const envelopes = events.map((one): Envelope => ({
        ...source.next(id),
        ts: `2025-01-${day}T00:00:00.000Z`,
        event: one as Envelope["event"],
      }));
      await journal.append({ session_id: id, envelopes });
    };
    const interrupted = {
      type: "session_ended",
      result: { outcome: "error", stop_reason: "interrupted", usage: { cost: 0.25, currency: "USD" } },
    };
    await append("a1", "01", { workdir: "/work/tally", prompt: "\u00c4ndere das Z\u00e4hlen 100%_" }, ended);
    await append(
      "b2",
      "02",
      { workdir: "/w/b2/tree/tally", prompt: "Fix the TALLY", labels: { team: "web" } },
      interrupted,
    );
    await append("c3", "03", { workdir: "/work/shop-tally", prompt: "Fix it", labels: { team: "web" } });
    const ids = async (filter = {}) =>
      (await journal.sessions({ limit: 10, ...filter })).map(({ session_id }) => session_id).join(" ");
    expect(await ids({ text: "fix tally" })).toBe("c3 b2");
    expect(await ids({ text: "\u00e4ndere z\u00e4hlen" })).toBe("a1");
    expect(await ids({ text: "100%_" })).toBe("a1");
    expect([await ids({ text: "100_" }), await ids({ text: "team=web" })]).toEqual(["", "c3 b2"]);
    expect([await ids({ folder: "tally" }), await ids({ folder: "shop-tally" })]).toEqual(["b2 a1", "c3"]);
    expect([await ids({ interrupted: true }), await ids({ interrupted: false })]).toEqual(["b2", "c3 a1"]);
    expect(await ids({ since: "2025-01-02T00:00:00.000Z", until: "2025-01-03T00:00:00.000Z" })).toBe("b2");
    expect(await journal.session("b2")).toMatchObject({ cost: 0.25, currency: "USD" });
    const { groups, next } = await journal.groups({ text: "tally" }, undefined);
    expect(next).toBe(null);
    expect(groups.map(({ folder, state, interrupted }) => `${folder} ${state} ${interrupted}`).sort()).toEqual([
      "shop-tally running false",
      "tally ended false",
      "tally ended true",
    ]);
    const counting = new SessionCounting({ folder: "tally", state: "ended" });
    counting.add(groups);
    expect(counting.counts).toEqual({
      total: 2,
      states: { running: 0, completed: 1, blocked: 0, error: 0, interrupted: 1 },
      adapters: expect.any(Array),
      folders: [{ name: "tally", count: 2 }],
      labels: [{ name: "team=web", count: 1 }],
    });
    await journal.close();
  });

  it("pages through sessions of one moment, of this journal and another one, without passing over any", async () => {
    const journals = [await openEmpty(), await openEmpty()];
    const ids: string[] = [];
    for (const [which, journal] of journals.entries()) {
      const source = new EnvelopeSource();
      for (let at = 0; at < 5; at++) {
        const id = `${"dbace"[at]}${which}`;
        ids.push(id);
        await journal.append({ session_id: id, envelopes: source.batch(id, 1) });
      }
    }
    const seen: SessionRecord[] = [];
    for (let before = {}; seen.length < 20;) {
      const pages = await Promise.all(journals.map((journal) => journal.sessions({ limit: 3, ...before })));
      const page = pages.flat().sort(compareByAge).slice(0, 3);
      seen.push(...page);
      if (page.length < 3) break;
      before = { before: page.at(-1) };
    }
    expect(seen.map(({ session_id }) => session_id).sort()).toEqual(ids.sort());
    expect(seen).toEqual(seen.toSorted(compareByAge));
    for (const journal of journals) await journal.close();
  });

  it("lists sessions by the order of their events, also where the clock was ahead", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const days = { a: "02", ahead: "09", b: "03", c: "04" };
    for (const [id, day] of Object.entries(days)) {
      const envelopes = source.batch(id, 1).map((envelope) => ({ ...envelope, ts: `2025-01-${day}T00:00:00.000Z` }));
      await journal.append({ session_id: id, envelopes });
    }
    const seen: SessionRecord[] = [];
    while (seen.length < 4) seen.push(...await journal.sessions({ limit: 1, before: seen.at(-1) }));
    expect(seen.map(({ session_id }) => session_id)).toEqual(["c", "b", "ahead", "a"]);
    expect((await journal.session("b"))?.started_at).toBe("2025-01-03T00:00:00.000Z");
    await journal.close();
  });

  it("knows a session's grants, attempts and programs, and forgets them with it", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const told = [
      { type: "session_started", adapter_id: "one", effective: { permissions: { run: ["git"] } } },
      { type: "attempt_started", attempt: 1, adapter_id: "one" },
      { type: "process_spawned", process_id: 1, pid: 7, identity: "i7", argv: ["/bin/git", "log"] },
      { type: "process_exited", process_id: 1, pid: 7, exit_code: 1, signal: null, duration_ms: 1 },
      { type: "attempt_failed", attempt: 1, adapter_id: "one", error: { code: "crash", message: "" } },
      { type: "attempt_started", attempt: 2, adapter_id: "two", permissions: { kv: true } },
      { type: "process_spawned", process_id: 2, pid: 8, argv: ["/bin/sh"] },
    ] as unknown as Envelope["event"][];
    for (const [at, event] of told.entries()) {
      const attempt = at < 5 ? 1 : 2;
      await journal.append({ session_id: "a", envelopes: [{ ...source.next("a"), attempt, event, source: "host" }] });
    }
    const ts = "2025-01-01T00:00:00.000Z";
    const times = { started_at: ts, ended_at: ts };
    const known = {
      grants: [
        { attempt: 1, adapter_id: "one", permissions: { run: ["git"] } },
        { attempt: 2, adapter_id: "two", permissions: { kv: true } },
      ],
      attempts: [
        { attempt: 1, adapter_id: "one", ...times, error_code: "crash" },
        { attempt: 2, adapter_id: "two", started_at: ts, ended_at: null, error_code: null },
      ],
      children: [
        {
          process_id: 1,
          attempt: 1,
          pid: 7,
          identity: "i7",
          program: "/bin/git",
          ...times,
          exit_code: 1,
          signal: null,
        },
        {
          process_id: 2,
          attempt: 2,
          pid: 8,
          identity: null,
          program: "/bin/sh",
          started_at: ts,
          ended_at: null,
          exit_code: null,
          signal: null,
        },
      ],
    };
    expect(await journal.history("a")).toEqual(known);
    expect(await journal.leftChildren()).toEqual([{ session_id: "a", pid: 8, identity: null, program: "/bin/sh" }]);
    await journal.append({ session_id: "a", envelopes: [{ ...source.next("a"), event: ended }] });
    expect((await journal.history("a")).attempts[1]).toEqual({ ...known.attempts[1], ended_at: ts });
    expect(await journal.delete("a", "client")).toBe(true);
    const nothing = { grants: [], attempts: [], children: [] };
    expect([await journal.history("a"), await journal.history("b")]).toEqual([nothing, nothing]);
    expect(await journal.leftChildren()).toEqual([]);
    await journal.close();
  });

  it("deletes a session that has not ended where its caller knows that nobody runs it", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    for (const session_id of ["a", "b", "a"]) {
      await journal.append({ session_id, envelopes: source.batch(session_id, 2) });
    }
    expect(await journal.delete("none", "client", { leftOpen: true })).toBe(false);
    expect(await journal.delete("a", "client", { leftOpen: true })).toBe(true);
    expect(await journal.delete("a", "client", { leftOpen: true })).toBe(false);
    expect(await journal.openSessions()).toEqual(["b"]);
    const gap = { seq: 4, gseq: 6, session_id: "a", event: { type: "gap", from_seq: 1, to_seq: 4 } };
    expect(await readAll(journal, { sessionId: "a" })).toMatchObject([gap]);
    expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual([3, 4, 6]);
    await journal.close();
  });

  it("writes what waits before it closes, and refuses all after it", async () => {
    const journal = await openEmpty();
    const source = new EnvelopeSource();
    const appends = [1, 2, 3].map(() => journal.append({ session_id: "a", envelopes: source.batch("a", 2) }));
    const closed = journal.close();
    await expect(journal.append({ session_id: "a", envelopes: source.batch("a", 1) })).rejects.toMatchObject({
      code: "host_closed",
      message: "Cannot use the journal: it is closed.",
    });
    await expect(journal.read({ after: 0 })).rejects.toMatchObject({ code: "host_closed" });
    await Promise.all(appends);
    await closed;
    await journal.close();
    expect(journal.lastGseq).toBe(6);
  });
}
