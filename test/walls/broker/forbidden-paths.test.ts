import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { forbiddenBecause } from "../../../core/walls/broker/forbidden-paths.ts";
import { foldName } from "../../../core/ground/platform/files/fold-name.ts";

const options = {
  access: "write" as const,
  root: "/w",
  protectedPaths: ["/home/u/.local/state/host"],
  sealedPaths: ["/w/plugins/other"],
  dataDir: "/home/u/.local/state/host/plugins/acme",
  autoexecNames: [".Tool-Settings"],
};

describe("forbiddenBecause", () => {
  test.each([
    "/proc/self/environ",
    "/proc",
    "/sys/kernel/x",
    "/dev/fd/0",
    "/home/u/.local/state/host/journal.db",
    "/home/u/.local/state/host/plugins/other/x",
    "/home/u/.local/state/host/plugins/acme/kv.json",
  ])("closes %s for reading and writing", (path) => {
    expect(forbiddenBecause(path, { ...options, root: "/" })).not.toBe(null);
    expect(forbiddenBecause(path, { ...options, root: "/", access: "read" })).not.toBe(null);
  });

  test("opens the session's own worktree in the host's state, and no other session's", () => {
    const workspaceDir = "/home/u/.local/state/host/workspaces/s1/tree/w";
    const own = { ...options, root: workspaceDir, workspaceDir };
    expect(forbiddenBecause(`${workspaceDir}/src/a.ts`, own)).toBe(null);
    expect(forbiddenBecause(`${workspaceDir}/.git`, own)).not.toBe(null);
    for (const below of ["workspaces/s1.json", "workspaces/s1/base/x", "workspaces/s2/tree/w/a.ts", "journal.db"]) {
      expect(forbiddenBecause(`/home/u/.local/state/host/${below}`, { ...own, access: "read" })).not.toBe(null);
    }
    expect(forbiddenBecause(`${workspaceDir}/src/a.ts`, { ...own, workspaceDir: undefined })).not.toBe(null);
  });

  test.each([
    "/w/.git/hooks/pre-commit",
    "/w/.git",
    "/w/sub/.git/config",
    "/w/.GIT/config",
    "/w/.git./config",
    "/w/.git /config",
    "/w/.g\u200cit/config",
    "/w/GIT~1/config",
    "/w/.git:stream/config",
    "/w/.bashrc",
    "/w/.envrc",
    "/w/.npmrc",
    "/w/.vscode/tasks.json",
    "/w/.idea/x",
    "/w/.mcp.json",
    "/w/.tool-settings/x",
    "/w/bulkhead.yaml",
    "/w/sub/Bulkhead.YAML",
    "/w/plugins/other/plugin.yaml",
    "/w/plugins/other",
  ])("closes %j for writing only", (path) => {
    expect(forbiddenBecause(path, options)).not.toBe(null);
    expect(forbiddenBecause(path, { ...options, access: "read" })).toBe(null);
  });

  test.each([
    "/w/src/git.ts",
    "/w/.gitignore",
    "/w/.env.example",
    "/w/src/agents.ts",
    "/w/Dockerfile",
    "/w/components/head/index.ts",
    "/w/process/x",
    "/procedures/x",
    "/home/u/.local/state/host-other/x",
    "/home/u/.local/state/host/plugins/acme/x",
  ])("leaves %s open", (path) => {
    expect(
      forbiddenBecause(path, {
        ...options,
        root: path.startsWith("/w") ? "/w" : path.startsWith("/home") ? "/home/u/.local" : "/",
      }),
    ).toBe(null);
  });

  test("takes a root that the operator spelled out as meant", () => {
    expect(forbiddenBecause("/home/u/.bashrc", { ...options, root: "/home/u/.bashrc" })).toBe(null);
    expect(forbiddenBecause("/home/u/.bashrc", { ...options, root: "/home/u" })).not.toBe(null);
  });

  test("sees through case and ignored code points in any mixture", () => {
    const piece = fc.constantFrom("", "\u200c", "\u200d", "\ufeff", "\u2060");
    fc.assert(fc.property(fc.array(piece, { minLength: 5, maxLength: 5 }), fc.array(fc.boolean()), (gaps, upper) => {
      const name = [..."\.git"].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter) + gaps[at]).join("");
      expect(foldName(name)).toBe(".git");
    }));
  });
});
