import fc from "fast-check";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Any envelope but for its numbers. */
export const anyEnvelope: fc.Arbitrary<Envelope> = fc.record({
  v: fc.constant(1 as const),
  seq: fc.nat(),
  gseq: fc.nat(),
  ts: fc.string(),
  session_id: fc.string(),
  attempt: fc.nat(),
  adapter: fc.record({ id: fc.string(), version: fc.string() }),
  source: fc.constantFrom("agent" as const, "host" as const),
  synthetic: fc.constant(true as const),
  event: fc.oneof(
    fc.record({
      type: fc.constant("output" as const),
      stream: fc.constant("stdout" as const),
      data: fc.string({ unit: "binary", maxLength: 50 }),
    }),
    fc.record({ type: fc.constant("unparsed" as const), data: fc.jsonValue() }),
  ),
}, { requiredKeys: ["v", "seq", "gseq", "ts", "session_id", "attempt", "adapter", "source", "event"] });
