import process from "node:process";
import { afterAll, afterEach } from "vitest";
import { cleanUpFile, cleanUpTest } from "./clean-up.ts";

/** CI leaves nothing to chance: a red run there is red again here with `CI=true`. */
const seed = 20261123;

// However the tests are run, the sentences that they look for name the program.
process.env["BULKHEAD_COMMAND"] = "bulkhead";

if (process.env["CI"]) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
}

// Vitest runs this module for each file, also where files share a process.
afterEach(cleanUpTest);
afterAll(cleanUpFile);
