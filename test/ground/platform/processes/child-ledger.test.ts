import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import process from "node:process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type LedgerChild,
  reapChildren,
  startChildLedger,
} from "../../../../core/ground/platform/processes/child-ledger.ts";
import { markName } from "../../../../core/ground/platform/processes/process-mark.ts";
import { processStart, readRow } from "../../../../core/ground/platform/processes/process-rows.ts";

let folder = "";
let file = "";
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bulkhead-ledger-"));
  file = join(folder, "children.jsonl");
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

function sleeper(mark?: string): { pid: number; start: string | null } {
  const env = { PATH: "/usr/bin:/bin", ...(mark === undefined ? {} : { [markName]: mark }) };
  const child = spawn("/bin/sleep", ["300"], { env, stdio: "ignore", detached: true });
  children.push(child);
  return { pid: child.pid!, start: processStart(child.pid!) };
}

function alive(pid: number): boolean {
  return readRow(pid)?.zombie === false;
}

const agent = (of: { pid: number; start: string | null }): LedgerChild => ({ ...of, role: "agent", session_id: "s1" });
const begin = () => startChildLedger(file, { hostVersion: "9.9.9" });

describe("reapChildren", () => {
  test("ends a child by pid and start, another by its mark alone, and says whose they were", async () => {
    const ledger = begin();
    const known = sleeper();
    const unwritten = sleeper(`${ledger.mark}.abc.1`);
    const other = sleeper("another-mark");
    ledger.add(agent(known));
    ledger.add({ pid: 2 ** 22, start: "1", role: "warden" });
    const reaped = await reapChildren(file, { graceMs: 100 });
    expect(reaped?.found).toEqual([agent(known)]);
    expect(reaped?.head).toMatchObject({ host_version: "9.9.9", pid: process.pid });
    expect([known, unwritten, other].map(({ pid }) => alive(pid))).toEqual([false, false, true]);
  });

  test("never signals a pid that another process has by now, nor its group", async () => {
    const ledger = begin();
    const stranger = sleeper();
    ledger.add(agent({ pid: stranger.pid, start: "1" }));
    ledger.add(agent({ pid: stranger.pid, start: null }));
    expect((await reapChildren(file, { graceMs: 0 }))?.found).toEqual([]);
    expect(alive(stranger.pid)).toBe(true);
  });

  test("takes no pid for the same after a restart of the system, or in another PID namespace", async () => {
    const ledger = begin();
    const stranger = sleeper();
    ledger.add(agent(stranger));
    const text = await readFile(file, "utf8");
    for (const system of [`"of another boot"`, "null"]) {
      await writeFile(file, text.replace(/"system":"[^"]*"/, `"system":${system}`));
      expect((await reapChildren(file, { graceMs: 0 }))?.found).toEqual([]);
      expect(alive(stranger.pid)).toBe(true);
    }
    await writeFile(file, text);
    expect((await reapChildren(file, { graceMs: 0 }))?.found).toEqual([agent(stranger)]);
    expect(alive(stranger.pid)).toBe(false);
  });

  test("reads a ledger whose last line is cut off, and passes over lines that are not ours", async () => {
    const ledger = begin();
    const known = sleeper();
    ledger.add(agent(known));
    await writeFile(file, `${await readFile(file, "utf8")}null\n{"pid":"x","role":"agent"}\n{"pid":12,"ro`);
    expect((await reapChildren(file, { graceMs: 0 }))?.found).toEqual([agent(known)]);
  });

  test.each([["missing", null], ["empty", ""], ["without a head", '{"pid":1,"start":"1","role":"agent"}\n']])(
    "finds nothing in a ledger that is %s",
    async (_, text) => {
      if (text !== null) await writeFile(file, text);
      expect(await reapChildren(file, { graceMs: 0 })).toBeNull();
    },
  );
});

describe("startChildLedger", () => {
  test("is there at once, for its owner alone, and gone after a close without children", async () => {
    const ledger = begin();
    expect((await stat(file)).mode & 0o077).toBe(0);
    const forget = ledger.add(agent(sleeper()));
    expect((await readFile(file, "utf8")).trim().split("\n")).toHaveLength(2);
    forget();
    await ledger.close();
    await expect(stat(file)).rejects.toThrow();
  });

  test("stays after a close while a child is there", async () => {
    const ledger = begin();
    ledger.add(agent(sleeper()));
    await ledger.close();
    expect((await stat(file)).isFile()).toBe(true);
  });

  test("does not grow for ever", async () => {
    const ledger = begin();
    ledger.add({ ...agent({ pid: 7, start: "7" }), session_id: "stays" });
    for (let count = 0; count < 5000; count++) ledger.add(agent({ pid: 1000, start: "1" }))();
    const lines = (await readFile(file, "utf8")).trim().split("\n");
    expect(lines.length).toBeLessThan(1100);
    expect(lines[0]).toContain('"ledger":1');
    expect(lines[1]).toContain('"session_id":"stays"');
    await ledger.close();
  });

  test("killAll ends what was added", async () => {
    const ledger = begin();
    const known = sleeper();
    const forget = ledger.add(agent(known));
    await ledger.killAll();
    expect(alive(known.pid)).toBe(false);
    forget();
    await ledger.close();
  });
});
