import { describe, expect, it } from "vitest";
import type { BlobChange, BlobEntry } from "../../../core/records/checkpoints/blob-changes.ts";
import { type LineStep, planRewind, type RewindFacts } from "../../../core/records/checkpoints/plan-rewind.ts";
import { pathKey } from "../../../core/records/git/git-call.ts";

describe("planRewind", () => {
  it("goes back to before the first of the turns' changes", () => {
    expect(plan([turn(2, "a:1>2 b:->1"), turn(3, "a:2>3 c:1>-")])).toEqual({ back: ["a=1", "b=-", "c=1"] });
  });

  it("needs nothing where a path is as it was", () => {
    expect(plan([turn(2, "a:1>2"), turn(3, "a:2>1"), person("b:1>2")])).toEqual({ back: [] });
    expect(plan([turn(2, "a:1>2"), person("a:2>1")])).toEqual({ back: [] });
  });

  it("says which paths others have changed too, before and since", () => {
    expect(plan([person("a:0>1"), turn(2, "a:1>2 b:1>2"), person("b:2>3"), turn(3, "c:1>2")])).toEqual({
      back: ["c=1"],
      conflicts: ["a", "b"],
    });
    expect(plan([turn(2, "a:1>2 d/x:1>2")], { others: ["a", "d"] })).toEqual({ back: [], conflicts: ["a", "d/x"] });
  });

  it("takes a folder with another's file in it for a conflict, and what is kept away by one that stays", () => {
    expect(plan([turn(2, "d:1>- d/x:->1"), person("d/y:->1")])).toEqual({ back: [], conflicts: ["d", "d/x"] });
    expect(plan([turn(2, "d/x:1>- d/z:1>-"), person("d/x:->1")])).toEqual({ back: ["d/z=1"] });
    expect(plan([turn(2, "e/x:1>- e/z:1>- e:->1"), person("e/x/y:->1")])).toEqual({
      back: [],
      conflicts: ["e/x", "e/z", "e"],
    });
    expect(plan([turn(2, "d/x:1>2"), person("d/y:->1 dd:->1")])).toEqual({ back: ["d/x=1"] });
  });

  it("leaves alone what nothing shows to be the agent's, unless it is told to take it", () => {
    const steps = [turn(2, "a:1>2 b:1>2", ["b"]), turn(3, "c:1>2", ["c"]), turn(4, "c:2>3")];
    expect(plan(steps)).toEqual({ back: ["a=1"], unclaimed: ["b"], conflicts: ["c"] });
    expect(plan(steps, { takesUnclaimed: true })).toEqual({ back: ["a=1", "b=1", "c=1"] });
    expect(plan([{ ...turn(2, "a:1>2"), open: "all" }])).toEqual({ back: [], unclaimed: ["a"] });
  });

  it("leaves repositories alone, and files that were there before", () => {
    const nested: BlobChange = { path: bytes("n"), old: null, new: { mode: "160000", id: "1" } };
    const step = { ...turn(2, "n/x:1>- old:->1"), open: { unclaimed: new Set<string>(), surfaced: new Set(["old"]) } };
    expect(plan([{ ...step, changes: [...step.changes, nested] }], { takesUnclaimed: true })).toEqual({
      back: [],
      left: ["n/x", "old", "n"],
    });
  });

  it("compares names as the file system does", () => {
    const steps = [turn(2, "A.txt:->1 caf\u00e9/x:1>2"), person("a.txt:1>2 cafe\u0301/X:1>2")];
    expect(plan(steps)).toEqual({ back: ["A.txt=-", "caf\u00e9/x=1"] });
    expect(plan(steps, { names: "folding" })).toEqual({ back: [], conflicts: ["A.txt", "caf\u00e9/x"] });
  });
});

function plan(
  steps: LineStep[],
  { others = [], ...options }: { others?: string[]; takesUnclaimed?: boolean; names?: RewindFacts["names"] } = {},
): Record<string, string[]> {
  const { back, ...rest } = planRewind({
    steps,
    takesUnclaimed: false,
    names: "exact",
    others: others.map(bytes),
    ...options,
  });
  const lists = Object.entries(rest).filter(([, paths]) => paths.length > 0);
  return {
    back: back.map((one) => `${text(one.path)}=${one.back?.id ?? "-"}`),
    ...Object.fromEntries(lists.map(([name, paths]) => [name, paths.map(text)])),
  };
}

/** A turn of changes such as `a:1>2`: path, content before and after, `-` for nothing. */
function turn(number: number, changes: string, unclaimed: string[] = []): LineStep {
  const open = { unclaimed: new Set(unclaimed.map((path) => pathKey(bytes(path)))), surfaced: new Set<string>() };
  return { turn: number, changes: changes.split(" ").map(changeOf), open };
}

function person(changes: string): LineStep {
  return { ...turn(0, changes), turn: null };
}

function changeOf(word: string): BlobChange {
  const [path = "", ids = ""] = word.split(":");
  const [old, now] = ids.split(">").map((id): BlobEntry | null => id === "-" ? null : { mode: "100644", id });
  return { path: bytes(path), old: old ?? null, new: now ?? null };
}

function bytes(path: string): Uint8Array {
  return new TextEncoder().encode(path);
}

function text(path: Uint8Array): string {
  return new TextDecoder().decode(path);
}
