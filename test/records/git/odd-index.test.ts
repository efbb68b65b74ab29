import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mayBeOdd } from "../../../core/records/git/private/index-entries.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-index-"));
  mkdirSync(join(folder, "links"));
  for (const name of ["linked.ts", "links/sdir.ts", "sdirs", "plain"]) writeFileSync(join(folder, name), name);
  git("init", "-q");
  git("add", ".");
});

afterEach(() => rmSync(folder, { recursive: true }));

function git(...args: string[]): void {
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: folder });
}

const index = () => readFileSync(join(folder, ".git/index"));

test("an index is read as a whole for an extension, not for a path with its name", () => {
  expect(mayBeOdd(index())).toBe(false);
  git("update-index", "--split-index");
  expect(mayBeOdd(index())).toBe(true);
});
