// What a build begins with: it says that it takes a while, or what to run where the packages are missing.
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root } from "./outputs.mjs";

const missing = ["typescript", "esbuild"].filter((name) => !existsSync(join(root, "node_modules", name)));

if (missing.length > 0) {
  console.error("Cannot build Bulkhead: its packages are not installed.\nRun: npm ci");
  process.exitCode = 1;
} else if (process.stderr.isTTY) {
  console.error("Building Bulkhead, which takes up to a minute …");
}
