import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.ts";

// A browser and a daemon keep both cores busy, so one file runs at a time. Where there is no browser the suite says so.
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ["test/console/**/*.test.ts"],
    maxWorkers: 1,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    reporters: ["default"],
  },
});
