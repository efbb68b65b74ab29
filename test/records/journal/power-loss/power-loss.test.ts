import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { openJournal } from "../../../../core/records/journal/open-journal.ts";
import { readAll } from "../journal-fixture.ts";
import { runnable } from "../runnable.ts";
import { type Change, changesOf, LostDisk } from "./lost-disk.ts";
import { skipBecause } from "../../../skip-because.ts";

/** Rounds of appends, and about as many moments of a power loss. */
const rounds = Number(process.env["BULKHEAD_POWER_LOSS_ROUNDS"] ?? 12);

let root: string;
let shim: string | null = null;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "bulkhead-power-"));
  const source = fileURLToPath(new URL("record-writes.c", import.meta.url));
  const file = join(root, "record-writes.so");
  if (process.platform !== "linux") return;
  shim = await promisify(execFile)("cc", ["-shared", "-fPIC", "-O1", "-o", file, source, "-ldl", "-lpthread"])
    .then(() => file, () => null);
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** All that a host changed in the folder of its journal until it was killed. */
async function recorded(context: TestContext, sync: "full" | "normal"): Promise<Change[]> {
  if (shim === null) skipBecause(context, "there is no C compiler here, or this is not Linux");
  const folder = join(root, sync, "state");
  await mkdir(folder, { recursive: true });
  const record = join(root, sync, "record");
  const { args, env } = await runnable("power-loss/append-and-die.ts", join(root, sync));
  const child = spawn(process.execPath, [...args, folder, sync, String(rounds)], {
    env: { ...env, LD_PRELOAD: shim!, RECORDED: folder, RECORD: record },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [, signal] = await once(child, "exit");
  expect(signal).toBe("SIGKILL");
  return changesOf(await readFile(record));
}

const isAcknowledgement = ({ kind, path }: Change) => kind === "w" && path.endsWith("/acknowledged");

/** Numbers that are acknowledged and missing after a power loss behind a change, and what the host says on opening. */
async function lossAt(changes: readonly Change[], { cut, luck }: { cut: number; luck: () => boolean }) {
  const disk = new LostDisk();
  let acknowledged = "";
  for (const change of changes.slice(0, cut + 1)) {
    if (isAcknowledgement(change)) acknowledged += change.data.toString();
    else disk.apply(change);
  }
  const folder = await mkdtemp(join(root, "left-"));
  await disk.leave(folder, luck);
  const problems: string[] = [];
  const journal = await openJournal(join(folder, "journal.db"), { onProblem: (problem) => problems.push(problem) });
  const there = new Set((await readAll(journal)).map(({ gseq }) => gseq));
  await journal.close();
  await rm(folder, { recursive: true });
  const missing = acknowledged.trim().split("\n").filter((line) => line !== "").flatMap((line) => {
    const [first = 0, last = 0] = line.split(" ").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  }).filter((gseq) => !there.has(gseq));
  return { missing, problems, there: there.size };
}

/** Indexes of acknowledgements, evenly spread. */
function cutsOf(changes: readonly Change[]): number[] {
  const all = changes.flatMap((change, at) => isAcknowledgement(change) ? [at] : []);
  const step = Math.max(1, Math.floor(all.length / rounds));
  return all.filter((_, at) => at % step === 0 || at === all.length - 1);
}

/** The same numbers each time. */
function seeded(seed: number): () => boolean {
  let state = seed;
  return () => {
    state = Math.imul(state, 1_664_525) + 1_013_904_223 | 0;
    return state < 0;
  };
}

describe("a power loss", () => {
  test("with sync: full takes nothing that was acknowledged or read, wherever it comes", async (context) => {
    const changes = await recorded(context, "full");
    for (const cut of cutsOf(changes)) {
      for (const luck of [() => false, seeded(cut)]) {
        expect(await lossAt(changes, { cut, luck })).toMatchObject({ missing: [], problems: [] });
      }
    }
    // The log started over, or the test has not tried that.
    expect(changes.filter(({ kind, path, at }) => kind === "w" && at === 0 && path.endsWith("-wal")).length)
      .toBeGreaterThan(1);
  });

  test("with sync: normal takes what came after the last checkpoint, and leaves the rest whole", async (context) => {
    const changes = await recorded(context, "normal");
    const cut = changes.length - 1;
    const { missing, problems } = await lossAt(changes, { cut, luck: () => false });
    expect(missing.length).toBeGreaterThan(0);
    expect(problems).toEqual([]);
    // All that a loss may take is the end: with luck, nothing is lost.
    expect(await lossAt(changes, { cut, luck: () => true })).toMatchObject({ missing: [], problems: [] });
  });
});
