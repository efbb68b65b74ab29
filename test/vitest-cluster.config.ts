import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.ts";

// Each file starts servers and daemons of its own, and waits for them more than it works: two at once.
export default defineConfig({
  ...common,
  test: { ...common.test, include: ["test/cluster/**/*.test.ts"], maxWorkers: 2, reporters: ["default"] },
});
