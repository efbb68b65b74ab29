import { readEvents } from "../../../core/doors/client/mod.ts";
import { journalError } from "../../../core/records/journal/journal-error.ts";
import { envelopesAfter, rowOf } from "../../../core/records/journal/journal-row.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { bytesOf, promise, type Target, textOf } from "../target.ts";

const envelope = (seq: number, event: object) =>
  JSON.stringify({
    v: 1,
    seq,
    gseq: seq + 10,
    ts: "2026-01-01T00:00:00.000Z",
    session_id: "s",
    attempt: 1,
    adapter: { id: "a", version: "1" },
    source: "agent",
    event,
  });
const lines = [
  envelope(1, { type: "session_started" }),
  envelope(2, { type: "output", stream: "stdout", data: "é\u2028" }),
  envelope(3, { type: "output", stream: "stdout", data: "" }),
  envelope(4, { type: "session_ended", result: {} }),
].join("\n");
const body = JSON.stringify([
  {
    v: 1,
    seq: 1,
    gseq: 11,
    ts: "x",
    session_id: "s",
    attempt: 1,
    adapter: { id: "a", version: "1" },
    source: "agent",
    events: [{ type: "unparsed", data: 1 }, { type: "output", stream: "stdout", data: "é" }, "2"],
  },
]);
const tokens = [
  '"seq":',
  '"gseq":',
  '"v":1',
  '"event":{',
  '"events":[',
  '"error":{"code":"x","message":"y"}',
  "\n",
  "\r\n",
  "\n\n",
  "{",
  "}",
  "[",
  "]",
  ",",
  "null",
  "1e999",
  "-1",
];

/** What was written and is read back. */
export const journalTargets: readonly Target[] = [
  {
    name: "ndjson",
    weight: 10,
    seeds: [lines, textOf(new TextEncoder().encode(lines))],
    tokens: [...tokens, "\xff", "\xef\xbb\xbf"],
    async read(input) {
      const bytes = bytesOf(input);
      const pieces = async function* () {
        for (let at = 0; at < bytes.length; at += 97) yield bytes.subarray(at, at + 97);
      };
      for await (const { seq, event } of readEvents(pieces(), { maxLineLength: 5000 })) {
        promise(Number.isInteger(seq) && typeof event.type === "string", "an envelope has a number and an event");
      }
    },
  },
  {
    name: "journal-row",
    weight: 6,
    seeds: [body],
    tokens,
    read(input) {
      for (const after of [0, 11, 1e9]) {
        for (const { event, gseq } of rowAfter(input, after)) {
          promise(gseq > after && event !== undefined, "only later envelopes come");
        }
      }
    },
  },
  {
    name: "journal-batch",
    weight: 6,
    seeds: [lines],
    tokens,
    read(input) {
      const envelopes = input.split("\n").slice(0, 100).flatMap((line): Envelope[] => {
        try {
          const one = JSON.parse(line) as Envelope;
          return typeof one === "object" && one !== null && typeof one.event === "object" && one.event !== null &&
              typeof one.adapter === "object" && one.adapter !== null &&
              Number.isSafeInteger(one.gseq) && Number.isSafeInteger(one.seq)
            ? [one]
            : [];
        } catch {
          return [];
        }
      });
      const row = rowOf({ session_id: "s", envelopes }, 0);
      if (row !== null) promise(envelopesAfter(row.body, 0).length === row.count, "what is written is read back");
    },
  },
];

/** As a journal reads it: what it cannot read is damaged, and it says so; what is read must keep its promises. */
function rowAfter(body: string, after: number): Envelope[] {
  try {
    return envelopesAfter(body, after);
  } catch (cause) {
    throw journalError("Cannot read the journal", cause);
  }
}
