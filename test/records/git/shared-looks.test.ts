import { existsSync, readdirSync, rmSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SharedLooks } from "../../../core/records/git/shared-looks.ts";
import type { Snapshot } from "../../../core/records/git/snapshot.ts";
import { type Fixture, makeFixture } from "./git-fixture.ts";

let made: Fixture;
let looks: SharedLooks;

beforeEach(() => {
  made = makeFixture({ repository: true });
  made.write("a.txt", "a\n");
  made.commitAll();
  looks = new SharedLooks(made.scratch);
});

afterEach(() => rmSync(made.root, { recursive: true, force: true }));

const take = (signal = new AbortController().signal): Promise<Snapshot> =>
  looks.take(made.work, { signal, exclude: [] });

async function changedSince(snapshot: Snapshot): Promise<string[] | undefined> {
  return (await looks.list(snapshot)).artifacts?.map(({ path }) => path);
}

test("sessions that start together share looks, and each sees all changes", async () => {
  const snapshots = await Promise.all(Array.from({ length: 20 }, () => take()));
  const distinct = new Set(snapshots);
  expect(distinct.size).toBe(3);
  expect(readdirSync(made.scratch)).toHaveLength(3);
  made.write("b.txt", "b\n");
  const lists = await Promise.all(snapshots.map(changedSince));
  expect(lists).toEqual(snapshots.map(() => ["b.txt"]));
});

test("a look that has begun is not shared: what changed since is the user's", async () => {
  const early = [take(), take(), take()];
  await Promise.all(early);
  made.write("users.txt", "before the session\n");
  const late = await take();
  expect(await changedSince(late)).toEqual([]);
  for (const snapshot of early) expect(await changedSince(await snapshot)).toEqual(["users.txt"]);
});

test("a snapshot's files go with the last of its holders", async () => {
  const snapshots = await Promise.all(Array.from({ length: 5 }, () => take()));
  const shared = snapshots.filter((one) => one === snapshots.at(-1));
  expect(shared).toHaveLength(3);
  const { folder } = shared[0]!.held!.shadow;
  for (const one of shared.slice(1)) await looks.release(one);
  expect(existsSync(folder)).toBe(true);
  await looks.release(shared[0]!);
  expect(existsSync(folder)).toBe(false);
});

test("a session that ends while it waits takes no look from the others, and the last one ends the look", async () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const begun = [take(), take()];
  const waiting = [take(one.signal), take(other.signal)];
  one.abort(new Error("interrupted"));
  await expect(waiting[0]).rejects.toThrow("interrupted");
  expect((await waiting[1])?.held).not.toBe(null);

  const alone = [new AbortController(), new AbortController()];
  const ended = alone.map((end) => take(end.signal));
  for (const end of alone) end.abort(new Error("interrupted"));
  for (const look of ended) await expect(look).rejects.toThrow("interrupted");
  await expect(take(alone[0]!.signal)).rejects.toThrow("interrupted");
  for (const look of [...begun, waiting[1]!]) await looks.release(await look);
  await expect.poll(() => readdirSync(made.scratch)).toEqual([]);
  // What was given up keeps nobody from a new one.
  expect(await changedSince(await take())).toEqual([]);
});
