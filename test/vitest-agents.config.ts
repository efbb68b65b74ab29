import { defineConfig } from "vitest/config";
import { agentTests, common } from "./vitest.config.ts";

// Real programs are heavy: a few cases at once, all in one file.
export default defineConfig({
  ...common,
  test: { ...common.test, include: agentTests, maxConcurrency: 5, reporters: ["default"] },
});
