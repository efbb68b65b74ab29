import process from "node:process";
import { defineConfig } from "vitest/config";
import { common, hostileTests } from "./vitest.config.ts";

// Attacks where there are no walls, to see that they are attacks.
const controls = ["test/hostile/controls-*.test.ts"];

// The corpus takes minutes and all cores, so it is a run of its own, one file at a time.
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: hostileTests,
    exclude: process.env["BULKHEAD_HOSTILE"] === "short" ? controls : [],
    maxWorkers: 1,
    reporters: ["default"],
  },
});
