import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

// Two hundred daemons are killed one after the other on each of a few lanes, which takes minutes: a run of its own.
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/crash/**/*.test.ts"],
    exclude: [],
    testTimeout: 20 * 60_000,
    maxWorkers: 1,
    reporters: ["default"],
  },
});
