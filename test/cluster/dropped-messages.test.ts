import { expect, test } from "vitest";
import { DroppedMessages } from "../../core/cluster/engine/dropped-messages.ts";
import { readable } from "../../core/cluster/log/check-envelopes.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import { envelopesOf } from "./log-fixture.ts";

test("a message that repeats is logged once a minute, with the number of those between, and kinds are bounded", () => {
  const said: string[] = [];
  let now = 0;
  const dropped = new DroppedMessages(({ message }) => void said.push(message), () => now);
  for (let at = 0; at < 1000; at++) dropped.tell("A note", "it is none.");
  dropped.tell("A heartbeat", "x".repeat(10_000));
  expect(said).toEqual(["A note was dropped: it is none.", `A heartbeat was dropped: ${"x".repeat(512)}.`]);
  now = 60_000;
  for (let at = 0; at < 10; at++) dropped.tell("A note", "it is none");
  expect(said.slice(2)).toEqual(["A note was dropped: it is none. So were 999 before it."]);
  for (let at = 0; at < 300; at++) dropped.tell(`Kind ${at}`, "");
  dropped.tell("A note", "again");
  expect(said.at(-1)).toBe("A note was dropped: again.");
});

test("an event of a newer version is read, with its further types, words and fields", () => {
  const [made] = envelopesOf("s", { gseq: 1, seq: 1 });
  const denied = { type: "capability", permission: "run", target: "x", decision: "denied" };
  const newer = [denied, { ...denied, permission: "gpu", watts: 5 }, { type: "teleported", to: null }];
  for (const event of newer) {
    const envelope = { ...made!, source: "host", event } as unknown as Envelope;
    expect(readable(envelope)).toBe(envelope);
  }
  const wrong = { ...made!, source: "host", event: { ...denied, target: 5 } } as unknown as Envelope;
  expect(readable(wrong).event.type).toBe("progress");
});
