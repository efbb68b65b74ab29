import { execFile } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { readRow } from "../../../core/ground/platform/processes/process-rows.ts";

const deno = fileURLToPath(new URL("../../../node_modules/.bin/deno", import.meta.url));
const script = fileURLToPath(new URL("./fixtures/few-rights.ts", import.meta.url));

test("createSessionBroker holds its walls on Deno without all permissions", async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-few-")));
  try {
    for (const name of ["workdir", "plugin"]) await mkdir(join(root, name));
    await writeFile(join(root, "secret"), "s");
    await symlink(root, join(root, "workdir", "out"));
    const rights = ["--allow-read", "--allow-write", "--allow-run", "--allow-env"];
    const { stdout } = await promisify(execFile)(deno, ["run", "--no-prompt", ...rights, script, root]);
    const { text, refused, daemon } = JSON.parse(stdout);
    expect({ text, refused }).toEqual({ text: "written", refused: "permission_denied" });
    expect(daemon).toBeGreaterThan(1);
    expect(readRow(daemon)?.zombie ?? true).toBe(true);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
