import { expect, test } from "vitest";
import { DroppedMessages } from "../../core/cluster/engine/dropped-messages.ts";

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
