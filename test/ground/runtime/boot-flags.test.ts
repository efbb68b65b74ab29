import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cachedDataVersionTag } from "node:v8";
import { describe, expect, test } from "vitest";
import {
  letEngineOptimize,
  letYoungGenerationGrow,
  setBootFlags,
  withBootFlags,
} from "../../../core/ground/runtime/boot-flags.ts";
import { root } from "../../structure/source.ts";

/** Deno's engine gives one tag for all flags, so that its kept code fits whatever they are. */
const isShown = !("Deno" in globalThis);

describe("withBootFlags", () => {
  test("brings back the flags of the start for one action, whichever were given up since, and gives them up again", () => {
    const before = cachedDataVersionTag();
    setBootFlags();
    const boot = cachedDataVersionTag();
    expect(boot !== before).toBe(isShown);
    const seen = () => withBootFlags(() => cachedDataVersionTag() === boot, cachedDataVersionTag);
    expect(seen()).toBe(boot);
    letEngineOptimize();
    const optimizing = cachedDataVersionTag();
    expect([optimizing === boot, seen(), cachedDataVersionTag()]).toEqual([!isShown, boot, optimizing]);
    letYoungGenerationGrow();
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
  test("the space for short-lived objects stops growing at 16 MB; without that it does not", async () => {
    const program = fileURLToPath(new URL("programs/fill-memory.mjs", import.meta.url));
    const built = join(root, "dist/core/ground/runtime/boot-flags.js");
    const bytes = async (mode: string) =>
      Number((await promisify(execFile)(process.execPath, [program, built, mode])).stdout);
    const [bound, free] = await Promise.all([bytes("bound"), bytes("free")]);
    expect(bound).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(free).toBeGreaterThan(16 * 1024 * 1024);
  });
}
