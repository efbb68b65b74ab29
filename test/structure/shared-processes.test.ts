import { describe, expect, test } from "vitest";
import { notSharing, sharingFolders } from "../shared-processes.ts";
import { linkMap } from "./floors.ts";
import { listFiles, readSource } from "./source.ts";

const hooks = /^\s*(?:after|before)(?:Each|All)\(/m;
const links = linkMap("test");

/** All modules of the tests' own that a file loads. */
function loadedBy(path: string, seen = new Set<string>()): Set<string> {
  for (const { target, kind } of links.get(path) ?? []) {
    if (target === null || kind !== "value" || !links.has(target) || seen.has(target)) continue;
    seen.add(target);
    loadedBy(target, seen);
  }
  return seen;
}

describe("tests that share a process", () => {
  test("use no fixture with hooks, which would clean up after the first file alone", () => {
    const sharing = sharingFolders.flatMap((folder) => listFiles(folder, ".test.ts"))
      .filter((path) => !notSharing.includes(path) && !path.includes("/proving-ground/"));
    expect(sharing.length).toBeGreaterThan(50);
    const wrong = sharing.flatMap((path) =>
      [...loadedBy(path)].filter((fixture) => hooks.test(readSource(fixture))).map((fixture) => `${path}: ${fixture}`)
    );
    expect(wrong).toEqual([]);
  });

  test("leave those aside that need a process of their own, and no others", () => {
    for (const path of notSharing) {
      expect([...loadedBy(path)].some((fixture) => hooks.test(readSource(fixture))), path).toBe(true);
    }
  });
});
