import { describe, expect, test } from "vitest";
import { connectHost } from "../../../core/doors/client/mod.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { adapterCode, completed, openHost } from "../../sessions/host/test-host.ts";
import { openDoor } from "./door-fixture.ts";

const asks = adapterCode(`
    yield { type: "question", request_id: "q", question: "Which colour?", options: ["red", "blue"] };
    yield { type: "output", stream: "stdout", data: String(await ctx.answer("q")) };
    yield ${completed};`);

const asksTooMuch = adapterCode(`
    const options = Array.from({ length: 64 }, (_, n) => n + "x".repeat(1000));
    for (let n = 0; n < 60; n++) yield { type: "question", request_id: "q" + n, question: "y".repeat(60_000), options };
    yield { type: "output", stream: "stdout", data: "asked" };
    yield { type: "output", stream: "stdout", data: String(await ctx.answer("q59")) };
    await ctx.answer("q0");
    yield ${completed};`);

const waits = adapterCode(`
    yield { type: "output", stream: "stdout", data: "begun" };
    await ctx.sleep(600_000);
    yield ${completed};`);

async function made() {
  const real = await openHost();
  await real.add("asks", { code: asks });
  await real.add("waits", { code: waits });
  const door = await openDoor({ sessions: real.host.sessions });
  const client = await door.client("read", "run");
  const request = { workdir: real.workdir, prompt: "go" };
  return { ...real, door, client, request };
}

async function collect(events: AsyncIterable<Envelope>): Promise<Envelope[]> {
  const all: Envelope[] = [];
  for await (const envelope of events) all.push(envelope);
  return all;
}

describe("a real host behind its door", () => {
  test("a list of sessions stays small whatever they wait for", async () => {
    const { client, door, request, add } = await made();
    await add("much", { code: asksTooMuch });
    const sessions = await Promise.all(
      [1, 2, 3].map(() => client.start(request, { adapter: "much", artifacts: "none" })),
    );
    for (const session of sessions) {
      const seen: Envelope[] = [];
      for await (const envelope of session.events()) {
        seen.push(envelope);
        // The adapter is told that nobody answers what was not let in.
        if (envelope.event.type === "output" && envelope.event.data === "null") break;
      }
      const waiting = (await session.summary()).waiting;
      expect(waiting.length).toBe(seen.filter(({ event }) => event.type === "question").length);
      expect(waiting.length).toBeGreaterThan(1);
      expect(waiting.length).toBeLessThan(32);
      expect(waiting.every(({ cut }) => cut)).toBe(true);
      expect(seen.filter(({ event }) => event.type === "unparsed")).toHaveLength(60 - waiting.length);
    }
    const started = performance.now();
    const headers = { authorization: `Bearer ${await door.token("read")}` };
    const text = await (await fetch(`${door.url}/v1/sessions`, { headers })).text();
    expect(text.length).toBeLessThan(3 * 16_384);
    expect(performance.now() - started).toBeLessThan(1000);
    for (const session of sessions) await session.interrupt();
  });

  test("a question is shown, answered once, and the session goes on", async () => {
    const { client, request } = await made();
    const session = await client.start(request, { adapter: "asks", artifacts: "none" });
    await expect.poll(async () => (await session.summary()).waiting, { timeout: 20_000 }).toMatchObject([
      { request_id: "q", type: "question", choices: ["red", "blue"] },
    ]);
    expect(await session.answer("r", "blue")).toBe(false);
    expect(await session.answer("q", "blue")).toBe(true);
    expect(await session.answer("q", "red")).toBe(false);
    expect(await session.result()).toMatchObject({ outcome: "completed" });
    expect(await client.history(session.id)).toEqual({
      grants: [{ attempt: 1, adapter_id: "asks", permissions: expect.any(Object) }],
      attempts: [{
        attempt: 1,
        adapter_id: "asks",
        started_at: expect.any(String),
        ended_at: (await session.summary()).ended_at,
        error_code: null,
      }],
      children: [],
    });
    const events = await collect(session.events());
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    expect(JSON.stringify(events)).toContain('"data":"blue"');
  });

  test("an interrupt ends the session, and its result says so", async () => {
    const { client, request } = await made();
    const session = await client.start(request, { adapter: "waits", artifacts: "none" });
    expect(await session.interrupt()).toMatchObject({ stop_reason: "interrupted" });
    expect(await session.interrupt()).toMatchObject({ stop_reason: "interrupted" });
    const stop = new AbortController();
    const next = await client.start(request, { adapter: "waits", artifacts: "none", signal: stop.signal });
    stop.abort();
    expect(await next.result()).toMatchObject({ stop_reason: "interrupted" });
  });

  test("of a session that was deleted a reader learns what it has missed, and the stream ends", async () => {
    const { client, door, request } = await made();
    const session = await client.start(request, { adapter: "waits", artifacts: "none" });
    await expect(client.delete(session.id)).rejects.toMatchObject({ name: "ClientError", code: "busy" });
    await session.interrupt();
    const { last_seq } = await session.summary();
    await client.delete(session.id);
    // What was deleted is not there (404), and its tombstone says since when and by whom.
    await expect(client.get(session.id)).rejects.toMatchObject({
      code: "not_found",
      details: { deleted_at: expect.any(String), deleted_by: "client" },
    });
    await expect(client.delete(session.id)).rejects.toMatchObject({ code: "not_found" });
    const again = await (await client.open(session.id)).events({ after: 1 });
    expect((await collect(again)).map(({ event }) => event)).toEqual([
      { type: "gap", from_seq: 2, to_seq: last_seq },
    ]);
    expect(door.logs).toEqual([]);
  });

  test("a number of another journal is refused, instead of silence until this one has come so far", async () => {
    const { client, door } = await made();
    const events = client.events({ after: 5000 })[Symbol.asyncIterator]();
    await expect(events.next()).rejects.toMatchObject({ code: "invalid_request", details: { after: 5000, newest: 0 } });
    const metrics = await (await door.local("http://localhost/metrics")).text();
    expect(metrics).toContain("bulkhead_http_streams 0");
  });

  test("what cannot start is refused with the host's own code, sentence and hint", async () => {
    const { client, request } = await made();
    const refused = await client.start(request, { adapter: "nobody" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      name: "ClientError",
      code: "unknown_adapter",
      hint: expect.stringMatching(/asks/),
    });
    await expect(client.start({ ...request, workdir: "/nowhere/at/all" }, { adapter: "asks" }))
      .rejects.toMatchObject({ code: "workdir_missing" });
  });

  test("the same request with the same key is one session, by header and by field", async () => {
    const { client, door, request } = await made();
    const token = await door.token("run");
    const post = async (headers: Record<string, string>, body: object) => {
      const response = await fetch(`${door.url}/v1/sessions`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ ...request, adapter: "waits", artifacts: "none", ...body }),
      });
      const { session_id, code } = await response.json() as { session_id?: string; code?: string };
      return { status: response.status, location: response.headers.get("location"), session_id, code };
    };
    const first = await post({ "idempotency-key": "k" }, {});
    expect(first).toMatchObject({ status: 201, location: `/v1/sessions/${first.session_id}` });
    expect(await post({}, { idempotency_key: "k" })).toEqual({ ...first, status: 200 });
    expect(await post({ "idempotency-key": "k" }, { prompt: "other" })).toMatchObject({
      status: 422,
      code: "idempotency_conflict",
    });
    expect(await post({ "idempotency-key": "k" }, { idempotency_key: "l" })).toMatchObject({ code: "invalid_request" });
    expect(await client.list()).toHaveLength(1);
  });

  test.each(["read", "run"] as const)(
    "pages of a list lead from one to the next, for a token that may %s",
    async (scope) => {
      const { door, request } = await made();
      const token = await door.token(scope, "run");
      const client = connectHost({ url: door.url, token });
      await (await door.client()).start(request, { adapter: "waits", artifacts: "none" });
      for (const label of ["a", "b", "a"]) {
        await client.start({ ...request, labels: { label } }, { adapter: "waits", artifacts: "none" });
      }
      const others = scope === "read" ? 1 : 0;
      const page = async (query: string) => {
        const headers = { authorization: `Bearer ${token}` };
        return await (await fetch(`${door.url}/v1/sessions?${query}`, { headers })).json() as {
          sessions: { session_id: string }[];
          next: string | null;
        };
      };
      const one = await page("limit=2");
      const two = await page(`limit=2&before=${one.next}`);
      expect([one.sessions.length, two.sessions.length]).toEqual([2, 1 + others]);
      expect(new Set([...one.sessions, ...two.sessions].map(({ session_id }) => session_id)).size).toBe(3 + others);
      expect((await page("limit=4")).next === null).toBe(scope === "run");
      expect((await page("label=label%3Da")).sessions).toHaveLength(2);
      expect((await page("state=ended")).sessions).toHaveLength(0);
    },
  );
});
