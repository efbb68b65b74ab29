import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** Settings of the suite; every other variable of Bulkhead belongs to the person. */
export const settings: readonly string[] = [
  "BULKHEAD_BUDGETS",
  "BULKHEAD_CHROMIUM",
  "BULKHEAD_CLUSTER_CUT_MS",
  "BULKHEAD_CLUSTER_ROUNDS",
  "BULKHEAD_CLUSTER_SEED",
  "BULKHEAD_CLUSTER_SERVER_ROUNDS",
  "BULKHEAD_CONSOLE",
  "BULKHEAD_CONSOLE_EVENTS",
  "BULKHEAD_CRASH_ROUNDS",
  "BULKHEAD_CRASH_SEED",
  "BULKHEAD_EXPECT_WALLS",
  "BULKHEAD_GIT_HISTORIES",
  "BULKHEAD_GIT_SEED",
  "BULKHEAD_HOSTILE",
  "BULKHEAD_LOCK_ROUNDS",
  "BULKHEAD_LOCK_SEED",
  "BULKHEAD_MAILBOX_SCHEDULES",
  "BULKHEAD_MAILBOX_SEED",
  "BULKHEAD_REWIND_HISTORIES",
  "BULKHEAD_REWIND_KILLS",
  "BULKHEAD_REWIND_SEED",
  "BULKHEAD_MODEL_RUNS",
  "BULKHEAD_POWER_LOSS_ROUNDS",
  "BULKHEAD_SLOW",
  "BULKHEAD_SOURCE_MB",
  "BULKHEAD_STREAM_MB",
  "BULKHEAD_TALK_MODEL_SCHEDULES",
  "BULKHEAD_TALK_MODEL_SEED",
  "BULKHEAD_TALK_SCHEDULES",
  "BULKHEAD_TALK_SEED",
  "BULKHEAD_TEST_AGENTS",
];

/** What a run takes over of the person's environment: what programs need to start, and what the runner has set for itself. */
const kept = new RegExp(
  `^(${
    [
      "PATH|TMPDIR|TZ|LANG|LANGUAGE|LC_\\w+|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|USER|LOGNAME|SHELL",
      "CI|AGENTS|CASES|TEST|PROD|DEV|SSR|MODE|BASE_URL|VITEST\\w*|NODE_\\w+|npm_\\w+|DENO_\\w+",
      ...settings,
    ].join("|")
  })$`,
);

/**
 * Gives this process and all that it starts an environment and a home of their own. Without them a daemon, a
 * `bulkhead.yaml`, a git configuration or a key of the person would decide tests, and tests would write into the person's home.
 * @returns how to put the environment back and remove the home
 */
export async function takeOwnEnvironment(): Promise<() => Promise<void>> {
  const before = { ...process.env };
  const home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-home-")));
  for (const name of Object.keys(process.env)) if (!kept.test(name)) delete process.env[name];
  process.env["HOME"] = home;
  process.env["DENO_DIR"] ??= denoFolder(before);
  // Two gigabytes, which the person has installed for all runs.
  process.env["BULKHEAD_TEST_AGENTS"] ??= join(cacheFolder(before), "bulkhead-test-agents");
  return async () => {
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, before);
    await rm(home, { recursive: true, force: true, maxRetries: 3 });
  };
}

/** Where Deno keeps what it compiled, since a home is removed: on Deno where it keeps it already, else within the project. */
function denoFolder(before: NodeJS.ProcessEnv): string {
  if (!("Deno" in globalThis)) return fileURLToPath(new URL("../node_modules/.cache/deno", import.meta.url));
  const { HOME = "/", XDG_CACHE_HOME } = before;
  const isMac = process.platform === "darwin" && !XDG_CACHE_HOME;
  return isMac ? join(HOME, "Library/Caches/deno") : join(cacheFolder(before), "deno");
}

function cacheFolder({ HOME = "/", XDG_CACHE_HOME }: NodeJS.ProcessEnv): string {
  return XDG_CACHE_HOME || join(HOME, ".cache");
}
