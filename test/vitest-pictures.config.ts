import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.ts";

// Not a suite: draws the pictures of the console for the documents, with the daemon and the browser of its tests.
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ["test/docs/pictures/draw-console.ts"],
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
    reporters: ["default"],
  },
});
