import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import type { HostManifest } from "../../../core/ground/config/host-manifest.ts";
import { SharedLooks } from "../../../core/records/git/shared-looks.ts";
import { hostWorkspaces, placeSession } from "../../../core/sessions/host/state/workspaces.ts";
import type { SessionPlace } from "../../../core/sessions/session/admitted.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { fixtureAt } from "../../records/git/git-fixture.ts";
import { workspaceFixture } from "../../records/workspace/workspace-fixture.ts";
import { openHost } from "./test-host.ts";
import { fakeResult } from "../../doors/cli/fake-host.ts";

const keeping = (keep_ms: number): HostManifest => ({
  bulkhead: 1,
  plugins: {},
  tools: {},
  routing: { agent: "auto" },
  limits: {},
  workspaces: { keep_ms },
});

describe("placeSession", () => {
  it("leaves a session in place unless it asks for a worktree", async () => {
    const f = workspaceFixture();
    const request = { workdir: f.work, prompt: "go" };
    const common = { sessionId: "s1", workdir: f.work, exclude: [], manifest: undefined };
    const inplace = await placeSession(f.workspaces, { ...common, request });
    expect(inplace).toMatchObject({ workdir: f.work, workspaceDir: undefined, reset: null });
    await inplace.leave(Promise.resolve(fakeResult()));
    expect(await f.workspaces.list()).toEqual([]);
  });

  it("makes a worktree without what is excluded, and removes those past their age first", async () => {
    const f = workspaceFixture();
    f.write("key.pem", "secret");
    await f.changed(() => {}, "old");
    await new Promise((resolve) => setTimeout(resolve, 5));
    const place = await placeSession(f.workspaces, {
      sessionId: "s1",
      request: { workdir: f.work, prompt: "go", workspace: "worktree" },
      workdir: join(f.work, "dir"),
      exclude: [join(f.work, "key.pem")],
      manifest: keeping(1),
    });
    const [only, ...others] = await f.workspaces.list();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ session_id: "s1", running: true, folder: place.workspaceDir });
    expect(place.workdir).toBe(join(place.workspaceDir!, "dir"));
    expect(() => readFileSync(join(place.workspaceDir!, "key.pem"))).toThrow();
    f.write("dir/one.txt", "by the person");
    await place.reset?.();
    expect(readFileSync(join(place.workdir, "two.txt"), "utf8")).toBe("two\n");
    await place.leave(Promise.resolve(fakeResult({ artifacts: null })));
    expect((await f.workspaces.list())[0]).toMatchObject({ running: false });
  });

  it("removes a worktree only if nobody has changed anything in it", async () => {
    const f = workspaceFixture();
    const left = async (sessionId: string, act: (place: SessionPlace) => void, result: Partial<SessionResult> = {}) => {
      const request = { workdir: f.work, prompt: "go", workspace: "worktree" as const };
      const workdir = join(f.work, "dir");
      const place = await placeSession(f.workspaces, { sessionId, request, workdir, exclude: [], manifest: undefined });
      act(place);
      await place.leave(Promise.resolve(fakeResult({ artifacts: [], ...result })));
      const found = (await f.workspaces.list()).find(({ session_id }) => session_id === sessionId);
      return [found?.state, existsSync(place.workspaceDir!)];
    };
    const kept = ["open", true];
    expect(await left("untouched", () => {})).toEqual(["discarded", false]);
    expect(await left("omitted", () => {}, { artifacts_omitted: 2 })).toEqual(kept);
    // What a person does there while the session ends is in no list of the session's.
    expect(await left("person", ({ workspaceDir }) => writeFileSync(`${workspaceDir}/mine.txt`, "x"))).toEqual(kept);
    expect(await left("edited", ({ workdir }) => writeFileSync(`${workdir}/one.txt`, "x"))).toEqual(kept);
    const commits = ({ workspaceDir }: SessionPlace) => {
      fixtureAt(f.root, workspaceDir!).git("commit", "-q", "--allow-empty", "-m", "mine");
    };
    expect(await left("committed", commits)).toEqual(kept);
    expect(readFileSync(join(f.state, "person", "tree", "work", "mine.txt"), "utf8")).toBe("x");
    const { artifacts } = await f.workspaces.diff("edited");
    expect(artifacts.map(({ path }) => path)).toEqual(["dir/one.txt"]);
    expect(f.git("worktree", "list").trim().split("\n")).toHaveLength(5);
  });

  it("says which worktree stays taken when its record cannot be written", async () => {
    const f = workspaceFixture();
    const problems: string[] = [];
    const place = await placeSession({ ...f.workspaces, end: () => Promise.reject(new Error("The disk is full.")) }, {
      sessionId: "s1",
      request: { workdir: f.work, prompt: "go", workspace: "worktree" },
      workdir: f.work,
      exclude: [],
      manifest: undefined,
      onProblem: (message) => void problems.push(message),
    });
    await place.leave(Promise.resolve(fakeResult({ artifacts: null })));
    expect(problems).toEqual(["The worktree of session s1 stays taken until this host ends: The disk is full."]);
  });
});

describe("hostWorkspaces", () => {
  it("takes worktrees in a temporary state folder, with their registrations, along with the host", async () => {
    const f = workspaceFixture();
    const { createHost } = await import("../../../core/sessions/host/create-host.ts");
    const { openWorkspaces } = await import("../../../core/records/workspace/workspaces.ts");
    const host = await createHost({ stateDir: null, bundledDir: null, root: f.root });
    const state = readdirSync(tmpdir()).filter((name) => name.startsWith("bulkhead-state-")).find((name) => {
      const lock = join(tmpdir(), name, "host-1", "lock");
      return existsSync(lock) && readFileSync(lock, "utf8").includes(`"pid":${process.pid},`);
    });
    const workspaces = openWorkspaces(join(tmpdir(), state!, "workspaces"));
    await workspaces.open({ sessionId: "s1", workdir: f.work });
    await workspaces.end("s1");
    expect(f.git("worktree", "list").trim().split("\n")).toHaveLength(2);
    await host.close();
    expect(f.git("worktree", "list").trim().split("\n")).toHaveLength(1);
  });

  it("prunes by the age of the host manifest, 30 days without one", async () => {
    const f = workspaceFixture();
    const under = (manifest: HostManifest | undefined) => ({
      manifest: () => manifest,
      left: () => Promise.resolve(),
      endKept: () => Promise.resolve(),
      placeOf: (workdir: string) => Promise.resolve({ workdir }),
      looks: new SharedLooks(f.scratch),
    });
    await f.changed(() => {});
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await hostWorkspaces(f.workspaces, under(undefined)).prune()).removed).toEqual([]);
    expect((await hostWorkspaces(f.workspaces, under(keeping(1))).prune()).removed).toEqual(["s1"]);
  });

  it("is a part of every host, in its state folder", async () => {
    const { host } = await openHost();
    expect(await host.workspaces.list()).toEqual([]);
    expect(await host.workspaces.prune()).toEqual({ removed: [], failed: [] });
  });
});
