import { describe, expect, test } from "vitest";
import type { RunSessionOptions, SessionHandle } from "../../../core/sessions/host/session-host.ts";
import { derivedKey, KeyedSessions } from "../../../core/sessions/host/idempotency.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import { MergedLog } from "../../../core/sessions/session/merged-log.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { fakeResult } from "../../doors/cli/fake-host.ts";
import { adapterCode, completed, errorOf, openHost } from "./test-host.ts";

const day = 86_400_000;

/** Keys over sessions that the test ends by hand, on a clock that it moves. */
function makeKeyed({ keys = 3, ms = day } = {}) {
  const clock = { now: 0 };
  const started: { id: string; end(): void; fail(): void }[] = [];
  const journal = createMemoryJournal();
  const log = new MergedLog(journal);
  const handle = (id: string, result: Promise<SessionResult>): SessionHandle => ({
    id,
    events: () => log.subscribe({ sessionId: id, after: 0 }),
    result: () => result,
    interrupt: () => result,
    answer: () => Promise.resolve(false),
  });
  const keyed = new KeyedSessions({
    limits: () => ({ idempotency_keys: keys, idempotency_ms: ms }),
    handleOf: (id) => handle(id, Promise.resolve(fakeResult())),
    journal,
    now: () => clock.now,
  });
  const start = (): Promise<SessionHandle> => {
    const id = `s${started.length + 1}`;
    let end!: (result: SessionResult) => void;
    let fail!: (error: unknown) => void;
    const result = new Promise<SessionResult>((resolve, reject) => ([end, fail] = [resolve, reject]));
    started.push({ id, end: () => end(fakeResult()), fail: () => fail(new Error("no journal")) });
    return Promise.resolve(handle(id, result));
  };
  const run = (key: string | undefined, changes: Partial<RunSessionOptions> & { prompt?: string } = {}) => {
    const { prompt = "go", ...options } = changes;
    const request = { workdir: "/w", prompt, ...(key === undefined ? {} : { idempotency_key: key }) };
    return keyed.run(request, { adapter: "acme", ...options }, async (begins) => {
      const session = await start();
      await begins?.(session.id);
      return session;
    });
  };
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  return { keyed, run, started, clock, settle };
}

describe("KeyedSessions", () => {
  test("the same key and request is the same session; without a key each is another", async () => {
    const { run, started } = makeKeyed();
    expect([(await run("k")).id, (await run("k")).id, (await run(undefined)).id, (await run(undefined)).id])
      .toEqual(["s1", "s1", "s2", "s3"]);
    expect(started).toHaveLength(3);
  });

  test("a key that was used for another request is refused, whatever is other about it", async () => {
    const { run } = makeKeyed();
    await run("k");
    const require = { code_review: true };
    for (const changes of [{ prompt: "other" }, { adapter: "other" }, { artifacts: "none" as const }, { require }]) {
      expect(await errorOf(run("k", changes))).toMatchObject({
        code: "idempotency_conflict",
        message: 'The idempotency key "k" was used for another request.',
      });
    }
    expect((await run("k", { artifacts: "git" })).id).toBe("s1");
  });

  test("clients do not share keys", async () => {
    const { run } = makeKeyed();
    expect([(await run("k", { client: "a" })).id, (await run("k", { client: "b" })).id, (await run("k")).id])
      .toEqual(["s1", "s2", "s3"]);
    expect((await run("k", { client: "a" })).id).toBe("s1");
  });

  test("forgets a key so long after its session's end, never while it runs, and at once where its end has no record", async () => {
    const { keyed, run, started, clock, settle } = makeKeyed({ ms: 1000 });
    await run("k");
    clock.now = 5000;
    expect((await run("k")).id).toBe("s1");
    started[0]!.end();
    await settle();
    clock.now = 5999;
    expect((await run("k")).id).toBe("s1");
    clock.now = 6000;
    expect((await run("k")).id).toBe("s2");
    started[1]!.fail();
    await settle();
    expect(keyed.size).toBe(0);
    expect((await run("k")).id).toBe("s3");
  });

  test("holds so many keys of sessions that are over, and forgets those first that ended first", async () => {
    const { keyed, run, started, clock, settle } = makeKeyed({ keys: 3 });
    for (const key of ["a", "b", "c", "d"]) await run(key);
    expect(keyed.size).toBe(4);
    for (const index of [2, 0, 1]) {
      clock.now++;
      started[index]!.end();
      await settle();
    }
    expect(keyed.size).toBe(3);
    expect((await run("a")).id).toBe("s1");
    expect((await run("d")).id).toBe("s4");
    expect((await run("c")).id).toBe("s5");
  });

  test("what could not start is not remembered", async () => {
    const { keyed } = makeKeyed();
    const request = { workdir: "/w", prompt: "go", idempotency_key: "k" };
    await keyed.run(request, { adapter: "acme" }, () => Promise.reject(new Error("no"))).catch(() => {});
    expect(keyed.size).toBe(0);
  });
});

test("two callers with one key each read every event from the first on, during the session and after it", async () => {
  const made = await openHost();
  await made.add("works", { code: adapterCode(`    yield { type: "progress", message: "x" };\n yield ${completed};`) });
  const request = { workdir: made.workdir, prompt: "go", idempotency_key: "k" };
  const ask = () => made.host.runSession(request, { adapter: "works", artifacts: "none" });
  const [first, second] = await Promise.all([ask(), ask()]);
  const read = async (session: SessionHandle) => {
    const seqs: number[] = [];
    for await (const { seq } of session.events()) seqs.push(seq);
    return seqs;
  };
  const both = await Promise.all([read(first), read(second)]);
  const late = await read(await ask());
  expect(late.length).toBeGreaterThan(3);
  expect(late).toEqual(late.map((_, index) => index + 1));
  expect(both).toEqual([late, late]);
  expect((await first.result()).session_id).toBe(second.id);
  expect(await errorOf(made.host.runSession({ ...request, prompt: "other" }, { adapter: "works" })))
    .toMatchObject({ code: "idempotency_conflict" });
});

test("a key is the same session after a restart, until the session is deleted, and of another request refused", async () => {
  const code = adapterCode(
    `    yield { type: "output", stream: "stdout", data: request.prompt };\n yield ${completed};`,
  );
  const first = await openHost();
  await first.add("works", { code });
  const request = { workdir: first.workdir, prompt: "go", idempotency_key: "k" };
  const options = { adapter: "works", artifacts: "none" } as const;
  const session = await first.host.runSession(request, options);
  const result = await session.result();
  await first.host.close();

  const { host, add } = await openHost({ root: first.root });
  await add("works", { code });
  const again = await host.runSession(request, options);
  expect(again.id).toBe(session.id);
  expect(await again.result()).toEqual(result);
  const seqs: number[] = [];
  for await (const { seq } of again.events()) seqs.push(seq);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(await errorOf(host.runSession({ ...request, prompt: "other" }, options))).toMatchObject({
    code: "idempotency_conflict",
  });
  await host.close();

  const third = await openHost({ root: first.root });
  await third.add("works", { code });
  await third.host.sessions.delete(session.id);
  expect((await third.host.runSession(request, options)).id).not.toBe(session.id);
});

test("derivedKey never becomes longer than a key may be", () => {
  expect(derivedKey("k", "2")).toBe("k#2");
  const [one, other] = ["a", "b"].map((end) => derivedKey(`${"k".repeat(255)}${end}`, "10"));
  expect(one).not.toBe(other);
  expect([one!.length, derivedKey("k".repeat(256), "a".repeat(64)).length]).toEqual([67, 129]);
});
