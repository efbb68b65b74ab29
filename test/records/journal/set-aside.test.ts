import { spawnSync } from "node:child_process";
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import { ended, EnvelopeSource, readAll } from "./journal-fixture.ts";
import { runnable } from "./runnable.ts";

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-repair-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A journal of many batches, so that it has many pages. */
async function someJournal(): Promise<string> {
  const file = join(folder, `${++files}.db`);
  const journal = await openJournal(file);
  const source = new EnvelopeSource();
  for (let at = 0; at < 200; at++) {
    const session_id = `s${at % 4}`;
    const envelopes = source.batch(session_id, 2, "x".repeat(2000));
    if (at < 4) envelopes[0]!.event = { type: "attempt_started", attempt: 1, adapter_id: "echo" };
    if (at >= 196) envelopes[1]!.event = ended;
    await journal.append({ session_id, envelopes });
  }
  await journal.close();
  return file;
}

function overwrite(file: string, from: number, to: number): void {
  const handle = openSync(file, "r+");
  writeSync(handle, new Uint8Array(to - from).fill(0xa5), 0, to - from, from);
  closeSync(handle);
}

/** As if the host had been killed: only then is all of the structure looked at. */
function markKilled(file: string): void {
  writeFileSync(`${file}-wal`, "x");
}

describe("openJournal with onProblem", () => {
  it("loses nothing when its host is killed while it copies, or before the copy is in its place", async () => {
    const file = await someJournal();
    const middle = Math.floor(statSync(file).size / 2 / 4096) * 4096;
    overwrite(file, middle, middle + 4 * 4096);
    markKilled(file);
    const { args, env } = await runnable("repair.ts", folder);
    // Where a file may not grow so far, the copying ends in the middle.
    const limited = ["-c", 'ulimit -f 800; exec "$@"', "sh", process.execPath, ...args, file];
    const { status } = spawnSync("sh", limited, { env });
    expect(status).not.toBe(0);
    const told: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => told.push(message) });
    const left = (await readAll(journal)).length;
    expect(left).toBeGreaterThan(100);
    expect(journal.lastGseq).toBeGreaterThanOrEqual(400);
    await journal.close();
    expect(told).toHaveLength(1);
    for (const moved of [false, true]) {
      renameSync(file, `${file}.repaired`);
      if (!moved) writeFileSync(file, "what was damaged");
      const again = await openJournal(file, { onProblem: (message) => told.push(message) });
      expect(await readAll(again)).toHaveLength(left);
      await again.close();
    }
    expect(told.slice(1)).toEqual([1, 2].map(() => expect.stringContaining("its repair is finished now") as string));
  });

  it("looks at the whole file again where an earlier repair did not end", async () => {
    const file = await someJournal();
    const database = await openSqlite(file, { busyTimeoutMs: 1000 });
    const { rootpage } = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'batch'").get() as {
      rootpage: number;
    };
    database.close();
    // A page that a start does not read: one of the oldest batches.
    const at = (rootpage + 8) * 4096;
    overwrite(file, at, at + 4096);
    const told: string[] = [];
    const onProblem = (message: string) => void told.push(message);
    await (await openJournal(file, { onProblem })).close();
    expect(told).toEqual([]);
    writeFileSync(`${file}.repairing`, "");
    await (await openJournal(file, { onProblem })).close();
    expect(told).toEqual([expect.stringContaining("was damaged")]);
    expect(readdirSync(folder)).not.toContain(`${basename(file)}.repairing`);
  });

  it("sets a damaged file aside, keeps what can be read, and says so", async () => {
    const file = await someJournal();
    const { size } = statSync(file);
    const middle = Math.floor(size / 2 / 4096) * 4096;
    overwrite(file, middle, middle + 12 * 4096);
    markKilled(file);
    const told: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => told.push(message) });
    const aside = readdirSync(folder).filter((name) => name.startsWith(`${basename(file)}.damaged-`));
    expect(aside.filter((name) => !/-wal$|-shm$|\.json$/.test(name))).toHaveLength(1);
    expect(told[0]).toContain(`The journal "${file}" was damaged`);
    expect(told[0]).toContain(aside[0]!.replace(/-wal$|-shm$|\.json$/, ""));
    const left = await readAll(journal);
    expect(left.length).toBeGreaterThan(100);
    expect(left.length).toBeLessThan(400);
    expect(journal.lastGseq).toBeGreaterThanOrEqual(400);
    expect((await journal.history("s0")).attempts).toMatchObject([{ attempt: 1, adapter_id: "echo" }]);
    const next = new EnvelopeSource(journal.lastGseq).batch("new", 1);
    await journal.append({ session_id: "new", envelopes: next });
    expect((await readAll(journal)).at(-1)).toEqual(next[0]);
    await journal.close();
    const { ok, lost } = await verifyJournal(file);
    expect({ ok, isLost: lost > 0 }).toEqual({ ok: true, isLost: true });
    await (await openJournal(file, { onProblem: (message) => told.push(message) })).close();
    expect(told).toHaveLength(1);
  });

  it("begins anew, with higher numbers than any before, where nothing can be read", async () => {
    const file = await someJournal();
    overwrite(file, 0, statSync(file).size);
    const before = readFileSync(file);
    await expect(openJournal(file)).rejects.toMatchObject({ code: "journal_error" });
    const told: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => told.push(message) });
    expect(told[0]).toContain("0 events could be read");
    expect(told[0]).toContain("How much is missing cannot be told.");
    expect(journal.lastGseq).toBeGreaterThan(1e12);
    await journal.append({ session_id: "new", envelopes: new EnvelopeSource(journal.lastGseq).batch("new", 1) });
    await journal.close();
    const [aside] = readdirSync(folder).filter((name) =>
      name.startsWith(`${basename(file)}.damaged-`) && !/-wal$|-shm$|\.json$/.test(name)
    );
    expect(readFileSync(join(folder, aside!)).equals(before)).toBe(true);
  });

  it("sets a file aside at the next start in which somebody changed what was written last", async () => {
    const file = await someJournal();
    const database = await openSqlite(file, { busyTimeoutMs: 1000 });
    database.exec("UPDATE batch SET body = replace(body, 'xxx', 'yyy') WHERE last_gseq = 398");
    database.close();
    const told: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => told.push(message) });
    expect(told).toEqual([expect.stringContaining('events 397 to 398 of session "s2" do not fit their link')]);
    expect(told[0]).toContain(
      "398 events could be read and are in a new one. 2 events are missing of 1 session: s2 (2)",
    );
    const gap = (await readAll(journal)).find(({ event }) => event.type === "gap");
    expect(gap).toMatchObject({ session_id: "s2", gseq: 398, event: { from_seq: 99, to_seq: 100, damaged: true } });
    await journal.close();
    expect(await verifyJournal(file)).toMatchObject({ ok: true, lost: 1 });
  });

  it("says nothing of a journal whose process was killed and which is whole", async () => {
    const file = await someJournal();
    markKilled(file);
    const told: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => told.push(message) });
    expect(await readAll(journal)).toHaveLength(400);
    await journal.close();
    expect(told).toEqual([]);
  });
});
