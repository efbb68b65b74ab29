// Checks that Perl can read each script of the host.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { listFiles, root } from "./outputs.mjs";

for (const file of (await listFiles(join(root, "core"))).filter((path) => path.endsWith(".pl"))) {
  const { error, status, stderr } = spawnSync("perl", ["-c", file], { encoding: "utf8" });
  if (status === 0) continue;
  const isMissing = error?.code === "ENOENT";
  console.error(
    isMissing ? "Perl was not found: the scripts for it were not checked." : error?.message ?? stderr.trim(),
  );
  if (!isMissing || process.env.CI !== undefined) process.exitCode = 1;
  if (isMissing) break;
}
