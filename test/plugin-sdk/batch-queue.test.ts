import { expect, test } from "vitest";
import { BatchQueue } from "../../plugin-sdk/batch-queue.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";

test("a queue holds whoever adds until its events were taken, and leaves nobody waiting", async () => {
  const queue = new BatchQueue<AdapterEvent>();
  const event: AdapterEvent = { type: "progress", message: "x" };
  const batches = queue.batches();
  queue.push([event, event]);
  let drained = false;
  const waiting = queue.drained().then(() => drained = true);
  await Promise.resolve();
  expect(drained).toBe(false);
  expect((await batches.next()).value).toEqual([event, event]);
  await waiting;
  queue.push([event]);
  const left = queue.drained();
  await batches.return();
  await left;
  queue.push([event]);
  expect((await batches.next()).done).toBe(true);
});

test("a queue that ends with a failure gives what came before it", async () => {
  const queue = new BatchQueue<AdapterEvent>();
  queue.push([{ type: "progress", message: "x" }]);
  queue.end({ thrown: new Error("over") });
  const batches = queue.batches();
  expect((await batches.next()).value).toHaveLength(1);
  await expect(batches.next()).rejects.toThrow("over");
});
