import process from "node:process";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { aloneTests } from "./alone-tests.ts";
import { slowOnNodeAlone, slowOnNodeInShort, slowTests } from "./slow-tests.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const onDeno = "Deno" in globalThis;

// Tests name the package. They then see the source as it is now, but in `--mode built` on Node, which `npm test` has, the
// bundles that users get.
const source = [
  { find: /^bulkhead$/, replacement: `${root}core/mod.ts` },
  { find: /^bulkhead\/plugin-sdk$/, replacement: `${root}plugin-sdk/mod.ts` },
  { find: /^bulkhead\/plugin-sdk\/testing$/, replacement: `${root}plugin-sdk/testing.ts` },
  { find: /^bulkhead\/conformance$/, replacement: `${root}core/kit/conformance/mod.ts` },
  { find: /^bulkhead\/client$/, replacement: `${root}core/doors/client/mod.ts` },
];
const built = !onDeno && modeOf(process.argv) === "built";

/** Tests of `npm run test:hostile`: they attack for minutes, with all cores there are. */
export const hostileTests = [
  "test/hostile/corpus.test.ts",
  "test/hostile/streams.test.ts",
  "test/hostile/controls-*.test.ts",
  "test/hostile/one-liners*.test.ts",
  "test/hostile/source.test.ts",
  "test/hostile/agent-escapes.test.ts",
  "test/hostile/walled-cases.test.ts",
];

/** Tests of `npm run test:agents`: they run the agents' own programs, and other projects' clients. */
export const agentTests = ["test/agents/{proving-ground,clients}/*.test.ts"];

const notOnDeno = [...slowOnNodeAlone, ...(process.env["BULKHEAD_SLOW"] === "short" ? slowOnNodeInShort : [])];

const elsewhere = [...hostileTests, ...agentTests, "test/crash/**", "test/console/**", "test/cluster/**"];

/** What all runs have in common. Four at once keep two cores busy: much of the time a test waits for a process. */
export const common = {
  root,
  resolve: { alias: built ? [] : source },
  test: {
    globalSetup: [".build/current.mjs", "test/run-setup.ts"],
    setupFiles: "test/setup.ts",
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: "forks" as const,
    maxWorkers: 4,
  },
};

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: [
      project("fast", {
        include: ["test/**/*.test.ts"],
        exclude: [...elsewhere, ...aloneTests, ...slowTests],
        isolate: false,
      }),
      project("alone", { include: [...aloneTests], exclude: [...slowTests] }),
      project("slow", { include: [...slowTests], exclude: onDeno ? notOnDeno : [] }),
    ],
  },
});

function project(name: string, test: { include: string[]; exclude?: string[]; isolate?: boolean }) {
  return { extends: true as const, test: { name, ...test } };
}

/** What follows `--mode`. */
function modeOf(words: readonly string[]): string | undefined {
  return words[words.indexOf("--mode") + 1];
}
