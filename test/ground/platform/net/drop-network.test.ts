import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { dropNetwork } from "../../../../core/ground/platform/net/drop-network.ts";
import { root } from "../../../structure/source.ts";

test("nothing happens where there is no network to give up", () => expect(dropNetwork()).toBeUndefined());

// Node 26 and later; only there a process without permissions starts with the network.
if (!("Deno" in globalThis) && Number.parseInt(process.versions.node) >= 26) {
  test("a process that may have the network has none on its threads once each has given it up", async () => {
    const program = fileURLToPath(new URL("../programs/use-network.mjs", import.meta.url));
    const built = join(root, "dist/core/ground/platform/net/drop-network.js");
    const flags = ["--permission", "--allow-net", "--allow-worker", "--allow-fs-read=*", "--no-warnings"];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, built]);
    expect(stdout).toBe("ERR_ACCESS_DENIED\nERR_ACCESS_DENIED\n");
  });
}
