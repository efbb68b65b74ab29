import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { EventsText } from "../../../core/records/journal/journal.ts";
import { envelopesAfter, rowOf } from "../../../core/records/journal/journal-row.ts";
import { anyEnvelope } from "./any-envelope.ts";

const adapters = [{ id: "a", version: "1.0.0" }, { id: "a", version: "2.0.0" }];

/** The common part of the envelopes of one session. */
const head = { v: 1 as const, ts: "t", session_id: "s", attempt: 1, adapter: adapters[0]!, source: "agent" as const };

/** Envelopes of one session which often continue each other and sometimes differ in one field alone. */
const streams: fc.Arbitrary<Envelope[]> = fc.array(
  fc.record({
    envelope: anyEnvelope,
    hole: fc.constantFrom(0, 0, 0, 3),
    seqHole: fc.constantFrom(0, 0, 0, 2),
    adapter: fc.constantFrom(adapters[0]!, adapters[0]!, adapters[1]!),
    attempt: fc.constantFrom(1, 1, 1, 2),
    ts: fc.constantFrom("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z"),
  }),
  { minLength: 1, maxLength: 40 },
).map((steps) => {
  let seq = 0;
  let gseq = 10;
  return steps.map(({ envelope, hole, seqHole, ...rest }) => {
    seq += 1 + seqHole;
    gseq += 1 + hole;
    return { ...envelope, ...rest, seq, gseq, session_id: "s" };
  });
});

/** Texts for some stretches of envelopes that differ in their events and numbers alone, none longer than its size. */
function textsOf(envelopes: Envelope[], sizes: number[]): EventsText[] {
  const texts: EventsText[] = [];
  const headOf = ({ event: _, seq, gseq, ...head }: Envelope, at: number) =>
    JSON.stringify([head, seq - at, gseq - at, Object.keys(head)]);
  for (let at = 0, n = 0; at < envelopes.length; n++) {
    const most = sizes[n % Math.max(sizes.length, 1)] ?? 0;
    let count = 0;
    while (
      count < most && at + count < envelopes.length &&
      headOf(envelopes[at + count]!, count) === headOf(envelopes[at]!, 0)
    ) count++;
    const events = envelopes.slice(at, at + count).map(({ event }) => event);
    if (count > 0) texts.push({ at, count, text: JSON.stringify(events, null, 1) });
    at += Math.max(count, 1);
  }
  return texts;
}

describe("rowOf and envelopesAfter", () => {
  it("give back exactly what was written, from any cursor, whatever changes from one envelope to the next", () => {
    fc.assert(fc.property(streams, fc.nat(200), (envelopes, after) => {
      const row = rowOf({ session_id: "s", envelopes }, 10)!;
      const expected = envelopes.filter(({ gseq }) => gseq > after).map((one) => JSON.parse(JSON.stringify(one)));
      expect(envelopesAfter(row.body, after)).toEqual(expected);
      expect(row).toMatchObject({
        count: envelopes.length,
        first_seq: envelopes[0]!.seq,
        last_seq: envelopes.at(-1)!.seq,
        first_gseq: envelopes[0]!.gseq,
        last_gseq: envelopes.at(-1)!.gseq,
      });
    }));
  });

  it("give back the same where the JSON of some events was known", () => {
    fc.assert(fc.property(streams, fc.array(fc.integer({ min: 0, max: 5 })), (envelopes, sizes) => {
      const texts = textsOf(envelopes, sizes);
      const row = rowOf({ session_id: "s", envelopes, texts }, 10)!;
      expect(row).toEqual({ ...rowOf({ session_id: "s", envelopes }, 10)!, body: row.body });
      expect(envelopesAfter(row.body, 0)).toEqual(JSON.parse(JSON.stringify(envelopes)));
    }));
  });

  it("refuse numbers that do not rise among events whose JSON was known", () => {
    const [one, two] = [11, 11].map((gseq, index): Envelope => ({
      v: 1,
      seq: index + 1,
      gseq,
      ts: "",
      session_id: "s",
      attempt: 1,
      adapter: adapters[0]!,
      source: "agent",
      event: { type: "output", stream: "stdout", data: "x" },
    }));
    const texts = [{ at: 0, count: 2, text: "[{},{}]" }];
    expect(() => rowOf({ session_id: "s", envelopes: [one!, two!], texts }, 10)).toThrow("must be of that session");
  });

  it("keep the order of the envelope's fields, so that its text is the same live and from the journal", () => {
    const envelope: Envelope = {
      v: 1,
      seq: 1,
      gseq: 11,
      ts: "2026-01-01T00:00:00.000Z",
      session_id: "s",
      attempt: 1,
      adapter: adapters[0]!,
      source: "host",
      synthetic: true,
      event: { type: "output", stream: "stdout", data: "x" },
    };
    const row = rowOf({ session_id: "s", envelopes: [envelope] }, 0)!;
    expect(JSON.stringify(envelopesAfter(row.body, 0)[0])).toBe(JSON.stringify(envelope));
  });

  it("write what the envelopes of a run have in common once", () => {
    const event = { type: "output" as const, stream: "stdout" as const, data: "x" };
    const envelopes = Array.from({ length: 100 }, (_, at) => ({ ...head, seq: 1 + at, gseq: 1 + at, event }));
    const { body } = rowOf({ session_id: "s", envelopes }, 0)!;
    expect(body.length).toBeLessThan(100 * (JSON.stringify(event.data).length + 1) + 250);
  });

  it("write pieces of output as their texts alone, and read them from any of them on", () => {
    const envelopes = Array.from({ length: 100 }, (_, at) => ({
      ...head,
      seq: 1 + at,
      gseq: 1 + at,
      event: { type: "output" as const, stream: "stdout" as const, data: `piece ${at}` },
    }));
    const texts = [{ at: 10, count: 2, text: `[${JSON.stringify(envelopes[10]!.event)},"piece 11"]` }];
    const { body } = rowOf({ session_id: "s", envelopes, texts }, 0)!;
    expect(body.match(/"type"/g)).toHaveLength(3);
    for (const after of [0, 1, 10, 11, 12, 50, 99, 100]) {
      expect(envelopesAfter(body, after)).toEqual(envelopes.slice(after));
    }
  });

  it("copy at once: an envelope that is changed afterwards stays as it was", () => {
    const event = { type: "output" as const, stream: "stdout" as const, data: "before" };
    const { body } = rowOf({ session_id: "s", envelopes: [{ ...head, seq: 1, gseq: 1, event }] }, 0)!;
    event.data = "after";
    expect(envelopesAfter(body, 0)).toMatchObject([{ event: { data: "before" } }]);
  });
});
