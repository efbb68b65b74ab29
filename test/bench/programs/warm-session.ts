import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process, { argv } from "node:process";
import { pathToFileURL } from "node:url";
import { takeCoverage } from "node:v8";
import type * as Bulkhead from "bulkhead";

/** Arguments: a repository for each of two sessions, and a state folder. Coverage is taken before and after the second session. */
const [first = "", second = "", stateDir = ""] = argv.slice(2);
const built = resolve("dist/core/mod.js");
if (!existsSync(built)) throw new Error("Build the host first: npm run build");
const { createHost } = await import(pathToFileURL(built).href) as typeof Bulkhead;
const host = await createHost({ bundledDir: null, stateDir, root: first });
const grant = { read: ["plugin", "workdir"], write: ["workdir"] };
await host.registry.register(resolve("plugins/replay"), { isolation: "process", grant });
const run = async (workdir: string) => {
  const session = await host.runSession({ workdir, prompt: "Go.", params: { speed: 0 } }, { adapter: "replay" });
  const { outcome } = await session.result();
  if (outcome !== "completed") throw new Error(`The session ended as ${outcome}.`);
};
await run(first);
takeCoverage();
await run(second);
takeCoverage();
await host.close();
process.exit(0);
