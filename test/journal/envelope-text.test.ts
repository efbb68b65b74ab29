import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEnvelopeWriter } from "../../core/journal/envelope-text.ts";
import { anyEnvelope } from "./any-envelope.ts";
import { EnvelopeSource } from "./journal-fixture.ts";

describe("createEnvelopeWriter", () => {
  it("writes the same text as JSON.stringify, in one line, whatever changes from one envelope to the next", () => {
    fc.assert(fc.property(fc.array(anyEnvelope), (envelopes) => {
      const write = createEnvelopeWriter();
      for (const envelope of envelopes) {
        const text = write(envelope);
        expect(text).not.toContain("\n");
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(envelope)));
      }
    }));
  });

  it("keeps the order of the envelope's fields", () => {
    const envelope = { ...new EnvelopeSource().next("a"), synthetic: true as const };
    const { event, ...rest } = envelope;
    expect(createEnvelopeWriter()(envelope)).toBe(JSON.stringify({ ...rest, event }));
  });

  it("sees that an envelope was changed and used again", () => {
    const write = createEnvelopeWriter();
    const envelope = new EnvelopeSource().next("a");
    write(envelope);
    envelope.adapter.version = "2.0.0";
    envelope.ts = "2026-01-01T00:00:00.000Z";
    expect(JSON.parse(write(envelope))).toEqual(envelope);
  });
});
