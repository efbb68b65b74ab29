import { afterAll, describe, expect, it } from "vitest";
import { defaultLimits } from "../../core/config/limits.ts";
import { stopBundler } from "../../core/registry/make-bundle.ts";
import { bundlePlugin } from "../../core/registry/plugin-script.ts";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { codeManifest, newFolder, writePackage } from "../registry/package-folder.ts";
import { watchStalls } from "./host-stalls.ts";
import { hostileSources } from "./source-shapes.ts";

afterAll(stopBundler);

/** Of each source; `BULKHEAD_SOURCE_MB=60` is the most that the limits let through, and takes minutes. */
const sourceBytes = Number(process.env["BULKHEAD_SOURCE_MB"] ?? 15) * 1024 * 1024;
/** What the host's thread may work at a stretch for a plugin, and what a busy machine may make of that. */
const mostCpuMs = 100;
const mostWallMs = 2000;
const limits = { ...defaultLimits, bundle_timeout_ms: 20_000 };

describe("a plugin whose source is", () => {
  it.each(Object.entries(hostileSources))("%s costs itself alone", async (_name, write) => {
    const folder = await newFolder();
    await write(folder, sourceBytes);
    const cacheDir = await newFolder();
    const stalls = watchStalls();
    const source = { folder, manifest: codeManifest, limits };
    const outcome = await bundlePlugin(source, { cacheDir }).catch((error: unknown) => error);
    const { cpuMs, wallMs } = stalls();
    const begun = performance.now();
    const innocent = { folder: await writePackage({ "mod.ts": "export default 1;" }), manifest: codeManifest, limits };
    expect((await bundlePlugin(innocent)).text).toContain("__plugin");
    if (process.env["BULKHEAD_SOURCE_TELL"]) {
      console.log(
        _name,
        cpuMs,
        wallMs,
        performance.now() - begun,
        outcome instanceof Error
          ? outcome.message.slice(0, 300) + JSON.stringify((outcome as BulkheadError).details).slice(0, 300)
          : (outcome as { text: string }).text.length,
      );
    }
    if (outcome instanceof Error) {
      expect(outcome).toBeInstanceOf(BulkheadError);
      expect(["bundle_failed", "too_large"]).toContain((outcome as BulkheadError).code);
      expect(outcome.message).toMatch(/^Cannot bundle plugin "demo": /);
    }
    expect(cpuMs ?? 0).toBeLessThan(mostCpuMs);
    expect(wallMs).toBeLessThan(mostWallMs);
  }, 60_000);
});
