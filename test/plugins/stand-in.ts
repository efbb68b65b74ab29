import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { RegistrySettings } from "bulkhead";
import { afterEveryTest } from "../clean-up.ts";
import { requestedPermissions } from "../../core/packages/permissions/requested-permissions.ts";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { runtimeName } from "../../core/ground/platform/engine/platform.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import { hostManifest, openHost, type TestHost, until } from "../sessions/host/test-host.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const plugins = fileURLToPath(new URL("../../plugins/", import.meta.url));
const recorded = fileURLToPath(new URL("../fixtures/", import.meta.url));

/** A call of the program that stands in, as it saw it. */
export interface StandInCall {
  args: string[];
  prompt: string;
  env: Record<string, string>;
  /** Of a server: the message that it was sent. */
  message?: { method?: string; params?: Record<string, unknown>; result?: unknown };
}

/** A host with one bundled plugin, granted what its manifest asks for, and a program that stands in for its agent. */
export interface StandIn {
  made: TestHost;
  /** Runs a session to its end. */
  run(request: Partial<SessionRequest>): Promise<{ events: AdapterEvent[]; result: SessionResult }>;
  /** Sessions that were started, in order; probes are left out. */
  calls(): Promise<StandInCall[]>;
  /** Command lines of processes that came of the program and are alive. */
  alive(): Promise<string[]>;
}

/** What stands in for what. */
export interface StandInOptions {
  /** Name of the agent's program. */
  binary: string;
  settings?: RegistrySettings;
  /** Lines of a host manifest. */
  manifest?: string;
  /** Script that is run in its place, with a folder to note calls in and the plugin's fixtures in front of the arguments. */
  program?: string;
}

const path = process.env["PATH"];
const homes: string[] = [];
afterEveryTest(async () => {
  process.env["PATH"] = path;
  for (const home of homes.splice(0)) await rm(home, { recursive: true });
});

/** Puts a program of that name before all others on the PATH and opens the host; the working directory is a repository. */
export async function openStandIn(
  id: string,
  { binary, settings = {}, manifest = "", program = join(here, "stand-in-program.mjs") }: StandInOptions,
): Promise<StandIn> {
  const made = await openHost({ bundledDir: plugins, ...await hostManifest(manifest) });
  // Not where sessions and probes work: no program is started from there.
  const home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-stand-in-")));
  homes.push(home);
  await writeProgram(join(home, binary), [program, home, join(recorded, id)]);
  process.env["PATH"] = `${home}${delimiter}${path}`;
  await promisify(execFile)("git", ["init", "--quiet", made.workdir]);
  const folder = join(plugins, id);
  const grant = requestedPermissions(await readManifest(folder));
  // The program stands in a folder of the tests; agents' walls have tests of their own.
  await made.host.registry.register(folder, { grant, os_walls: { agents: "off" }, ...settings });
  return {
    made,
    async run(request) {
      const session = await made.host.runSession(
        { workdir: made.workdir, prompt: "go", retry: "never", ...request },
        { adapter: id },
      );
      const events: AdapterEvent[] = [];
      for await (const { source, event } of session.events()) {
        if (source === "agent") events.push(event as AdapterEvent);
      }
      return { events, result: await session.result() };
    },
    async calls() {
      const text = await readFile(join(home, "calls.jsonl"), "utf8");
      return text.trim().split("\n").map((line): StandInCall => JSON.parse(line));
    },
    alive: () => commandsWith(home),
  };
}

/** Starts a session and interrupts it once the condition holds and so many of its processes are there. */
export async function interruptWhen(
  { made, alive }: StandIn,
  { adapter, prompt, seen, processes }: {
    adapter: string;
    prompt: string;
    seen: (envelope: Envelope) => boolean;
    processes: number;
  },
): Promise<SessionResult> {
  const session = await made.host.runSession({ workdir: made.workdir, prompt, retry: "never" }, { adapter });
  let told = false;
  for await (const envelope of session.events()) {
    if (told || !seen(envelope)) continue;
    told = true;
    await until(async () => (await alive()).length >= processes);
    void session.interrupt();
  }
  return await session.result();
}

async function writeProgram(file: string, args: string[]): Promise<void> {
  const prefix = runtimeName === "node" ? [] : ["run", "-A", "--no-prompt"];
  const words = [process.execPath, ...prefix, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  await writeFile(file, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`);
  await chmod(file, 0o755);
}

async function commandsWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map(async (pid) => {
    const line = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
    return line.replaceAll("\0", " ");
  }));
  return commands.filter((command) => command.includes(text));
}
