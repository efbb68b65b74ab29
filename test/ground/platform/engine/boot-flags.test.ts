import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cachedDataVersionTag } from "node:v8";
import { describe, expect, test } from "vitest";
import { letEngineOptimize, setBootFlags, withBootFlags } from "../../../../core/ground/platform/engine/boot-flags.ts";
import { root } from "../../../structure/source.ts";

/** Deno's engine gives one tag for all flags, so that its kept code fits whatever they are. */
const isShown = !("Deno" in globalThis);

describe("withBootFlags", () => {
  test("brings back the flags of the start for one action, whichever were given up since, and gives them up again", () => {
    // Once before: the engine of Node 22 tells flags that were set back from those that were never set.
    setBootFlags();
    withBootFlags(() => false, () => {});
    const before = cachedDataVersionTag();
    setBootFlags();
    const boot = cachedDataVersionTag();
    expect(boot !== before).toBe(isShown);
    const seen = () => withBootFlags(() => cachedDataVersionTag() === boot, cachedDataVersionTag);
    expect(seen()).toBe(boot);
    letEngineOptimize();
    const optimizing = cachedDataVersionTag();
    expect([optimizing === boot, seen(), cachedDataVersionTag()]).toEqual([!isShown, boot, optimizing]);
    // It gives up all that it set, here the flag of the space for short-lived objects too.
    withBootFlags(() => false, () => {});
    expect([seen(), cachedDataVersionTag()]).toEqual([boot, before]);
  });

  test("does nothing where those flags do not help, and leaves the flags as they were", () => {
    const before = cachedDataVersionTag();
    let isDone = false;
    expect(withBootFlags(() => false, () => isDone = true)).toBeUndefined();
    expect([isDone, cachedDataVersionTag()]).toEqual([false, before]);
  });
});

// Deno tells of no collections.
if (isShown) {
  test("the space for short-lived objects grows once a session starts, up to 16 MB while it does", async () => {
    const program = fileURLToPath(new URL("../programs/fill-memory.mjs", import.meta.url));
    const built = join(root, "dist/core/ground/platform/engine/boot-flags.js");
    const megabytes = async (when: string) =>
      Number((await promisify(execFile)(process.execPath, [program, built, when])).stdout) / 1024 / 1024;
    const [before, starting, started] = await Promise.all(["before", "starting", "started"].map(megabytes));
    // From Node 26 on a size holds memory too that a collection has not given back yet.
    const isExact = Number(process.versions.node.split(".")[0]) < 26;
    expect(before).toBeLessThan(isExact ? 4 : 8);
    expect(starting).toBeGreaterThan(isExact ? 4 : before!);
    expect(starting).toBeLessThanOrEqual(isExact ? 16 : 24);
    expect(started).toBeGreaterThan(isExact ? 16 : 24);
  });
}
