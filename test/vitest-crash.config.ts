import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.ts";

// Two hundred daemons are killed one after the other on each of a few lanes, which takes minutes: a run of its own.
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ["test/crash/**/*.test.ts"],

    testTimeout: 20 * 60_000,
    maxWorkers: 1,
    reporters: ["default"],
  },
});
