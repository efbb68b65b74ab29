import process from "node:process";

/** Where CI runs, nothing is left to chance: a red run there is red again here with `CI=true`. */
const seed = 20261123;

if (process.env["CI"]) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
}
