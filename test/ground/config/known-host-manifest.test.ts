import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { grantPlace, hostManifestError, originOf } from "../../../core/ground/config/host-manifest-places.ts";
import { findKnownManifest } from "../../../core/ground/config/known-host-manifest.ts";
import { readHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";

const text = `bulkhead: 1
plugins:
  replay:
    grant:
      read: [workdir]
limits: { workers: 2 }
`;

let stateDir: string;
let file: string;

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "bulkhead-known-"));
  file = join(stateDir, "bulkhead.yaml");
  await writeFile(file, text);
});

afterEach(() => rm(stateDir, { recursive: true, force: true }));

describe("readHostManifest with a state folder", () => {
  test("takes a text that was checked before, with the same places in it", async () => {
    const checked = await readHostManifest(file);
    await readHostManifest(file, { stateDir });
    const known = await findKnownManifest({ file, text, stateDir });
    expect({ ...known, file }).toEqual(checked);
    const faults = [["plugins", "replay", "grant", "read", 0], ["limits", "workers"], ["limits", "missing"], ["tools"]]
      .map(
        (path) => ({ path, expected: "this", found: "that" }),
      );
    const places = (manifest: typeof checked) => [
      hostManifestError(manifest, faults).message,
      hostManifestError(manifest, faults.map((fault) => ({ ...fault, of: "key" as const }))).message,
      grantPlace(manifest, { pluginId: "replay", permission: "read" }),
      originOf(manifest, ["limits", "workers"]),
      originOf(manifest, ["limits", "sessions"]),
    ];
    expect(places({ ...known! })).not.toEqual(places(checked));
    expect(places(known!)).toEqual(places(checked));
  });

  test("checks again what has changed by a byte, and a text that names the environment", async () => {
    await readHostManifest(file, { stateDir });
    await writeFile(file, text.replace("workers: 2", "workers: 0"));
    await expect(readHostManifest(file, { stateDir })).rejects.toMatchObject({ code: "invalid_config" });
    process.env["BULKHEAD_TEST_PORT_OF_KNOWN"] = "state-1";
    const naming = `${text}state_dir: \${BULKHEAD_TEST_PORT_OF_KNOWN}\n`;
    await writeFile(file, naming);
    expect((await readHostManifest(file, { stateDir })).state_dir).toBe("state-1");
    process.env["BULKHEAD_TEST_PORT_OF_KNOWN"] = "state-2";
    expect((await readHostManifest(file, { stateDir })).state_dir).toBe("state-2");
    delete process.env["BULKHEAD_TEST_PORT_OF_KNOWN"];
    expect(await findKnownManifest({ file, text: naming, stateDir })).toBeNull();
  });

  test("believes neither a damaged file nor a folder that others may write, and makes no state folder", async () => {
    await readHostManifest(file, { stateDir });
    const folder = join(stateDir, "known");
    const [name = ""] = await readdir(folder);
    const kept = await readFile(join(folder, name), "utf8");
    await writeFile(join(folder, name), kept.slice(1));
    expect(await findKnownManifest({ file, text, stateDir })).toBeNull();
    await writeFile(join(folder, name), kept);
    expect(await findKnownManifest({ file, text, stateDir })).not.toBeNull();
    await chmod(folder, 0o777);
    expect(await findKnownManifest({ file, text, stateDir })).toBeNull();
    const missing = join(stateDir, "none");
    await readHostManifest(file, { stateDir: missing });
    expect(await readdir(stateDir)).not.toContain("none");
  });
});
