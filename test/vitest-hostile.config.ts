import { defineConfig } from "vitest/config";
import config, { hostileTests } from "./vitest.config.ts";

// The corpus takes minutes and all cores, so it is a run of its own, one file at a time.
export default defineConfig({
  ...config,
  test: { ...config.test, include: hostileTests, exclude: [], maxWorkers: 1, reporters: ["default"] },
});
