import { defineConfig } from "vitest/config";
import config, { agentTests } from "./vitest.config.ts";

// Real programs are heavy: a few cases at once, all in one file.
export default defineConfig({
  ...config,
  test: { ...config.test, include: agentTests, exclude: [], maxConcurrency: 3, reporters: ["default"] },
});
