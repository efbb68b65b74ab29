import process from "node:process";
import { afterAll, describe, expect, it } from "vitest";
import { defaultLimits } from "../../core/ground/config/limits.ts";
import { stopBundler } from "../../core/packages/bundler/make-bundle.ts";
import { bundlePlugin } from "../../core/packages/bundler/plugin-script.ts";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { codeManifest, newFolder, writePackage } from "../packages/registry/package-folder.ts";
import { watchStalls } from "./host-stalls.ts";
import { hostileSources } from "./source-shapes.ts";

afterAll(stopBundler);

/** `BULKHEAD_SOURCE_MB=60` attacks with the most that the limits let through and under the limits' own defaults. */
const megabytes = process.env["BULKHEAD_SOURCE_MB"];
const sourceBytes = Number(megabytes ?? 8) * 1024 * 1024;
/** Else everything is smaller, so that it takes a minute and not five. */
const short = { bundle_mb: 256, bundle_timeout_ms: 4000 };
const limits = { ...defaultLimits, ...(megabytes === undefined ? short : {}) };
/** What the host's thread may work at a stretch for a plugin, and what a busy machine may make of that. */
const mostCpuMs = 100;
const mostWallMs = 2000;

describe("a plugin whose source is", () => {
  it.each(Object.entries(hostileSources))("%s costs itself alone", async (_name, write) => {
    const folder = await newFolder();
    await write(folder, sourceBytes);
    const cacheDir = await newFolder();
    const stalls = watchStalls();
    const source = { folder, manifest: codeManifest, limits };
    const outcome = await bundlePlugin(source, { cacheDir }).catch((error: unknown) => error);
    const { cpuMs, wallMs } = stalls();
    const innocent = { folder: await writePackage({ "mod.ts": "export default 1;" }), manifest: codeManifest };
    const begun = performance.now();
    const { text } = await bundlePlugin({ ...innocent, limits: { ...defaultLimits, bundle_mb: limits.bundle_mb } });
    expect(text).toContain("__plugin");
    // A second on a machine that has nothing else to do.
    expect(performance.now() - begun).toBeLessThan(10_000);
    if (outcome instanceof Error) {
      expect(outcome).toBeInstanceOf(BulkheadError);
      expect(["bundle_failed", "too_large"]).toContain((outcome as BulkheadError).code);
      expect(outcome.message).toMatch(/^Cannot bundle plugin "demo": /);
    }
    expect(cpuMs ?? 0).toBeLessThan(mostCpuMs);
    expect(wallMs).toBeLessThan(mostWallMs);
  }, 120_000);
});
