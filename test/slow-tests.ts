/**
 * Proofs that cost much and seldom fail while something else is worked on: whole programs, real closing deadlines, a
 * registry, every plugin and every defect through the kit. `npm run test:slow` runs them, and `.ci/run` on both runtimes.
 */
export const slowTests: readonly string[] = [
  "test/author/host-package.test.ts",
  "test/author/new-plugin.test.ts",
  "test/cli/daemon.test.ts",
  "test/cli/end-to-end.test.ts",
  "test/conformance/bundled-plugins.test.ts",
  "test/conformance/test-plugin.test.ts",
  "test/fuzz/fuzz.test.ts",
  "test/git/artifacts-oracle.test.ts",
  "test/hostile/footprint.test.ts",
  "test/install/interrupted.test.ts",
  "test/install/registry.test.ts",
  "test/runtime/os-walls/prlimit.test.ts",
  "test/session/properties.test.ts",
  "test/supervision/shutdown.test.ts",
];
