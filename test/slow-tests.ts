/**
 * Proofs that cost much and seldom fail while something else is worked on: whole programs, real closing deadlines, a
 * registry, every plugin and every defect through the kit. `npm run test:slow` runs them, and `.ci/run` on both runtimes.
 */
export const slowTests: readonly string[] = [
  "test/kit/author/host-package.test.ts",
  "test/kit/author/new-plugin.test.ts",
  "test/doors/cli/daemon.test.ts",
  "test/doors/cli/end-to-end.test.ts",
  "test/kit/conformance/bundled-plugins.test.ts",
  "test/kit/conformance/test-plugin.test.ts",
  "test/fuzz/fuzz.test.ts",
  "test/records/git/artifacts-oracle.test.ts",
  "test/hostile/footprint.test.ts",
  "test/packages/install/interrupted.test.ts",
  "test/packages/install/registry.test.ts",
  "test/ground/runtime/os-walls/prlimit.test.ts",
  "test/sessions/session/properties.test.ts",
  "test/supervision/shutdown.test.ts",
];
