import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, type TestContext } from "vitest";
import { DiskReserve } from "../../../core/ground/platform/state/disk-reserve.ts";
import { StateHealth } from "../../../core/ground/platform/state/state-health.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { smallDisk } from "../git/small-disk.ts";
import { ended, EnvelopeSource, readAll } from "./journal-fixture.ts";
import { skipBecause } from "../../skip-because.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bulkhead-full-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const tryAfterMs = { first: 0, next: 100 };

function mount(context: TestContext) {
  return smallDisk(join(root, "disk"), 20 * 1024) ?? skipBecause(context, "this user may not mount a file system");
}

/** Leaves no room at all. */
function fill(folder: string, name = "filled"): string {
  const file = join(folder, name);
  const descriptor = openSync(file, "w");
  try {
    for (;;) writeSync(descriptor, new Uint8Array(4096));
  } catch {
    closeSync(descriptor);
  }
  return file;
}

test("a journal on a full disk writes with the room of its reserve, which is taken again", async (context) => {
  using disk = mount(context);
  const reserve = new DiskReserve(join(disk.folder, "reserve"), { bytes: 1024 * 1024, tryAfterMs });
  await expect.poll(() => reserve.heldBytes).toBeGreaterThan(500_000);
  const journal = await openJournal(join(disk.folder, "journal.db"), { reserve });
  const filled = fill(disk.folder);
  const source = new EnvelopeSource();
  for (let round = 0; round < 8; round++) {
    await journal.append({ session_id: "one", envelopes: source.batch("one", 50) });
  }
  const held = reserve.heldBytes;
  expect(held).toBeLessThan(1_000_000);
  rmSync(filled);
  await expect.poll(() => reserve.heldBytes).toBeGreaterThan(held);
  expect(await readAll(journal)).toHaveLength(400);
  await journal.close();
  await reserve.close();
});

test("a journal without a reserve waits a moment for room, and loses nothing", async (context) => {
  using disk = mount(context);
  const journal = await openJournal(join(disk.folder, "journal.db"));
  const filled = fill(disk.folder);
  const source = new EnvelopeSource();
  const appending = Array.from(
    { length: 20 },
    () => journal.append({ session_id: "one", envelopes: source.batch("one", 50) }),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  rmSync(filled);
  await Promise.all(appending);
  expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual(Array.from({ length: 1000 }, (_, at) => at + 1));
  await journal.close();
});

test("a journal whose disk stays full refuses appends within seconds, and takes them again later", async (context) => {
  using disk = mount(context);
  const journal = await openJournal(join(disk.folder, "journal.db"), { limits: { room_wait_ms: 500 } });
  const filled = fill(disk.folder);
  const source = new EnvelopeSource();
  const refused = (async () => {
    for (;;) await journal.append({ session_id: "one", envelopes: source.batch("one", 50) });
  })();
  await expect(refused).rejects.toMatchObject({ code: "journal_error", message: expect.stringMatching(/full/) });
  rmSync(filled);
  await journal.append({ session_id: "two", envelopes: source.batch("two", 5) });
  await journal.close();
});

test("a journal whose disk stays full still writes the ends of sessions, with the last of its reserve", async (context) => {
  using disk = mount(context);
  const reserve = new DiskReserve(join(disk.folder, "reserve"), { bytes: 1024 * 1024, tryAfterMs });
  await expect.poll(() => reserve.heldBytes).toBeGreaterThan(500_000);
  const health = new StateHealth({ folder: root, part: disk.folder });
  const limits = { room_wait_ms: 2500 };
  const journal = await openJournal(join(disk.folder, "journal.db"), { reserve, health, limits });
  fill(disk.folder);
  const source = new EnvelopeSource();
  const refused = (async () => {
    for (;;) await journal.append({ session_id: "one", envelopes: source.batch("one", 500) });
  })();
  await expect(refused).rejects.toMatchObject({
    code: "journal_error",
    message: expect.stringContaining(`the disk of "${root}" is full`),
    details: { cause_code: "ENOSPC" },
  });
  expect(health.problem).toMatchObject({ code: "ENOSPC" });
  const held = reserve.heldBytes;
  expect(held).toBeGreaterThan(0);
  fill(disk.folder, "again");
  const ends = [1, 2, 3].map((number) => `other${number}`);
  await Promise.all(
    ends.map((session_id) => journal.append({ session_id, envelopes: [{ ...source.next(session_id), event: ended }] })),
  );
  expect(reserve.heldBytes).toBeLessThan(held);
  expect((await readAll(journal)).slice(-3).map(({ session_id }) => session_id)).toEqual(ends);
  await journal.close();
  await reserve.close();
  health.close();
});

test("DiskReserve takes nothing of a disk that has little room, and leaves its file to the next host", async (context) => {
  using disk = mount(context);
  const file = join(disk.folder, "reserve");
  const filled = fill(disk.folder);
  const reserve = new DiskReserve(file, { bytes: 1024 * 1024, tryAfterMs });
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect([reserve.heldBytes, reserve.giveUp(), existsSync(file)]).toEqual([0, false, false]);
  rmSync(filled);
  await expect.poll(() => reserve.heldBytes).toBeGreaterThan(0);
  await reserve.close();
  expect(existsSync(file)).toBe(true);
});
