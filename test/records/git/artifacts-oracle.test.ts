import fc from "fast-check";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ArtifactList } from "../../../core/records/git/artifacts.ts";
import { KnownRepositories } from "../../../core/records/git/known-repositories.ts";
import { changesOf, type Fixture, makeFixture, walk } from "./git-fixture.ts";

type Step =
  | { do: "write"; path: string; content: number }
  | { do: "delete"; path: string }
  | { do: "rename"; path: string; to: string }
  | { do: "stage"; path: string }
  | { do: "unstage"; path: string }
  | { do: "ignore"; path: string }
  | { do: "commit" | "branch" | "back" | "stash" | "reset" };

const path = fc.constantFrom("a.txt", "b.txt", "d/c.txt", "d/e/f.txt", "g.log", "d/h.log", "i j.txt");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("write" as const), path, content: fc.nat({ max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rename" as const), path, to: path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("stage" as const), path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unstage" as const), path }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("ignore" as const), path: fc.constantFrom("*.log", "/d/", "a.txt") }),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Step>({ do: "commit" }, { do: "branch" }, { do: "back" }, { do: "stash" }, {
      do: "reset",
    }),
  },
);

const steps = fc.array(step, { maxLength: 12 });

describe("listArtifacts", () => {
  afterEach(() => void vi.useRealTimers());

  it("tells in a repository what a walk before and a walk after tell, whatever is done in between", async () => {
    await fc.assert(
      fc.asyncProperty(steps, steps, (earlier, later) => agrees(earlier, later, { repository: true })),
      { numRuns: 40 },
    );
  }, 120_000);

  it("tells the same with what an earlier session there has learned", async () => {
    // What was changed until now counts as old: only such things are kept in mind.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 });
    await fc.assert(
      fc.asyncProperty(steps, steps, (earlier, later) => agrees(earlier, later, { repository: true, isKnown: true })),
      { numRuns: 40 },
    );
  }, 120_000);

  it("tells in a plain folder what a walk before and a walk after tell, whatever is done in between", async () => {
    await fc.assert(
      fc.asyncProperty(steps, steps, (earlier, later) => agrees(earlier, later, { repository: false })),
      { numRuns: 30 },
    );
  }, 120_000);
});

async function agrees(
  earlier: Step[],
  later: Step[],
  { repository, isKnown = false }: { repository: boolean; isKnown?: boolean },
): Promise<void> {
  const f = makeFixture({ repository });
  const known = new KnownRepositories();
  try {
    for (const one of earlier) perform(f, one);
    if (isKnown) await changesOf(f, () => {}, { known });
    const before = look(f);
    const list = await changesOf(f, () => later.forEach((one) => perform(f, one)), { known });
    check({ before, after: look(f), list });
  } finally {
    rmSync(f.root, { recursive: true, force: true });
  }
}

function perform(f: Fixture, one: Step): void {
  try {
    performOrThrow(f, one);
  } catch {
    // A step that git or the file system refuses changes nothing, or part of it, which the walk sees too.
  }
}

function performOrThrow(f: Fixture, one: Step): void {
  const plain = !existsSync(join(f.work, ".git"));
  switch (one.do) {
    case "write":
      return f.write(one.path, `${one.content}\n`.repeat(one.content * 10));
    case "delete":
      return f.remove(one.path);
    case "rename":
      mkdirSync(dirname(join(f.work, one.to)), { recursive: true });
      return renameSync(join(f.work, one.path), join(f.work, one.to));
    case "ignore":
      return f.write(".gitignore", `${one.path}\n`);
  }
  if (plain) return;
  switch (one.do) {
    case "stage":
      return void f.git("add", one.path);
    case "unstage":
      return void f.git("rm", "-q", "--cached", one.path);
    case "commit":
      return f.commitAll();
    case "branch":
      return void f.git("checkout", "-q", "-b", `branch-${f.git("branch", "--list").length}`);
    case "back":
      return void f.git("checkout", "-q", "main");
    case "stash":
      return void f.git("stash", "-q");
    case "reset":
      return void f.git("reset", "-q", "--hard");
  }
}

interface Look {
  /** Digests of the files that are not ignored. */
  visible: Map<string, string>;
  /** Digests of all files. */
  all: Map<string, string>;
  tracked: Set<string>;
}

/** What lies there, by a walk; git is asked only which of it is ignored and which is tracked. */
function look(f: Fixture): Look {
  const all = walk(f.work, [".git"]);
  const lines = (...args: string[]): string[] => f.git(...args).split("\0").filter((line) => line !== "");
  const inRepository = existsSync(join(f.work, ".git"));
  const shown = inRepository
    ? lines("ls-files", "-z", "-c", "-o", "--exclude-standard")
    : [...all.keys()].filter((path) => !ignoredByHand(f, path));
  const tracked = new Set(inRepository ? lines("ls-files", "-z") : []);
  try {
    for (const path of inRepository ? lines("ls-tree", "-r", "-z", "--name-only", "HEAD") : []) tracked.add(path);
  } catch {
    // No commit yet.
  }
  return { visible: new Map([...all].filter(([path]) => shown.includes(path))), all, tracked };
}

function ignoredByHand(f: Fixture, path: string): boolean {
  const rule = existsSync(join(f.work, ".gitignore")) ? new TextDecoder().decode(f.read(".gitignore")).trim() : "";
  if (rule === "*.log") return path.endsWith(".log");
  if (rule === "/d/") return path.startsWith("d/");
  return rule !== "" && path === rule;
}

function check({ before, after, list }: { before: Look; after: Look; list: ArtifactList }): void {
  const expected: string[] = [];
  for (const [path, digest] of after.visible) {
    const old = before.visible.get(path);
    if (old === undefined) expected.push(`${after.tracked.has(path) ? "created" : "untracked"} ${path}`);
    else if (old !== digest) expected.push(`modified ${path}`);
  }
  for (const path of before.visible.keys()) if (!after.all.has(path)) expected.push(`deleted ${path}`);
  const found: string[] = [];
  for (const { change, path, from, sha256 } of list.artifacts ?? []) {
    // A rename is one line for a deletion and a new file.
    if (from !== undefined) found.push(`deleted ${from}`);
    found.push(`${change === "renamed" ? after.tracked.has(path) ? "created" : "untracked" : change} ${path}`);
    expect(sha256).toBe(change === "deleted" ? null : after.all.get(path)?.split(" ")[0]);
  }
  expect(list).not.toHaveProperty("reason");
  expect(found.sort()).toEqual(expected.sort());
}
