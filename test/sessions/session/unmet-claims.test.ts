import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unmetClaims } from "../../../core/sessions/session/unmet-claims.ts";
import type { Artifact } from "../../../plugin-sdk/result.ts";

let root = "";
let workdir = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-claims-")));
  workdir = join(root, "work");
  mkdirSync(join(workdir, "src"), { recursive: true });
  writeFileSync(join(workdir, "src/a.ts"), "a");
  symlinkSync(workdir, join(root, "link"));
  symlinkSync("src/a.ts", join(workdir, "alias.ts"));
  symlinkSync("src", join(workdir, "source"));
});
afterEach(() => rmSync(root, { recursive: true }));

const changed = (path: string, from?: string): Artifact => ({
  path,
  ...(from === undefined ? {} : { from }),
  change: from === undefined ? "modified" : "renamed",
  kind: "file",
  sha256: null,
  bytes: null,
});

describe("unmetClaims", () => {
  it.each([
    ["src/a.ts"],
    ["./src/a.ts"],
    ["src/../src//a.ts"],
    ["{work}/src/a.ts"],
    ["{work}/./src/a.ts"],
    ["{root}/link/src/a.ts"],
    ["alias.ts"],
    ["source/a.ts"],
    ["{root}/link/source/a.ts"],
    ["../work/src/a.ts"],
    ["src"],
    ["src/"],
    ["gone/old.ts"],
    ["{root}/link/gone/old.ts"],
  ])("takes %s as a claim that is met", async (claim) => {
    const claimed = [claim.replace("{work}", workdir).replace("{root}", root)];
    const artifacts = [changed("src/a.ts"), changed("src/new.ts", "gone/old.ts")];
    expect(await unmetClaims(claimed, { workdir, artifacts })).toEqual([]);
  });

  it("names what git does not show once, relative inside the folder, absolute outside", async () => {
    const claimed = [
      "src/b.ts",
      "./src/b.ts",
      join(workdir, "src/b.ts"),
      join(root, "link/src/b.ts"),
      "../other.ts",
      join(root, "link", "..", "other.ts"),
      "/etc/hosts",
      "src/a.ts.bak",
      "sr",
      "new\nline",
    ];
    expect(await unmetClaims(claimed, { workdir, artifacts: [changed("src/a.ts")] })).toEqual([
      "/etc/hosts",
      join(root, "other.ts"),
      "new\nline",
      "sr",
      "src/a.ts.bak",
      "src/b.ts",
    ].sort());
  });

  it("does not take a change for a claim of a link that leads elsewhere", async () => {
    writeFileSync(join(root, "outside.ts"), "x");
    symlinkSync(join(root, "outside.ts"), join(workdir, "out.ts"));
    expect(await unmetClaims(["out.ts"], { workdir, artifacts: [changed("src/a.ts")] })).toEqual(["out.ts"]);
    expect(await unmetClaims(["out.ts"], { workdir, artifacts: [changed("out.ts")] })).toEqual([]);
  });

  it("calls no claim false where git cannot tell, and stands many claims", async () => {
    expect(await unmetClaims(["x"], { workdir, artifacts: null })).toEqual([]);
    const many = Array.from({ length: 10_000 }, (_, at) => `none/${at}`);
    expect(await unmetClaims(many, { workdir, artifacts: [] })).toHaveLength(10_000);
  });

  it("does not look for each folder of paths that lead nowhere", async () => {
    const deep = Array.from({ length: 1000 }, (_, at) => `${"a/".repeat(2000)}${at}`);
    expect(await unmetClaims([...deep, "src/a.ts"], { workdir, artifacts: [changed("src/a.ts")] })).toHaveLength(1000);
  }, 20_000);
});
