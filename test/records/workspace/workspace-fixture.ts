import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEveryTest } from "../../clean-up.ts";
import { applyWorktree } from "../../../core/records/git/apply-worktree.ts";
import type { Swap } from "../../../core/records/git/restore-files.ts";
import { openWorkspaces, type Workspaces } from "../../../core/records/workspace/workspaces.ts";
import type { OpenedWorkspace } from "../../../core/records/workspace/open-workspace.ts";
import { type Fixture, fixtureAt, makeFixture } from "../git/git-fixture.ts";

/** A repository with a commit, and a folder for workspaces outside it. */
export interface WorkspaceFixture extends Fixture {
  state: string;
  workspaces: Workspaces;
  /** Opens the workspace of a session; the fixture's functions work on the worktree then. */
  open(sessionId?: string, workdir?: string): Promise<OpenedWorkspace & { at: Fixture }>;
  /** Opens one, changes something in it, and ends its session. */
  changed(act: (at: Fixture) => void, sessionId?: string): Promise<OpenedWorkspace & { at: Fixture }>;
}

const made: Fixture[] = [];
afterEveryTest(() => {
  for (const { root } of made.splice(0)) rmSync(root, { recursive: true, force: true });
});

export const lines = (word: string): string => Array.from({ length: 20 }, (_, at) => `${word} ${at}\n`).join("");

export function workspaceFixture(options: { repository: boolean } = { repository: true }): WorkspaceFixture {
  const fixture = makeFixture(options);
  made.push(fixture);
  const state = join(fixture.root, "state", "workspaces");
  mkdirSync(join(fixture.root, "state"));
  if (options.repository) {
    fixture.write("a.txt", lines("a"));
    fixture.write("dir/one.txt", lines("one"));
    fixture.write("dir/two.txt", "two\n");
    fixture.write(".gitignore", "*.log\n");
    fixture.commitAll("first");
  }
  const workspaces = openWorkspaces(state);
  const open = async (sessionId = "s1", workdir = fixture.work) => {
    const opened = await workspaces.open({ sessionId, workdir });
    return { ...opened, at: fixtureAt(fixture.root, opened.folder) };
  };
  return {
    ...fixture,
    state,
    workspaces,
    open,
    changed: async (act, sessionId = "s1") => {
      const opened = await open(sessionId);
      act(opened.at);
      await workspaces.end(sessionId);
      return opened;
    },
  };
}

/** All that a person's repository holds beside its files: index, HEAD, refs, config, hooks, registrations. */
export function ownState(fixture: Fixture): Record<string, string> {
  return {
    head: fixture.git("symbolic-ref", "HEAD"),
    commit: fixture.git("rev-parse", "HEAD"),
    index: fixture.git("ls-files", "-s", "-v"),
    refs: fixture.git("for-each-ref"),
    config: new TextDecoder().decode(fixture.read(".git/config")),
    worktrees: fixture.git("worktree", "list", "--porcelain"),
    status: fixture.git("status", "--porcelain"),
    stash: fixture.git("stash", "list"),
  };
}

/** Brings an apply to where a killed host left it: its record says what it was about to write, and nothing is written. */
export async function cutOff(f: WorkspaceFixture, folder: string, sessionId = "s1"): Promise<void> {
  const file = join(f.state, `${sessionId}.json`);
  const record = JSON.parse(readFileSync(file, "utf8")) as { store: string; base_commit: string; base_tree: string };
  let unfinished: Swap | null = null;
  const base = { store: record.store, commit: record.base_commit, tree: record.base_tree };
  const killed = applyWorktree(base, {
    folder,
    sourceTop: f.work,
    signal: new AbortController().signal,
    takes: () => false,
    onWrite: (swap) => {
      unfinished = swap;
      return Promise.reject(new Error("killed"));
    },
  });
  await killed.catch(() => {});
  writeFileSync(file, JSON.stringify({ ...record, state: "applying", unfinished }));
}
