import { mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { smallDisk } from "../../records/git/small-disk.ts";
import { adapterCode, closeHosts, completed, openHost, until } from "./test-host.ts";
import { skipBecause } from "../../skip-because.ts";

const fills = adapterCode(`
    const child = await ctx.run("/bin/sh", ["-c", request.prompt]);
    await child.exit;
    yield ${completed};`);

const counts = adapterCode(`
    for (let n = 1; n <= 120; n++) {
      yield { type: "progress", message: "event " + n };
      await ctx.sleep(25);
    }
    yield ${completed};`);

const manifest = `permissions:\n  run:\n    - binary: /bin/sh\n      args: ["-c {*}"]`;

test.for([
  "while :; do head -c 4000000 /dev/zero; done > $TMPDIR/all",
  "while :; do head -c 100000000 /dev/zero > $TMPDIR/one; rm $TMPDIR/one; done",
  "while :; do head -c 4000000 /dev/zero; done > all",
])(
  "a session that fills the state's disk is ended with its reason, and the others complete: %s",
  async (script, context) => {
    const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-full-")));
    const disk = smallDisk(join(root, "disk"), 80 * 1024);
    if (disk === null) return skipBecause(context, "this user may not mount a file system");
    try {
      const { add, run, stateDir } = await openHost({ root: disk.folder });
      await add("hog", { code: fills, manifest }, { grant: { run: [{ binary: "/bin/sh", args: ["-c {*}"] }] } });
      await add("canary", { code: counts });
      const reserve = async () =>
        (await readdir(stateDir, { recursive: true })).some((name) => name.endsWith("reserve"));
      await until(reserve);
      const canary = run("canary");
      const hog = await run("hog", { prompt: script });
      expect(hog.result).toMatchObject({
        outcome: "error",
        error: { code: "limit_exceeded", message: expect.stringContaining("disk_floor_mb") },
      });
      const { events, result } = await canary;
      expect(result.outcome).toBe("completed");
      expect(events.filter(({ event }) => event.type === "progress")).toHaveLength(120);
      await until(reserve);
    } finally {
      await closeHosts();
      disk[Symbol.dispose]();
      await rm(root, { recursive: true, force: true });
    }
  },
);
