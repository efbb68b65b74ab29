/**
 * Proofs that cost much and seldom fail while something else is worked on. `npm run test:slow` runs them, and `.ci/run`
 * does so, with a part of them on Deno.
 */
export const slowTests: readonly string[] = [
  // Whole programs: the command line, the daemon, the package as it is installed.
  "test/doors/cli/accept.test.ts",
  "test/doors/cli/daemon.test.ts",
  "test/doors/cli/doors.test.ts",
  "test/doors/cli/end-to-end.test.ts",
  "test/doors/cli/plugin-author.test.ts",
  "test/doors/cli/plugin-dev.test.ts",
  "test/doors/cli/setup.test.ts",
  "test/doors/cli/terminal-closes.test.ts",
  "test/doors/cli/through-daemon.test.ts",
  "test/doors/daemon/two-containers.test.ts",
  "test/doors/http/real-host.test.ts",
  "test/doors/http/scanner.test.ts",
  "test/kit/author/host-package.test.ts",
  "test/kit/author/import-plugin.test.ts",
  "test/kit/author/import-started.test.ts",
  "test/kit/author/new-plugin.test.ts",
  "test/kit/author/pack-plugin.test.ts",
  "test/packages/install/install.test.ts",
  "test/packages/install/interrupted.test.ts",
  "test/packages/install/registry.test.ts",
  "test/records/gate/look-at-many.test.ts",
  "test/records/gate/look-around.test.ts",
  "test/structure/build.test.ts",
  "test/structure/snippets.test.ts",
  // Sessions of the bundled plugins, with programs and servers that stand in for their agents.
  "test/kit/conformance/bundled-plugins.test.ts",
  "test/kit/conformance/record-plugin.test.ts",
  "test/kit/conformance/test-plugin.test.ts",
  "test/plugins/acp-remote.test.ts",
  "test/plugins/acp-sessions.test.ts",
  "test/plugins/anthropic-api.test.ts",
  "test/plugins/claude-code.test.ts",
  "test/plugins/codex-sessions.test.ts",
  "test/plugins/gemini-cli-sessions.test.ts",
  "test/plugins/openai-compatible.test.ts",
  "test/plugins/opencode-sessions.test.ts",
  "test/plugins/packages.test.ts",
  "test/plugins/text-agents.test.ts",
  // Attacks, crashes and real deadlines.
  "test/hostile/crash.test.ts",
  "test/hostile/escape.test.ts",
  "test/hostile/files.test.ts",
  "test/hostile/footprint.test.ts",
  "test/hostile/hang.test.ts",
  "test/hostile/leaks.test.ts",
  "test/hostile/memory.test.ts",
  "test/hostile/network.test.ts",
  "test/hostile/protocol.test.ts",
  "test/hostile/run.test.ts",
  "test/hostile/secrets.test.ts",
  "test/hostile/starvation.test.ts",
  "test/hostile/text.test.ts",
  "test/sessions/host/planted-project.test.ts",
  "test/ground/runtime/os-walls/prlimit.test.ts",
  // Worktrees of real repositories: hundreds of runs of git.
  "test/records/workspace/workspaces.test.ts",
  "test/sessions/host/worktree-sessions.test.ts",
  "test/packages/registry/bundlers.test.ts",
  "test/sessions/host/interrupt.test.ts",
  "test/sessions/host/recorded.test.ts",
  "test/supervision/host-killed.test.ts",
  "test/supervision/host-time.test.ts",
  "test/supervision/quarantine.test.ts",
  "test/supervision/resume.test.ts",
  "test/supervision/shutdown.test.ts",
  "test/walls/broker/agent-bounds.test.ts",
  "test/walls/pool/plugin-pool.test.ts",
  "test/walls/secrets/end-to-end.test.ts",
  "test/walls/worker/behaviour.test.ts",
  // Random inputs, and real repositories on bad disks.
  "test/fuzz/fuzz.test.ts",
  "test/records/git/artifacts-oracle.test.ts",
  "test/records/workspace/faults.test.ts",
  "test/records/workspace/large-files.test.ts",
  "test/sessions/session/git-histories.test.ts",
  "test/sessions/session/properties.test.ts",
];

/** Those of them that say the same on both runtimes, or start programs of both themselves: Node alone runs them. */
export const slowOnNodeAlone: readonly string[] = [
  "test/fuzz/fuzz.test.ts",
  "test/kit/author/host-package.test.ts",
  "test/kit/author/import-plugin.test.ts",
  "test/kit/author/import-started.test.ts",
  "test/packages/install/interrupted.test.ts",
  "test/records/git/artifacts-oracle.test.ts",
  "test/sessions/session/properties.test.ts",
  "test/records/gate/look-at-many.test.ts",
  "test/structure/build.test.ts",
  "test/structure/snippets.test.ts",
];

/**
 * Those that `.ci/run` leaves to Node: what each plugin makes of its agent's words is the same on both runtimes, and the
 * kit, `claude-code` and `acp` show on Deno that plugins run there. `npm run test:slow:deno` runs them too.
 */
export const slowOnNodeInShort: readonly string[] = [
  "test/doors/http/scanner.test.ts",
  "test/plugins/acp-remote.test.ts",
  "test/plugins/codex-sessions.test.ts",
  "test/plugins/gemini-cli-sessions.test.ts",
  "test/plugins/openai-compatible.test.ts",
  "test/plugins/opencode-sessions.test.ts",
  "test/plugins/packages.test.ts",
  "test/plugins/text-agents.test.ts",
];
