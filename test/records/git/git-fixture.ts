import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ArtifactList, listArtifacts } from "../../../core/records/git/artifacts.ts";
import { releaseSnapshot, type SnapshotOptions, takeSnapshot } from "../../../core/records/git/snapshot.ts";
import type { Artifact } from "../../../plugin-sdk/result.ts";

/** A folder for one test, with a work tree and a scratch folder beside it. */
export interface Fixture {
  root: string;
  work: string;
  scratch: string;
  write(path: string, content: string | Uint8Array): void;
  read(path: string): Uint8Array;
  remove(path: string): void;
  git(...args: string[]): string;
  commitAll(message?: string): void;
}

export function makeFixture(options: { repository: boolean }): Fixture {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-git-")));
  const fixture = fixtureAt(root, join(root, "work"));
  mkdirSync(fixture.work);
  mkdirSync(fixture.scratch);
  if (options.repository) fixture.git("init", "-q", "-b", "main");
  return fixture;
}

/** The same fixture with another folder as the work tree. */
export function fixtureAt(root: string, work: string): Fixture {
  const git = (...args: string[]): string => execGit(work, args);
  return {
    root,
    work,
    scratch: join(root, "scratch"),
    write(path, content) {
      mkdirSync(dirname(join(work, path)), { recursive: true });
      writeFileSync(join(work, path), content);
    },
    read: (path) => readFileSync(join(work, path)),
    remove: (path) => rmSync(join(work, path), { recursive: true }),
    git,
    commitAll(message = "commit") {
      git("add", "-A");
      git("commit", "-q", "--allow-empty", "-m", message);
    },
  };
}

export function execGit(cwd: string, args: string[]): string {
  return execFileSync("git", args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ALLOW_PROTOCOL: "file",
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@example.com",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@example.com",
    },
  });
}

/** What changes while `act` runs, as a snapshot and a listing tell it. */
export async function changesOf(
  fixture: Fixture,
  act: () => void,
  options: Partial<SnapshotOptions> & { workdir?: string } = {},
): Promise<ArtifactList> {
  const { workdir = fixture.work, ...rest } = options;
  const snapshot = await takeSnapshot(workdir, { scratchDir: fixture.scratch, ...rest });
  try {
    act();
    return await listArtifacts(snapshot);
  } finally {
    await releaseSnapshot(snapshot);
  }
}

/** Artifacts in short: `change path`, or `change from -> path`, with the kind when it is not a file. */
export function inShort(list: ArtifactList): string[] {
  if (list.artifacts === null) throw new Error(`No artifacts: ${list.reason}`);
  return list.artifacts.map(shortOf);
}

function shortOf(artifact: Artifact): string {
  const path = artifact.from === undefined ? artifact.path : `${artifact.from} -> ${artifact.path}`;
  return artifact.kind === "file" ? `${artifact.change} ${path}` : `${artifact.change} ${path} (${artifact.kind})`;
}

export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Relative paths and content digests of all files below a folder, but for those in `except`. */
export function walk(folder: string, except: readonly string[] = []): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (below: string): void => {
    for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (except.includes(path)) continue;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) {
        found.set(path, `${sha256(readFileSync(join(folder, path)))} ${statSync(join(folder, path)).mode & 0o100}`);
      }
    }
  };
  visit("");
  return found;
}
