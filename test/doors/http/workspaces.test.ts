import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connectHost, type RemoteHost } from "../../../core/doors/client/mod.ts";
import { hostWorkspaces } from "../../../core/sessions/host/state/workspaces.ts";
import { SharedLooks } from "../../../core/records/git/shared-looks.ts";
import type { Fixture } from "../../records/git/git-fixture.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { workspaceFixture } from "../../records/workspace/workspace-fixture.ts";
import { openDoor } from "./door-fixture.ts";

/** A door on the worktrees of a repository, and somebody who starts sessions that change something in theirs. */
async function made() {
  const repository = workspaceFixture();
  const workspaces = hostWorkspaces(repository.workspaces, {
    manifest: () => undefined,
    left: () => Promise.resolve(),
    endKept: () => Promise.resolve(),
    placeOf: (workdir) => Promise.resolve({ workdir }),
    looks: new SharedLooks(join(repository.root, "looks")),
  });
  const door = await openDoor({ workspaces });
  const starter = await door.client("run");
  const changed = async (act: (at: Fixture) => void, by: RemoteHost = starter): Promise<string> => {
    const { id } = await by.start({ workdir: repository.work, prompt: "go" });
    await repository.changed(act, id);
    return id;
  };
  return { repository, door, starter, changed };
}

describe("worktrees over the API", () => {
  test("who started a session shows, applies and discards what it changed", async () => {
    const { repository, starter, changed } = await made();
    const one = await changed((at) => at.write("a.txt", "by the agent\n"));
    const other = await changed((at) => at.write("b.txt", "never\n"));
    expect(await starter.workspaces.list()).toMatchObject(await repository.workspaces.list());
    expect(await starter.workspaces.list()).toMatchObject([{ title: "go" }, { title: "go" }]);
    const diff = await starter.workspaces.diff(one);
    expect(diff).toEqual(await repository.workspaces.diff(one));
    expect(new TextDecoder().decode(diff.patch)).toContain("+by the agent\n");
    expect(await starter.workspaces.apply(one)).toMatchObject({ session_id: one, artifacts: [{ path: "a.txt" }] });
    expect(new TextDecoder().decode(repository.read("a.txt"))).toBe("by the agent\n");
    await starter.workspaces.discard(other);
    expect((await starter.workspaces.list()).map(({ state }) => state)).toEqual(["applied", "discarded"]);
    expect(await errorOf(starter.workspaces.apply(other))).toMatchObject({ code: "already_exists" });
    expect(await errorOf(starter.workspaces.diff("nobody"))).toMatchObject({ code: "not_found" });
  });

  test("a folder tells its branch, its commit and whether all is committed, to a token that may work there", async () => {
    const { repository, door, starter } = await made();
    const commit = repository.git("rev-parse", "HEAD").trim();
    const clean = { workdir: repository.work, branch: "main", commit, uncommitted: false };
    expect(await starter.workspaces.folderState(repository.work)).toEqual(clean);
    repository.write("a.txt", "other\n");
    const { token } = await door.tokens.create({
      name: "f",
      scopes: ["run"],
      workdirs: [join(repository.work, "dir")],
    });
    const { workspaces } = connectHost({ url: door.url, token });
    expect(await workspaces.folderState(join(repository.work, "dir"))).toMatchObject({ branch: "main" });
    // Above it, beside it, and through a link out of it.
    symlinkSync(repository.root, join(repository.work, "dir/out"));
    for (const path of [".", "dir/..", "dir/out", "dir/none"]) {
      expect([path, await errorOf(workspaces.folderState(`${repository.work}/${path}`))])
        .toMatchObject([path, { code: "forbidden" }]);
    }
  });

  test("what does not fit the source is a conflict that names the paths, and a patch that is no text comes whole", async () => {
    const { repository, starter, changed } = await made();
    const id = await changed((at) => at.write("dir/two.txt", "two, by the agent\n"));
    repository.write("dir/two.txt", "two, by hand\n");
    expect(await errorOf(starter.workspaces.apply(id))).toMatchObject({
      code: "conflict",
      details: { paths: ["dir/two.txt"] },
    });
    const odd = await changed((at) => at.write("dir/two.txt", new Uint8Array([0x63, 0x61, 0x66, 0xe9, 0x0a])));
    const { patch } = await starter.workspaces.diff(odd);
    expect(patch).toEqual((await repository.workspaces.diff(odd)).patch);
    expect([...patch]).toContain(0xe9);
  });

  test("one file's diff has all its lines, and a file that did not change has none", async () => {
    const { repository, door, changed } = await made();
    const long = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`);
    repository.write("long.txt", `${long.join("\n")}\n`);
    const id = await changed((at) => at.write("long.txt", `${["first", ...long].join("\n")}\n`));
    const headers = { authorization: `Bearer ${await door.token("admin")}` };
    const fileOf = (path: string) =>
      fetch(`${door.url}/v1/sessions/${id}/diff?path=${encodeURIComponent(path)}`, { headers });
    expect(await (await fileOf("long.txt")).json()).toMatchObject({
      artifacts: [],
      patch: expect.stringContaining("@@ -1,40 +1,41 @@\n+first\n line 1\n"),
    });
    // Neither another file of the repository nor one outside of it is shown.
    for (const path of ["a.txt", "../long.txt", "/etc/hosts", ":/long.txt", ".git/config"]) {
      expect([path, (await fileOf(path)).status]).not.toEqual([path, 200]);
    }
  });

  test("what could not be applied waits for a person until it is applied or discarded", async () => {
    const { repository, door, starter, changed } = await made();
    const conflicts = async (scope: "admin" | "run") => {
      const headers = { authorization: `Bearer ${await door.token(scope)}` };
      const { items } = await (await fetch(`${door.url}/v1/waiting`, { headers })).json() as {
        items: { kind: string }[];
      };
      return items.filter(({ kind }) => kind === "conflict");
    };
    const before = repository.read("dir/two.txt");
    const id = await changed((at) => at.write("dir/two.txt", "two, by the agent\n"));
    expect(await conflicts("admin")).toEqual([]);
    repository.write("dir/two.txt", "two, by hand\n");
    const { message } = await errorOf(starter.workspaces.apply(id));
    expect(await conflicts("admin")).toMatchObject([{
      id: `conflict ${id}`,
      session_id: id,
      text: message,
      command: `bulkhead session apply ${id}`,
      input: { paths: ["dir/two.txt"] },
    }]);
    expect(await conflicts("run")).toEqual([]);
    repository.write("dir/two.txt", before);
    await starter.workspaces.apply(id);
    expect(await conflicts("admin")).toEqual([]);
    const other = await changed((at) => at.write("dir/two.txt", "two, again by the agent\n"));
    repository.write("dir/two.txt", "two, again by hand\n");
    await errorOf(starter.workspaces.apply(other));
    expect(await conflicts("admin")).toHaveLength(1);
    await starter.workspaces.discard(other);
    expect(await conflicts("admin")).toEqual([]);
  });

  test("what can run programs waits for a person in the list of what waits, until it is settled", async () => {
    const { repository, door, starter, changed } = await made();
    const held = async (scope: "admin" | "run") => {
      const headers = { authorization: `Bearer ${await door.token(scope)}` };
      const { items } = await (await fetch(`${door.url}/v1/waiting`, { headers })).json() as {
        items: { kind: string }[];
      };
      return items.filter(({ kind }) => kind === "held");
    };
    const id = await changed((at) => {
      at.write("a.txt", "by the agent\n");
      at.write("sub/.vscode/tasks.json", "x");
      at.write("sub/.envrc", "x");
    });
    const applied = await starter.workspaces.apply(id);
    expect(applied.held.map(({ path, by }) => `${path}: ${by}`)).toEqual([
      "sub/.envrc: shells and terminals",
      "sub/.vscode: editors",
    ]);
    expect(await held("admin")).toMatchObject([{
      id: `held ${id}`,
      session_id: id,
      command: `bulkhead session held ${id}`,
      input: { place: "worktree", held: applied.held },
    }]);
    expect(await held("run")).toEqual([]);
    expect(await starter.workspaces.held()).toMatchObject([{ session_id: id, place: "worktree" }]);
    const { held: left } = await starter.workspaces.settleHeld(id, { action: "apply", paths: ["sub/.envrc"] });
    expect(left.map(({ path }) => path)).toEqual(["sub/.vscode"]);
    expect(new TextDecoder().decode(repository.read("sub/.envrc"))).toBe("x");
    const stranger = await door.client("run");
    expect(await errorOf(stranger.workspaces.settleHeld(id, { action: "drop" }))).toMatchObject({ code: "not_found" });
    await starter.workspaces.settleHeld(id, { action: "drop" });
    expect(await held("admin")).toEqual([]);
    const other = await changed((at) => at.write("more/.envrc", "x"));
    expect(await starter.workspaces.apply(other, { withHeld: ["more/.envrc"] })).toMatchObject({ held: [] });
    expect(new TextDecoder().decode(repository.read("more/.envrc"))).toBe("x");
  });

  test("for others what is not theirs does not exist; who may read sees it, and admin handles all", async () => {
    const { door, changed } = await made();
    const id = await changed((at) => at.write("a.txt", "by the agent\n"));
    const stranger = await door.client("run");
    expect(await stranger.workspaces.list()).toEqual([]);
    for (const act of ["diff", "apply", "discard"] as const) {
      expect(await errorOf(stranger.workspaces[act](id))).toMatchObject({ code: "not_found" });
    }
    const reader = await door.client("read");
    expect((await reader.workspaces.list()).map(({ session_id }) => session_id)).toEqual([id]);
    expect((await reader.workspaces.diff(id)).artifacts).toMatchObject([{ path: "a.txt" }]);
    const both = await door.client("read", "run");
    for (const client of [reader, both]) {
      expect(await errorOf(client.workspaces.apply(id))).toMatchObject({ code: "forbidden" });
      expect(await errorOf(client.workspaces.discard(id))).toMatchObject({ code: "forbidden" });
      expect(await errorOf(client.workspaces.prune())).toMatchObject({ code: "forbidden" });
    }
    const admin = await door.client("admin");
    expect(await admin.workspaces.prune({ olderThanMs: 3_600_000 })).toEqual({ removed: [], failed: [] });
    expect(await admin.workspaces.prune({ olderThanMs: 0 })).toEqual({ removed: [id], failed: [] });
    expect(await reader.workspaces.list()).toEqual([]);
  });

  test("a token for a folder brings nothing into a repository that reaches beyond it", async () => {
    const { repository, door } = await made();
    const clientFor = async (folder: string) => {
      const { token } = await door.tokens.create({ name: folder, scopes: ["run"], workdirs: [folder] });
      return connectHost({ url: door.url, token });
    };
    const startIn = async (client: RemoteHost, workdir: string) => {
      const { id } = await client.start({ workdir, prompt: "go" });
      await repository.changed((at) => at.write("a.txt", "by the agent\n"), id);
      return id;
    };
    const below = await clientFor(join(repository.work, "dir"));
    const id = await startIn(below, join(repository.work, "dir"));
    expect(await errorOf(below.workspaces.apply(id))).toMatchObject({ code: "forbidden" });
    expect(new TextDecoder().decode(repository.read("a.txt"))).not.toContain("by the agent");
    await below.workspaces.discard(id);
    const whole = await clientFor(repository.work);
    expect(await whole.workspaces.apply(await startIn(whole, repository.work))).toMatchObject({ kept_commit: null });
  });
});
