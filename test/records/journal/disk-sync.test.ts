import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SyncedFile } from "../../../core/ground/platform/files/synced-file.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { EnvelopeSource, readAll } from "./journal-fixture.ts";

/** A disk that ends a sync when the test says so. */
class SlowDisk implements SyncedFile {
  syncs = 0;
  #waiting: { resolve(): void; reject(error: Error): void }[] = [];
  #holds = false;

  sync(): Promise<void> {
    this.syncs += 1;
    return this.#holds ? new Promise((resolve, reject) => this.#waiting.push({ resolve, reject })) : Promise.resolve();
  }

  hold(): void {
    this.#holds = true;
  }

  /** Ends the syncs under way. */
  end(error?: Error): void {
    for (const { resolve, reject } of this.#waiting.splice(0)) error === undefined ? resolve() : reject(error);
  }

  release(): void {
    this.#holds = false;
    this.end();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

let folder: string;
let disk: SlowDisk;
let journal: Journal;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-journal-"));
  disk = new SlowDisk();
  journal = await openJournal(join(folder, "journal.db"), { sync: "full", openSynced: () => Promise.resolve(disk) });
});
afterEach(async () => {
  disk.release();
  await journal.close();
  rmSync(folder, { recursive: true });
});

/** Whether it has settled by now; a turn or two are enough for all that waits for no disk. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(() => done = true, () => done = true);
  await new Promise((resolve) => setTimeout(resolve, 20));
  return done;
}

const append = (id: string, from: EnvelopeSource) => journal.append({ session_id: id, envelopes: from.batch(id, 2) });

test("sync: full acknowledges an append, and shows it to readers, once the disk has it", async () => {
  const own = new EnvelopeSource();
  disk.hold();
  const appended = append("a", own);
  const read = readAll(journal);
  expect(await settled(Promise.race([appended, read]))).toBe(false);
  disk.release();
  await appended;
  expect(await read).toHaveLength(2);
});

test("sync: full brings what is appended while the disk works to it in one go", async () => {
  const own = new EnvelopeSource();
  const before = disk.syncs;
  disk.hold();
  const first = append("a", own);
  expect(await settled(first)).toBe(false);
  const others = [];
  for (let at = 0; at < 20; at++) {
    others.push(append(`s${at}`, own));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  disk.end();
  await first;
  expect(await settled(Promise.race(others))).toBe(false);
  disk.release();
  await Promise.all(others);
  expect(disk.syncs - before).toBe(2);
});

test("a disk that fails once ends all appends: what it lost cannot be told", async () => {
  const own = new EnvelopeSource();
  disk.hold();
  const lost = append("a", own);
  expect(await settled(lost)).toBe(false);
  const waiting = append("b", own);
  disk.end(Object.assign(new Error("i/o error"), { code: "EIO" }));
  await expect(lost).rejects.toMatchObject({ code: "journal_error", details: { cause_code: "EIO" } });
  await expect(waiting).rejects.toMatchObject({ code: "journal_error" });
  disk.release();
  await expect(append("a", own)).rejects.toMatchObject({ code: "journal_error" });
});
