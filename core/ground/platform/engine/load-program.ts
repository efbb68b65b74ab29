import { createRequire } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { setBootFlags } from "./boot-flags.ts";
import { type CodeReach, KeptCode } from "./kept-code.ts";
import { runtimeName } from "./platform.ts";

/** A bundled command line. */
interface Program {
  /** @param keepCode Keeps the engine's code for the next run; returns whether there was some to keep. */
  start(keepCode?: (reach: CodeReach) => boolean): Promise<void>;
}

/** Commands that people and editors wait for, each with code of its own. */
const ways = ["run", "up", "start", "status", "session", "mcp", "acp"];

/** Loads the bundled command line and runs it: on Node with the code that an earlier run has left; Deno does so by itself. */
export async function loadProgram(url: URL): Promise<void> {
  const file = fileURLToPath(url);
  if (runtimeName === "deno") return await (createRequire(file)(file) as Program).start();
  const command = process.argv[2] ?? "";
  // Before the first script: code is kept for the flags that the engine had when it was loaded.
  if (command === "up") setBootFlags();
  const code = new KeptCode({ way: ways.includes(command) ? command : "other" });
  await (code.load(file) as Program).start((reach) => code.keep(reach));
}
