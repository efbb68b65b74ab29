import { readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { type KnownManifests, openKnownManifests } from "../../../core/packages/manifest/known-manifests.ts";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { manifestText, newFolder, writePackage } from "../registry/package-folder.ts";

let file: string;
let folder: string;

beforeEach(async () => {
  file = join(await newFolder(), "manifests.json");
  folder = await writePackage({ "plugin.yaml": manifestText(), "mod.ts": "" });
});

/** Knows what `file` knows, and tells what it had to learn. */
async function watched(): Promise<KnownManifests & { learnt: Manifest[] }> {
  const known = await openKnownManifests(file);
  const learnt: Manifest[] = [];
  const note: KnownManifests["note"] = (text, terms, manifest) => {
    learnt.push(manifest);
    known.note(text, terms, manifest);
  };
  return { ...known, note, learnt };
}

async function learn(): Promise<Manifest> {
  const known = await watched();
  const manifest = await readManifest(folder, { known });
  expect(known.learnt).toEqual([manifest]);
  await known.keep();
  return manifest;
}

describe("readManifest with known manifests", () => {
  it("does not parse the same text again, and says the same", async () => {
    const manifest = await learn();
    const known = await watched();
    expect(await readManifest(folder, { known })).toEqual(manifest);
    expect(known.learnt).toEqual([]);
  });

  it("parses what is not the same by its bytes, or was checked on other terms", async () => {
    await learn();
    const known = await watched();
    await readManifest(folder, { known, limits: { manifest_bytes: 65_536, yaml_aliases: 3 } });
    await writeFile(join(folder, "plugin.yaml"), manifestText({ version: "1.0.1" }));
    expect((await readManifest(folder, { known })).version).toBe("1.0.1");
    expect(known.learnt).toHaveLength(2);
  });

  it("looks at the files that the manifest names each time", async () => {
    await learn();
    await unlink(join(folder, "mod.ts"));
    await expect(readManifest(folder, { known: await watched() })).rejects.toMatchObject({ code: "invalid_manifest" });
  });

  it("gives each asker an object of its own", async () => {
    const known = await watched();
    const first = await readManifest(folder, { known });
    Object.assign(first, { id: "changed" });
    expect((await readManifest(folder, { known })).id).not.toBe("changed");
  });

  it.each([
    ["text that is not JSON", (): string => "{"],
    ["JSON of another form", (): string => '{"a": 1}'],
    ["manifests that are none", (kept: string): string => kept.replace(/"manifest":1/, '"manifest":"1"')],
  ])("parses anew where the file holds %s", async (_what, spoil) => {
    const manifest = await learn();
    const kept = await readFile(file, "utf8");
    expect(spoil(kept)).not.toBe(kept);
    await writeFile(file, spoil(kept));
    const known = await watched();
    expect(await readManifest(folder, { known })).toEqual(manifest);
    expect(known.learnt).toEqual([manifest]);
  });

  it("goes on where the file cannot be written", async () => {
    file = join(folder, "no", "such", "folder", "manifests.json");
    await learn();
    expect((await watched()).find("", 0)).toBeUndefined();
  });
});
