import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openCheckpoints } from "../../../core/records/checkpoints/checkpoint-store.ts";
import { verifyCheckpoints } from "../../../core/records/checkpoints/verify-store.ts";
import { makeFixture } from "../git/git-fixture.ts";
import { type Runnable, runnable } from "../journal/runnable.ts";
import { numbers, readFiles } from "./rewind-history.ts";

/** Kills of a run; the seed of the first one. */
const rounds = Number(process.env["BULKHEAD_REWIND_KILLS"] ?? 4);
const firstSeed = Number(process.env["BULKHEAD_REWIND_SEED"] ?? 1);

/** Turns after which a folder is left for a fresh one. */
const mostTurns = 60;

interface NotedTurn {
  turn: number;
  before: string;
  after: string | null;
  files: [string, string][];
}

test("a store whose host is killed is whole again at the next start, and so are the files", async () => {
  const below = numbers(firstSeed);
  let f = makeFixture({ repository: true });
  const counts = { midRewind: 0, turns: 0 };
  const scripts = await mkdtemp(join(tmpdir(), "bulkhead-kills-"));
  try {
    const script = await workerIn(scripts);
    const begin = () => {
      f.write("d1/tracked.txt", "first\n");
      f.commitAll();
    };
    begin();
    for (let round = 0; round < rounds; round++) {
      const noted = notedTurns(f.root);
      if (noted.length > mostTurns) {
        rmSync(f.root, { recursive: true, force: true });
        f = makeFixture({ repository: true });
        begin();
      }
      const last = Math.max(0, ...notedTurns(f.root).map(({ turn }) => turn)) + 1;
      await runAndKill(f.root, { script, first: last, seed: firstSeed + round, below });
      const rewinding = read<{ now: unknown; wanted: unknown }>(join(f.root, "rewinding.json"));
      const place = { folder: join(f.root, "checkpoints"), conversation: "c1" };
      const store = await openCheckpoints({ ...place, workdir: f.work, exclude: [] });
      try {
        await store.look();
        const now = sorted([...readFiles(f.work)]);
        if (rewinding !== null && rewinding.wanted !== null) {
          counts.midRewind++;
          // Undone, or finished.
          expect([sorted(rewinding.now), sorted(rewinding.wanted)], `round ${round}`).toContainEqual(now);
        }
        const turns = notedTurns(f.root);
        counts.turns += turns.length;
        expect(
          await verifyCheckpoints({ ...place, turns: turns.map((one) => ({ ...one, workdir: f.work })) }),
          `round ${round}`,
        ).toEqual([]);
        const plan = turns.length === 0 ? null : await store.plan({ to: turns.at(-1)!.turn, unclaimed: true })
          .catch(() => null);
        // A turn that is taken back at the moment is in no line.
        if (plan !== null) {
          expect([plan.objects_gone, plan.conflicts], `round ${round}`).toEqual([[], []]);
          await store.rewind(plan);
          expect(sorted([...readFiles(f.work)]), `round ${round}`).toEqual(sorted(turns.at(-1)!.files));
        }
      } finally {
        await store.close();
      }
      rmSync(join(f.root, "rewinding.json"), { force: true });
    }
    expect(counts.turns).toBeGreaterThan(0);
    if (rounds > 20) expect(counts.midRewind).toBeGreaterThan(rounds / 10);
  } finally {
    rmSync(f.root, { recursive: true, force: true });
    rmSync(scripts, { recursive: true, force: true });
  }
}, 60_000 + rounds * 30_000);

/** Makes the worker in a folder, with the scripts that lie beside the code which starts programs. */
async function workerIn(folder: string): Promise<Runnable> {
  const beside = fileURLToPath(new URL("../../../core/ground/platform/processes", import.meta.url));
  for (const name of readdirSync(beside).filter((one) => one.endsWith(".pl"))) {
    copyFileSync(join(beside, name), join(folder, name));
  }
  return await runnable("../checkpoints/rewind-until-killed.ts", folder, { packages: true });
}

/** Starts the worker, and kills it at some moment: half of the times soon after it begins a rewind. */
async function runAndKill(
  root: string,
  { script: { args, env }, first, seed, below }: {
    script: Runnable;
    first: number;
    seed: number;
    below: (limit: number) => number;
  },
): Promise<void> {
  const child = spawn(process.execPath, [...args, root, String(first), String(seed)], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const awaited = below(2) === 0 ? "rewinding" : "turn";
  await new Promise<void>((resolve) => {
    let text = "";
    let seen = below(3);
    child.stdout.on("data", (chunk: Uint8Array) => {
      const before = text.split("\n").length;
      text += new TextDecoder().decode(chunk);
      for (const line of text.split("\n").slice(before - 1)) if (line.startsWith(awaited) && seen-- === 0) resolve();
    });
    void ended.then(resolve);
  });
  await new Promise((resolve) => setTimeout(resolve, below(awaited === "rewinding" ? 120 : 400)));
  child.kill("SIGKILL");
  await ended;
}

function notedTurns(root: string): NotedTurn[] {
  return readdirSync(root).filter((name) => /^turn-\d+\.json$/.test(name))
    .flatMap((name) => read<NotedTurn>(join(root, name)) ?? [])
    .sort((a, b) => a.turn - b.turn);
}

function read<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return null;
  }
}

function sorted(files: unknown): unknown {
  return (files as [string, string][]).toSorted(([a], [b]) => a < b ? -1 : 1);
}
