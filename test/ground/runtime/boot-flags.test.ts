import { cachedDataVersionTag } from "node:v8";
import { describe, expect, test } from "vitest";
import {
  letEngineOptimize,
  letYoungGenerationGrow,
  setBootFlags,
  withBootFlags,
} from "../../../core/ground/runtime/boot-flags.ts";

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
