import { defineConfig } from "vitest/config";
import { common, hostileTests } from "./vitest.config.ts";

// The corpus takes minutes and all cores, so it is a run of its own, one file at a time.
export default defineConfig({
  ...common,
  test: { ...common.test, include: hostileTests, maxWorkers: 1, reporters: ["default"] },
});
