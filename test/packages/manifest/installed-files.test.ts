import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FetchedPackage } from "../../../core/packages/install/fetch-package.ts";
import { stagePackage } from "../../../core/packages/install/staging.ts";
import { filesDigest } from "../../../core/packages/manifest/installed-files.ts";
import { manifestText, newFolder } from "../registry/package-folder.ts";

const names = ["__proto__", "constructor", "hasOwnProperty"];

describe("filesDigest", () => {
  it.each(names)("counts a file called %s", async (name) => {
    const folder = await newFolder();
    await writeFile(join(folder, "plugin.yaml"), "manifest: 1\n");
    const without = await filesDigest(folder);
    await writeFile(join(folder, name), "one");
    const one = await filesDigest(folder);
    await writeFile(join(folder, name), "two");
    expect(new Set([without, one, await filesDigest(folder)]).size).toBe(3);
  });
});

describe("stagePackage", () => {
  it.each(names)("locks a file called %s", async (name) => {
    const digests = await Promise.all(["one", "two"].map(async (content) => {
      const texts = { "plugin.yaml": manifestText(), "mod.ts": "export default 1;", [name]: content };
      const files = new Map(Object.entries(texts).map(([path, text]) => [path, new TextEncoder().encode(text)]));
      const staged = await stagePackage({ ...fetched, files }, await newFolder());
      await staged.discard();
      return staged.files;
    }));
    expect(digests[0]).not.toBe(digests[1]);
  });
});

const fetched: Omit<FetchedPackage, "files"> = {
  name: "odd",
  source: { type: "folder", path: "odd" },
  version: null,
  integrity: null,
  signed_by: null,
  provenance: null,
  deprecated: null,
};
