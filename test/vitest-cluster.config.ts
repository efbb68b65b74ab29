import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.ts";

// Each file starts servers and daemons of its own, one file at a time.
export default defineConfig({
  ...common,
  test: { ...common.test, include: ["test/cluster/**/*.test.ts"], maxWorkers: 1, reporters: ["default"] },
});
