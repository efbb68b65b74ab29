/**
 * Tests whose file needs a process of its own. All others share processes: to load the modules again for each file is
 * more work than most tests are.
 */
export const aloneTests: readonly string[] = [
  // They put a module of their own in place of one of the host's.
  "test/records/workspace/holder.test.ts",
  "test/walls/broker/denials.test.ts",
  "test/walls/broker/homes.test.ts",
  "test/walls/broker/without-perl.test.ts",
  "test/doors/cli/screen/status-screen.test.ts",
  "test/doors/daemon/uncontained.test.ts",
  "test/doors/cli/faulty-runtime.test.ts",
  "test/ground/platform/os-walls/refused-bubblewrap.test.ts",
  "test/ground/platform/without-launcher.test.ts",
  "test/doors/http/plugin-facts.test.ts",
  "test/packages/install/waiting-update.test.ts",
  "test/hostile/network.test.ts",
  "test/supervision/refused-writes.test.ts",
  "test/supervision/unwritten-state.test.ts",
  // They start hundreds of programs, and the more memory a process has, the longer it takes to start one.
  "test/records/git/artifacts.test.ts",
  "test/records/git/bad-conditions.test.ts",
  "test/records/git/hostile-repository.test.ts",
  "test/records/workspace/open-workspace.test.ts",
  "test/records/workspace/workspaces.test.ts",
  "test/sessions/host/worktree-sessions.test.ts",
  // They look at signals, descriptors and the working directory of their own process.
  "test/ground/platform/engine/keep-inspector-shut.test.ts",
  "test/ground/platform/state/state-health.test.ts",
  "test/ground/platform/files/remove-tree.test.ts",
];
