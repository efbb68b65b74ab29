import { mkdir, readdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import type { SessionBroker } from "../../../core/walls/broker/session-broker.ts";
import { isInside } from "../../../core/ground/platform/files/paths.ts";
import { makeBroker } from "./broker-fixture.ts";

const raceMs = 2500;
const outside = "OUTSIDE";

interface Race {
  broker: SessionBroker;
  workdir: string;
  /** Ends the racing thread; says how often it swapped. */
  stop(): Promise<number>;
  /** Everything below the folder outside, as `path: text`. */
  outsideNow(): Promise<string[]>;
}

/**
 * A broker whose working directory holds a folder, a folder on the way and a file, each of which a thread swaps for a
 * link to its twin outside.
 */
async function startRace(): Promise<Race> {
  const { broker, root, workdir } = await makeBroker({ permissions: { read: ["workdir"], write: ["workdir"] } });
  const away = join(root, "away");
  for (const [base, text] of [[workdir, "inside"], [away, outside]] as const) {
    await mkdir(join(base, "folder"), { recursive: true });
    await mkdir(join(base, "way", "deep"), { recursive: true });
    for (const file of ["folder/a", "way/deep/a", "file"]) await writeFile(join(base, file), text);
  }
  await writeFile(join(away, "folder", "only-outside"), outside);
  const pairs = ["folder", "way", "file"].map((name) => ({
    real: join(workdir, name),
    link: join(workdir, `${name}.link`),
  }));
  for (const { real, link } of pairs) await symlink(join(away, basename(real)), link);
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const source = await readFile(new URL("fixtures/swap-forever.ts", import.meta.url), "utf8");
  const { code } = await transform(source, { loader: "ts", format: "esm" });
  const script = join(root, "swap-forever.mjs");
  await writeFile(script, code);
  const thread = new Worker(script, { workerData: { flag, pairs } });
  await new Promise((resolve, reject) => thread.once("message", resolve).once("error", reject));
  const ended = new Promise<number>((resolve, reject) => thread.once("message", resolve).once("error", reject));
  return {
    broker,
    workdir,
    stop: async () => {
      Atomics.store(flag, 0, 1);
      const swaps = await ended;
      await thread.terminate();
      return swaps;
    },
    outsideNow: async () => {
      const names = (await readdir(away, { recursive: true })).sort();
      return Promise.all(
        names.map(async (name) => `${name}: ${await readFile(join(away, name), "utf8").catch(() => "-")}`),
      );
    },
  };
}

test(
  "the broker never reads, lists, writes or removes outside while a thread swaps folders, ways and files for links",
  async () => {
    const race = await startRace();
    const { broker } = race;
    const before = await race.outsideNow();
    const seen = { reads: 0, inside: 0, refused: 0 };
    const leaks: string[] = [];
    const call = (name: string, args: object) => broker.call(name, args).catch(() => undefined);
    for (const end = performance.now() + raceMs; performance.now() < end;) {
      const texts = await Promise.all(
        ["folder/a", "way/deep/a", "file", "folder/only-outside"].map((path) => call("fs_read_text", { path })),
      );
      for (const text of texts) {
        seen.reads += 1;
        if (text === undefined) seen.refused += 1;
        else if (text === "inside" || text === "mine") seen.inside += 1;
        else leaks.push(`read ${String(text)}`);
      }
      const [names] = await Promise.all([
        call("fs_list", { path: "folder" }),
        call("fs_write_text", { path: "folder/new", text: "mine" }),
        call("fs_write_text", { path: "way/deep/a", text: "mine" }),
        call("fs_write_text", { path: "way/made/new", text: "mine" }),
        call("fs_write_text", { path: "file", text: "mine" }),
        call("fs_remove", { path: "folder/only-outside" }),
        call("fs_remove", { path: "way/deep/a" }),
      ]);
      if (Array.isArray(names) && names.includes("only-outside")) leaks.push("listed");
      const info = await call("fs_stat", { path: "folder/only-outside" });
      if (info !== undefined) leaks.push("stat");
    }
    const swaps = await race.stop();
    expect(leaks).toEqual([]);
    expect(await race.outsideNow()).toEqual(before);
    // The race was one: there were swaps, and both of its outcomes were seen.
    expect(swaps).toBeGreaterThan(100);
    expect(seen.inside).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  },
  60_000,
);

test("the same race beats a check of the real path that is followed by a plain read", async () => {
  const race = await startRace();
  let leaked = false;
  for (const end = performance.now() + 20_000; !leaked && performance.now() < end;) {
    leaked = (await Promise.all(["folder/a", "way/deep/a", "file"].map((path) => checkThenRead(race.workdir, path))))
      .includes(outside);
  }
  await race.stop();
  expect(leaked).toBe(true);
}, 60_000);

/** What an unguarded host would do. */
async function checkThenRead(workdir: string, path: string): Promise<string | null> {
  try {
    const wanted = join(workdir, path);
    const real = join(await realpath(dirname(wanted)), basename(wanted));
    if (!isInside(workdir, await realpath(real))) return null;
    return await readFile(wanted, "utf8");
  } catch {
    return null;
  }
}
