import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { connectHost, type FetchLike } from "../../../core/doors/client/mod.ts";
import type { BatchedEvents } from "../../../core/sessions/session/envelope-batches.ts";
import { eventStream } from "../../../core/doors/http/event-stream.ts";
import { envelopeText, lineFraming, mergedFraming, sessionFraming } from "../../../core/doors/http/event-framing.ts";
import { unixFetch } from "../../../core/ground/platform/net/unix-fetch.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { anyEnvelope } from "../../records/journal/any-envelope.ts";
import { openDoor } from "./door-fixture.ts";

const request = { workdir: "/project", prompt: "Fix it" };
const outputs = (count: number) => Array.from({ length: count }, (_, number) => `line ${number}`);

/** Ids of a stream of server-sent events, in order. */
function idsOf(text: string): number[] {
  return [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
}

describe("server-sent events", () => {
  test("Last-Event-ID and after give exactly what is missing; the header counts before the query", async () => {
    const door = await openDoor();
    const host = await door.client();
    const session = await host.start(request);
    await door.sessions.say(session.id, ...outputs(20));
    await door.sessions.end(session.id);
    const read = async (query: string, headers: Record<string, string> = {}) => {
      const url = `http://localhost/v1/sessions/${session.id}/events${query}`;
      return idsOf(await (await door.local(url, { headers })).text());
    };
    const all = Array.from({ length: 22 }, (_, at) => at + 1);
    expect(await read("")).toEqual(all);
    for (const after of [0, 1, 7, 20, 21]) {
      expect(await read(`?after=${after}`)).toEqual(all.slice(after));
      expect(await read("?after=3", { "last-event-id": String(after) })).toEqual(all.slice(after));
    }
  });

  test("an agent's own agent can be followed alone, with the beginnings of its agents", async () => {
    const door = await openDoor();
    const { id } = await (await door.client()).start(request);
    const said: Envelope["event"] = { type: "output", stream: "stdout", data: "x" };
    const began = (agent_id: string, parent?: string): Envelope["event"] => {
      return { type: "agent_started", agent_id, name: agent_id, ...(parent === undefined ? {} : { parent }) };
    };
    const inner = (agent_id: string) => ({ ...said, agent_id }) as Envelope["event"];
    const events = [began("one"), said, inner("one"), began("two", "one"), inner("two"), began("three"), inner("one")];
    for (const event of events) await door.sessions.tell(id, event);
    const read = async (query: string) => {
      const url = `http://localhost/v1/sessions/${id}/events?follow=false${query}`;
      return idsOf(await (await door.local(url)).text());
    };
    expect(await read("&agent=one")).toEqual([2, 4, 5, 8]);
    expect(await read("&agent=one&after=2&limit=2")).toEqual([4, 5]);
    expect(await read("&agent=two&type=output")).toEqual([6]);
    expect((await door.local(`http://localhost/v1/sessions/${id}/events?agent=`)).status).toBe(400);
  });

  test("after the end there is nothing, in a way that a browser's client does not ask for again", async () => {
    const door = await openDoor();
    const session = await (await door.client()).start(request);
    await door.sessions.end(session.id);
    const url = `http://localhost/v1/sessions/${session.id}/events`;
    const response = await door.local(url, { headers: { "last-event-id": "2" } });
    expect(response.status).toBe(204);
  });

  test.each(["-1", "x", "1.5", "99999999999999999999", " 1 1"])("Last-Event-ID %j is refused", async (id) => {
    const door = await openDoor();
    const url = "http://localhost/v1/events";
    expect((await door.local(url, { headers: { "last-event-id": id } })).status).toBe(400);
  });

  test("a stream that has nothing to tell says that it is alive, and how far it has looked", async () => {
    const door = await openDoor({ limits: { http_heartbeat_ms: 40 } });
    const session = await (await door.client()).start(request);
    const response = await door.local("http://localhost/v1/events?type=plan&after=0");
    const reader = response.body!.getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await next()).toBe("id: 1\n\n");
    expect(await next()).toBe(": still here\n\n");
    await door.sessions.say(session.id, "one");
    await expect.poll(next).toBe("id: 2\n\n");
    await reader.cancel();
  });

  test("readers of all events, of some and of one session each get theirs, live", async () => {
    const door = await openDoor();
    const session = await (await door.client()).start(request);
    const queries = ["events", "events", "events?type=session_ended", `sessions/${session.id}/events`];
    const readers = await Promise.all(queries.map(async (query) => {
      const response = await door.local(`http://localhost/v1/${query}`);
      return response.body!.pipeThrough(new TextDecoderStream()).getReader();
    }));
    const until = async (reader: ReadableStreamDefaultReader<string>, end: string) => {
      let text = "";
      while (!text.includes(end)) text += (await reader.read()).value;
      return text;
    };
    const ends = readers.map((reader) => until(reader, "session_ended"));
    await door.sessions.say(session.id, ...outputs(3));
    await door.sessions.end(session.id);
    const [all, same, some, own] = await Promise.all(ends);
    expect(idsOf(all!)).toEqual([2, 3, 4, 5]);
    expect(same).toBe(all);
    expect(idsOf(some!)).toEqual([5]);
    expect(idsOf(own!)).toEqual([1, 2, 3, 4, 5]);
    for (const reader of readers) await reader.cancel();
  });

  test("NDJSON is one envelope a line, the same as the events", async () => {
    const door = await openDoor();
    const session = await (await door.client()).start(request);
    await door.sessions.say(session.id, "a\nb", "c");
    await door.sessions.end(session.id);
    const url = `http://localhost/v1/sessions/${session.id}/events`;
    const lines = await door.local(url, { headers: { accept: "application/x-ndjson" } });
    expect(lines.headers.get("content-type")).toBe("application/x-ndjson");
    const events = await (await door.local(url)).text();
    const datas = [...events.matchAll(/^data: (.*)$/gm)].map((match) => match[1]);
    expect((await lines.text()).trimEnd().split("\n")).toEqual(datas);
  });

  test("filters choose by type, kind, adapter and label; the end is told all the same", async () => {
    const door = await openDoor();
    const host = await door.client();
    const red = await host.start({ ...request, labels: { colour: "red", a: "=" } });
    const blue = await host.start({ ...request, labels: { colour: "blue" } });
    for (const { id } of [red, blue]) {
      await door.sessions.tell(id, { type: "thinking", content: "hm" });
      await door.sessions.say(id, "text");
      await door.sessions.end(id);
    }
    const read = async (filter: object) => {
      const stop = new AbortController();
      const seen: string[] = [];
      setTimeout(() => stop.abort(), 400);
      for await (const { session_id, event } of host.events({ after: 0, signal: stop.signal, ...filter })) {
        seen.push(`${session_id === red.id ? "red" : "blue"} ${event.type}`);
      }
      return seen;
    };
    expect(await read({ type: ["output"] })).toEqual([
      "red output",
      "red session_ended",
      "blue output",
      "blue session_ended",
    ]);
    expect(await read({ kind: ["reasoning"], labels: { colour: "blue" } })).toEqual([
      "blue thinking",
      "blue session_ended",
    ]);
    expect(await read({ labels: { colour: "red", a: "=" }, type: ["plan"] })).toEqual(["red session_ended"]);
    expect(await read({ adapter: ["other"] })).toEqual([]);
  });
});

describe("a client that is cut off", () => {
  test("resumes by itself with exactly the missing events, wherever it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 3000 }), { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (cuts, batches, merged) => {
          const door = await openDoor();
          const cutting = cutFetch(door.local, [...cuts]);
          const host = connectHost({ fetch: cutting, patienceMs: 20_000 });
          const session = await (await door.client()).start(request);
          const seen: number[] = [];
          const reading = (async () => {
            const events = merged ? host.events({ after: 0 }) : host.open(session.id).then((one) => one.events());
            for await (const { seq, event } of await events) {
              seen.push(seq);
              if (event.type === "session_ended") break;
            }
          })();
          for (const batch of batches) {
            await door.sessions.say(session.id, ...outputs(batch));
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
          await door.sessions.end(session.id);
          await reading;
          const total = batches.reduce((sum, batch) => sum + batch, 2);
          expect(seen).toEqual(Array.from({ length: total }, (_, at) => at + 1));
        },
      ),
      { numRuns: 12, endOnFailure: true },
    );
  }, 60_000);

  test("tells why when the host is gone for longer than its patience, and stops at once when it is aborted", async () => {
    const door = await openDoor();
    const session = await (await door.client()).start(request);
    const host = connectHost({ fetch: unixFetch(`${door.socket}.gone`), patienceMs: 300 });
    await expect(collect(host.events())).rejects.toMatchObject({ name: "ClientError", code: "network_error" });
    const stop = new AbortController();
    const seen: Envelope[] = [];
    for await (const envelope of (await (await door.client()).open(session.id)).events({ signal: stop.signal })) {
      seen.push(envelope);
      // Nothing more comes: only the signal ends the wait for it.
      setTimeout(() => stop.abort(), 50);
    }
    expect(seen).toHaveLength(1);
  });

  test("knows the result of a session whose end it was told, though the host is gone since", async () => {
    const door = await openDoor();
    const session = await (await door.client()).start(request);
    await door.sessions.end(session.id);
    let told: unknown;
    for await (const { event } of session.events()) if (event.type === "session_ended") told = event.result;
    door.door.close();
    await Promise.all(door.servers.map((server) => server.close()));
    expect(told).toBeDefined();
    expect(await session.result()).toEqual(told);
  });

  test("goes on after the host was closed and opened again", async () => {
    const door = await openDoor();
    const session = await (await door.client()).start(request);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { seq } of session.events()) seen.push(seq);
    })();
    await expect.poll(() => seen.length).toBe(1);
    await door.reopenSocket();
    await door.sessions.say(session.id, "one");
    await door.sessions.end(session.id);
    await reading;
    expect(seen).toEqual([1, 2, 3]);
  });
});

test("a door that closes ends its streams, and says to whoever comes later that it is closed", async () => {
  const door = await openDoor();
  const send = door.local;
  const stream = await send("http://localhost/v1/events");
  door.door.close();
  expect(await stream.text()).toBe("");
  const late = await send("http://localhost/v1/events");
  expect([late.status, late.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await late.json()).toMatchObject({ code: "host_closed" });
});

describe("eventStream", () => {
  test("reads a bounded number of envelopes ahead of a client that takes none", async () => {
    let pulled = 0;
    async function* endless(): AsyncGenerator<Envelope> {
      while (true) {
        pulled += 1;
        yield { event: { type: "output" } } as Envelope;
      }
    }
    let ended = 0;
    const stream = eventStream({
      events: endless(),
      frame: () => "x".repeat(1024),
      idle: () => "",
      heartbeatMs: 10_000,
      done: () => void (ended += 1),
    });
    const reader = stream.getReader();
    await expect.poll(() => pulled).toBeGreaterThan(200);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = pulled;
    expect(before).toBeLessThan(300);
    expect((await reader.read()).value!.length).toBe(before * 1024);
    await expect.poll(() => pulled).toBeGreaterThan(before);
    await reader.cancel();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const last = pulled;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([pulled, ended]).toEqual([last, 1]);
  });

  test("sends a batch that others read too as the bytes made for all, in its order, and reads it no further ahead", async () => {
    let pulled = 0;
    const single = new TextEncoder().encode("one by one ");
    const events: BatchedEvents = {
      [Symbol.asyncIterator]: () => expect.unreachable(),
      batches: () => ({
        next() {
          pulled += 1;
          const envelopes = [{ gseq: pulled } as Envelope];
          return Promise.resolve({ done: false, value: { envelopes, isShared: pulled !== 2 } });
        },
      }),
    };
    const bytes = new Uint8Array(64 * 1024).fill(120);
    const reader = eventStream({
      events,
      frame: () => "one by one ",
      frameShared: () => bytes,
      idle: () => "",
      heartbeatMs: 10_000,
      done: () => {},
    }).getReader();
    await expect.poll(() => pulled).toBe(5);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(pulled).toBe(5);
    const pieces: Uint8Array[] = [];
    for (let count = 0; count < 3; count++) pieces.push((await reader.read()).value!);
    // The bytes themselves, not a copy for each reader.
    expect(pieces[0]).toBe(bytes);
    expect(pieces[1]).toEqual(single);
    expect(pieces[2]).toBe(bytes);
    await reader.cancel();
  });

  test("sends the small batches that wait for it as one piece", async () => {
    const batch = { envelopes: [{} as Envelope], isShared: true };
    const waiting = [batch, batch, batch];
    const events: BatchedEvents = {
      [Symbol.asyncIterator]: () => expect.unreachable(),
      batches: () => ({
        next: async () =>
          waiting.pop() === undefined ? { done: true, value: undefined } : { done: false, value: batch },
      }),
    };
    const reader = eventStream({
      events,
      frame: () => expect.unreachable(),
      frameShared: () => new TextEncoder().encode("small "),
      idle: () => "",
      heartbeatMs: 10_000,
      done: () => {},
    }).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("small small small ");
    expect((await reader.read()).done).toBe(true);
  });

  test("says that it is alive a heartbeat after the last event, however many came before", async () => {
    let say = (): void => {};
    async function* spoken(): AsyncGenerator<Envelope> {
      for (;;) {
        await new Promise<void>((resolve) => (say = resolve));
        yield {} as Envelope;
      }
    }
    const reader = eventStream({
      events: spoken(),
      frame: () => "event",
      idle: () => "alive",
      heartbeatMs: 200,
      done: () => {},
    }).getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    for (let count = 0; count < 4; count++) {
      setTimeout(() => say(), 120);
      expect(await next()).toBe("event");
    }
    const last = performance.now();
    expect(await next()).toBe("alive");
    expect(performance.now() - last).toBeGreaterThan(190);
    expect(await next()).toBe("alive");
    await reader.cancel();
  });

  test("what fails in the source fails the stream, after what came before", async () => {
    async function* failing(): AsyncGenerator<Envelope> {
      yield {} as Envelope;
      throw new Error("broken");
    }
    const reader = eventStream({
      events: failing(),
      frame: () => "one",
      idle: () => "",
      heartbeatMs: 1000,
      done: () => {},
    }).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("one");
    await expect(reader.read()).rejects.toThrow("broken");
  });
});

test("envelopeText writes what JSON.stringify writes, once for all", () => {
  fc.assert(fc.property(anyEnvelope, (envelope) => {
    expect(envelopeText(envelope)).toBe(JSON.stringify(envelope));
    expect(envelopeText(envelope)).toBe(envelopeText(envelope));
  }));
});

test("a batch is written as its envelopes are, one after another, in each form", () => {
  const few = fc.array(anyEnvelope, { minLength: 1, maxLength: 4 });
  // Neighbours that differ in little, as those of one session do, and in all.
  const batch = fc.tuple(few, fc.array(fc.record({ seq: fc.nat(), attempt: fc.constantFrom(1, 2) }), { maxLength: 6 }));
  fc.assert(fc.property(batch, ([envelopes, more]) => {
    const alike = more.map((fields) => ({ ...envelopes[0]!, ...fields }));
    const all = [...alike, ...envelopes, ...alike];
    for (const form of [sessionFraming, mergedFraming, lineFraming]) {
      expect(new TextDecoder().decode(form.bytes(all))).toBe(all.map((envelope) => form.text(envelope)).join(""));
      expect(form.bytes(all)).toBe(form.bytes(all));
    }
    const [first] = all;
    expect(mergedFraming.text(first!)).toBe(`id: ${first!.cursor ?? first!.gseq}\ndata: ${JSON.stringify(first)}\n\n`);
    expect(sessionFraming.text(first!)).toBe(`id: ${first!.seq}\ndata: ${JSON.stringify(first)}\n\n`);
    expect(lineFraming.text(first!)).toBe(`${JSON.stringify(first)}\n`);
  }));
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A fetch whose streams break after so many bytes each, as long as there are numbers. */
function cutFetch(real: ReturnType<typeof unixFetch>, cuts: number[]): FetchLike {
  return async (url, init) => {
    const response = await real(url, init);
    const cut = url.includes("/events") ? cuts.shift() : undefined;
    if (cut === undefined || response.body === null) return response;
    let left = cut;
    const cutter = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        controller.enqueue(piece.subarray(0, Math.max(0, left)));
        left -= piece.length;
        if (left <= 0) controller.error(new Error("cut"));
      },
    });
    return new Response(response.body.pipeThrough(cutter), { status: response.status, headers: response.headers });
  };
}
