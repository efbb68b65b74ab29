import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ClientError, connectHost, finalResult, readEvents } from "../../../core/doors/client/mod.ts";
import { envelopesOf, fakeResult } from "../cli/fake-host.ts";

const envelopes = envelopesOf([
  { type: "output", stream: "stdout", data: "grüße \u{1f980} \u2028 line" },
  { type: "progress", message: "half", percentage: 50 },
  { type: "session_ended", result: fakeResult() },
]);
const ndjson = envelopes.map((envelope) => `${JSON.stringify(envelope)}\n`).join("");

async function* pieces<T>(...list: T[]): AsyncGenerator<T> {
  yield* list;
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

/** Where to cut, as places in a whole of that length. */
function ranges(length: number, at: readonly number[]): [number, number][] {
  const points = [...new Set(at.map((point) => point % (length + 1)))].sort((a, b) => a - b);
  return [0, ...points].map((from, index) => [from, points[index] ?? length]);
}

const cuts = fc.array(fc.nat(), { maxLength: 40 });

test("readEvents gives the same for bytes cut anywhere", async () => {
  const bytes = new TextEncoder().encode(ndjson);
  await fc.assert(fc.asyncProperty(cuts, async (at) => {
    const cut = ranges(bytes.length, at).map(([from, to]) => bytes.slice(from, to));
    expect(await collect(readEvents(pieces(...cut)))).toEqual(envelopes);
  }));
});

test("readEvents gives the same for text cut anywhere, and for a web stream", async () => {
  await fc.assert(fc.asyncProperty(cuts, async (at) => {
    const cut = ranges(ndjson.length, at).map(([from, to]) => ndjson.slice(from, to));
    expect(await collect(readEvents(pieces(...cut)))).toEqual(envelopes);
  }));
  expect(await collect(readEvents(new Blob([ndjson]).stream()))).toEqual(envelopes);
});

test("readEvents takes blank lines, CRLF and a last line without an end", async () => {
  expect(await collect(readEvents(pieces(`\n${ndjson.replaceAll("\n", "\r\n")}\n`)))).toEqual(envelopes);
  expect(await collect(readEvents(pieces(ndjson.trimEnd())))).toEqual(envelopes);
  expect(await collect(readEvents(pieces("")))).toEqual([]);
});

test("readEvents closes a web stream that is left early", async () => {
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode(ndjson)),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const _ of readEvents(stream)) break;
  expect(cancelled).toBe(true);
});

test.each([
  ["not json"],
  ["[]"],
  ['{"v":2}'],
  ['{"v":1,"seq":1,"gseq":1,"session_id":"s","event":{}}'],
])("readEvents refuses the line %s", async (line) => {
  const reading = collect(readEvents(pieces(`${ndjson}${line}\n`)));
  const error: unknown = await reading.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ClientError);
  expect(error).toMatchObject({ code: "protocol_violation", details: { line: 4 } });
});

test("readEvents throws the error that the program reported", async () => {
  const line = JSON.stringify({ error: { code: "unknown_adapter", message: "No such adapter.", hint: "Enabled: a." } });
  await expect(collect(readEvents(pieces(line)))).rejects.toMatchObject({
    name: "ClientError",
    code: "unknown_adapter",
    message: "No such adapter.",
    hint: "Enabled: a.",
  });
});

test("readEvents caps the length of a line, ended or not", async () => {
  const options = { maxLineLength: 10 };
  await expect(collect(readEvents(pieces("x".repeat(11)), options))).rejects.toMatchObject({ code: "too_large" });
  await expect(collect(readEvents(pieces("xxxxx", "xxxxxx\n"), options))).rejects.toMatchObject({ code: "too_large" });
});

test("finalResult gives the result that ends the events", async () => {
  expect(await finalResult(readEvents(pieces(ndjson)))).toEqual(fakeResult());
  await expect(finalResult(pieces(...envelopes.slice(0, 2)))).rejects.toMatchObject({ code: "protocol_violation" });
});

test("connectHost() with proof shows its token to no server that does not know it, on a socket either", async () => {
  const shown: (string | null)[] = [];
  const fetch = (_place: string, init: RequestInit = {}) => {
    shown.push(new Headers(init.headers).get("authorization"));
    return Promise.resolve(Response.json({ proof: "0".repeat(64) }));
  };
  const token = `bh_${"0".repeat(32)}_${"A".repeat(43)}`;
  const host = connectHost({ fetch, token, proof: "once", patienceMs: 0 });
  await expect(host.list()).rejects.toMatchObject({ code: "forbidden" });
  expect(shown).toEqual([null]);
});

test("connectHost().start() refuses an option that it does not know, so that no other agent runs", async () => {
  const fetch = () => Promise.reject(new Error("Nothing may be sent."));
  const asked = connectHost({ fetch }).start({ workdir: "/w", prompt: "go" }, { agent: "codex" } as never);
  await expect(asked).rejects.toMatchObject({
    code: "invalid_request",
    message: 'Cannot start a session: there is no option "agent".',
  });
});

test("connectHost().start() sends the request as it is, and options only where they are given", async () => {
  const bodies: unknown[] = [];
  const fetch = (_place: string, init: RequestInit = {}) => {
    bodies.push(JSON.parse(String(init.body)));
    return Promise.resolve(Response.json({ session_id: "s1" }, { status: 201 }));
  };
  const host = connectHost({ fetch });
  // As a JavaScript caller may write it, whom no type warns.
  await host.start({ workdir: "/w", prompt: "go", adapter: "shout" } as never);
  await host.start({ workdir: "/w", prompt: "go" }, { adapter: "codex", artifacts: "none" });
  expect(bodies).toEqual([
    { workdir: "/w", prompt: "go", adapter: "shout" },
    { workdir: "/w", prompt: "go", adapter: "codex", artifacts: "none" },
  ]);
});

test("connectHost says of an empty token where one is, before it asks any server", async () => {
  for (const token of ["", "  ", "secret"]) {
    const error: unknown = await connectHost({ url: "http://127.0.0.1:1", token }).list().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ClientError);
    expect(error).toMatchObject({ code: "unauthorized", hint: expect.stringContaining('"bulkhead token create"') });
    expect((error as ClientError).message).toBe(
      token.trim() === "" ? "The token is empty." : "The token is not one of Bulkhead's: it has another form.",
    );
  }
});

test("connectHost().start() leaves a session when its signal aborts and the host is gone, and tells of the loss", async () => {
  const interrupt = new AbortController();
  const lost: number[] = [];
  const fetch = (place: string) =>
    place.endsWith("/v1/sessions")
      ? Promise.resolve(Response.json({ session_id: "s1" }, { status: 201 }))
      : Promise.reject(new Error("refused"));
  const onLost = (lostMs: number) => {
    lost.push(lostMs);
    if (lost.length === 2) interrupt.abort();
  };
  const session = await connectHost({ fetch, onLost }).start({ workdir: "/w", prompt: "go" }, {
    signal: interrupt.signal,
  });
  await expect(collect(session.events())).rejects.toMatchObject({
    code: "interrupted",
    message: 'Left session "s1": the host does not answer, so it was not interrupted.',
  });
  expect(lost).toEqual([0, expect.any(Number)]);
});

test.each(["events", "result"] as const)(
  "connectHost().start() interrupts no session whose end was told by its %s",
  async (told) => {
    const interrupt = new AbortController();
    const asked: string[] = [];
    const fetch = (place: string) => {
      asked.push(new URL(place).pathname);
      if (place.endsWith("/v1/sessions")) return Promise.resolve(Response.json({ session_id: "s1" }, { status: 201 }));
      if (place.includes("/events")) return Promise.resolve(new Response(ndjson));
      return Promise.resolve(Response.json({ session_id: "s1", state: "ended", result: fakeResult() }));
    };
    const session = await connectHost({ fetch }).start({ workdir: "/w", prompt: "go" }, { signal: interrupt.signal });
    if (told === "events") await collect(session.events());
    else await session.result();
    const before = asked.length;
    interrupt.abort();
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(asked.slice(before)).toEqual([]);
  },
);

describe("a client that is throttled", () => {
  const refusal = (details: object, after = "0.05") =>
    new Response(JSON.stringify({ code: "limit_exceeded", detail: "Too many requests.", details }), {
      status: 429,
      headers: { "retry-after": after },
    });
  const byMeter = { limit: "http_requests_per_second", retry_after: 1 };

  /** A host that refuses so many requests and then answers; counts all of them. */
  function hostThat(refuses: number, details: object, after?: string) {
    const seen: { at: number; waits: number[] } = { at: 0, waits: [] };
    const fetch = () =>
      Promise.resolve(seen.at++ < refuses ? refusal(details, after) : Response.json({ sessions: [], rows: [] }));
    const onThrottled = ({ waitMs }: { waitMs: number }) => void seen.waits.push(waitMs);
    return {
      seen,
      connect: (patienceMs?: number) =>
        connectHost({ fetch, onThrottled, ...(patienceMs === undefined ? {} : { patienceMs }) }),
    };
  }

  test("waits as long as the host says, tells of it, and asks again", async () => {
    const { seen, connect } = hostThat(2, byMeter);
    const started = performance.now();
    expect(await connect().usage({ days: 3 })).toEqual([]);
    expect(performance.now() - started).toBeGreaterThan(95);
    expect(seen).toEqual({ at: 3, waits: [50, 50] });
  });

  test("gives up when its patience or its signal ends, and never waits longer than it may", async () => {
    const long = hostThat(9, byMeter, "90");
    await expect(long.connect().list()).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(long.seen).toEqual({ at: 1, waits: [] });
    const short = hostThat(99, byMeter);
    await expect(short.connect(120).list()).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(short.seen.at).toBeLessThan(4);
    const leaving = hostThat(99, byMeter, "30");
    const started = leaving.connect().start({ workdir: "/", prompt: "go" }, { signal: AbortSignal.timeout(50) });
    await expect(started).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(leaving.seen.at).toBe(1);
  });

  test("repeats what is not idempotent only where the host did not look at it", async () => {
    const post = (host: ReturnType<typeof hostThat>) =>
      host.connect().addGrant("a", { permission: "net", target: "b:1" });
    const unseen = hostThat(1, byMeter);
    await post(unseen);
    expect(unseen.seen.at).toBe(2);
    const looked = hostThat(1, { limit: "tokens" });
    await expect(post(looked)).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(looked.seen.at).toBe(1);
  });
});
