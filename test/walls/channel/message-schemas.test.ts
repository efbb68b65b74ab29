import { Value } from "@sinclair/typebox/value";
import { describe, expect, it } from "vitest";
import { guestMessageSchemas, wardenReportSchemas } from "../../../core/walls/channel/message-schemas.ts";
import type { GuestMessage, WardenReport } from "../../../core/walls/channel/protocol.ts";

const error = { code: "crash" as const, message: "It fell.", hint: "Stand up.", details: { at: 1 } };

/** Every message a guest may send, whole. */
const guestMessages: { [T in Exclude<GuestMessage["type"], "part">]: Extract<GuestMessage, { type: T }> } = {
  loaded: { type: "loaded", protocol: 2, identity: { id: "a", name: "A", version: "1.0.0" }, error },
  events: { type: "events", sid: 1, events: [{ type: "output" }, 7, null] },
  call: { type: "call", sid: 1, id: 1, op: "kv_get", args: { key: "a" } },
  done: { type: "done", sid: 1, value: null, error },
  pong: { type: "pong", n: 1 },
  failed: { type: "failed", error },
};

const wardenReports: { [T in WardenReport["type"]]: Extract<WardenReport, { type: T }> } = {
  ready: { type: "ready", protocol: 2 },
  lane_closed: { type: "lane_closed", lane: 1, reason: "exit", message: "gone" },
  stats: { type: "stats", rss_bytes: 1, cpu_ms: 0.5 },
};

const all = [
  ...Object.entries(guestMessages).map(([type, message]) => ({
    type,
    message,
    schema: guestMessageSchemas[type as keyof typeof guestMessages],
  })),
  ...Object.entries(wardenReports).map(([type, message]) => ({
    type,
    message,
    schema: wardenReportSchemas[type as keyof typeof wardenReports],
  })),
];

describe.each(all)("the schema of $type", ({ message, schema }) => {
  it("takes the message as the protocol has it", () => {
    expect(Value.Check(schema, message)).toBe(true);
  });

  it("refuses a field that is unknown", () => {
    expect(Value.Check(schema, { ...message, extra: 1 })).toBe(false);
  });

  it("refuses another type of any field but those that hold anything", () => {
    const open = new Set(["args", "value"]);
    for (const field of Object.keys(message).filter((name) => !open.has(name))) {
      expect(Value.Check(schema, { ...message, [field]: () => {} }), field).toBe(false);
      expect(Value.Check(schema, { ...message, [field]: field === "events" ? {} : [[]] }), field).toBe(false);
    }
  });
});

describe("guestMessageSchemas", () => {
  it("refuse numbers that are no ids", () => {
    for (const sid of [-1, 1.5, Number.NaN, 2 ** 53, "1", null]) {
      expect(Value.Check(guestMessageSchemas.done, { type: "done", sid })).toBe(false);
    }
  });

  it("refuse an error without a known code, or with a text without end", () => {
    for (
      const bad of [{ ...error, code: "no_such" }, { ...error, message: "x".repeat(65_537) }, { code: "crash" }, {
        ...error,
        stack: "x",
      }]
    ) {
      expect(Value.Check(guestMessageSchemas.failed, { type: "failed", error: bad })).toBe(false);
    }
  });
});
