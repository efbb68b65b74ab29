import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import {
  createHost,
  type Host,
  type HostManifest,
  type HostOptions,
  loadHostManifest,
  type LogRecord,
  type RegistrySettings,
} from "bulkhead";
import { afterEveryFile, afterEveryTest } from "../../clean-up.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { type ErrorCode, errorCodes } from "../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { collectScripts, lendScripts } from "../../shared-scripts.ts";

/** Both ways a plugin's workers can be held; a thread needs the operator's trust. */
export const isolations = ["process", "thread"] as const;

/** A plugin package that a test writes. */
export interface TestPlugin {
  /** Text of the entry; its name is `mod.js` unless `files` has another. */
  code?: string;
  /** Further lines of the manifest, as YAML. */
  manifest?: string;
  /** Default: tool. */
  type?: string;
  /** More files of the package. */
  files?: Record<string, string>;
}

/** A host in folders of its own, and what it logged. */
export interface TestHost {
  host: Host;
  /** Holds the other folders. */
  root: string;
  workdir: string;
  stateDir: string;
  logs: LogRecord[];
  /** Writes a package and registers it. */
  add(id: string, plugin: TestPlugin, settings?: RegistrySettings): Promise<string>;
  /** Runs a session to its end, without artifacts. */
  run(adapter: string, request?: Partial<SessionRequest>): Promise<Ended>;
}

/** A session that is over. */
export interface Ended {
  result: SessionResult;
  events: Envelope[];
}

/**
 * A host that stays open for all tests of a file. The hosts of a process share one bundler, which takes longer to start
 * than most tests take, and the last host to close ends it.
 */
let companion: Promise<Host> | null = null;

/** Closes the host that keeps the bundler; tests that count processes call it first. */
export async function closeCompanion(): Promise<void> {
  const closing = companion;
  companion = null;
  await (await closing)?.close();
}

afterEveryFile(closeCompanion);

const opened: { host: Host; root: string; stateDir: string; keepsRoot: boolean }[] = [];

/** Closes every host of the test and removes its folders. */
export async function closeHosts(): Promise<void> {
  for (const { host, root, stateDir, keepsRoot } of opened.splice(0).reverse()) {
    await host.close();
    await collectScripts(stateDir);
    if (!keepsRoot) await rm(root, { recursive: true, force: true });
  }
}

afterEveryTest(closeHosts);

/** Makes a host; `root` takes up the folders of an earlier one. */
export async function openHost(options: HostOptions = {}): Promise<TestHost> {
  companion ??= createHost({ stateDir: null, bundledDir: null, root: tmpdir() });
  const root = options.root ?? await realpath(await mkdtemp(join(tmpdir(), "bulkhead-host-")));
  const workdir = join(root, "workdir");
  const stateDir = join(root, "state");
  const logs: LogRecord[] = [];
  for (const folder of [workdir, stateDir]) await mkdir(folder, { recursive: true });
  await lendScripts(stateDir);
  const host = await createHost({
    stateDir,
    bundledDir: null,
    writeLog: (record) => void logs.push(record),
    ...options,
    root,
  });
  opened.push({ host, root, stateDir, keepsRoot: options.root !== undefined });
  const add = async (id: string, plugin: TestPlugin, settings: RegistrySettings = {}) => {
    const folder = await writePlugin(join(root, "packages", id), id, plugin);
    await host.registry.register(folder, settings);
    return folder;
  };
  const run = async (adapter: string, request: Partial<SessionRequest> = {}) => {
    const session = await host.runSession({ workdir, prompt: "go", retry: "never", ...request }, {
      adapter,
      artifacts: "none",
    });
    const events: Envelope[] = [];
    for await (const envelope of session.events()) events.push(envelope);
    return { events, result: await session.result() };
  };
  return { host, root, workdir, stateDir, logs, add, run };
}

/** Writes a package. */
export async function writePlugin(folder: string, id: string, plugin: TestPlugin): Promise<string> {
  const files = plugin.files ?? { "mod.js": plugin.code ?? "" };
  const entry = Object.keys(files)[0];
  const manifest = `manifest: 1
id: ${id}
name: ${id}
version: 1.0.0
description: Made by a test.
license: MIT
host: ^1.0.0
adapter_type: ${plugin.type ?? "tool"}
entry: ./${entry}
${plugin.manifest?.startsWith("capabilities:") ? "" : "capabilities: {}"}
${plugin.manifest ?? ""}
`;
  for (const [name, text] of Object.entries({ "plugin.yaml": manifest, ...files })) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** Text of an entry whose adapter's `runSession` has this body; `members` are further members of the definition. */
export function adapterCode(body: string, members = ""): string {
  return `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({
  id: "made", name: "Made", version: "1.0.0",
  ${members}
  async *runSession(request, ctx) {
${body}
  },
});
`;
}

/** Text of the last event of an adapter that did its work. */
export const completed = `{ type: "completed", success: true, files_changed: [], tokens_used: null, cost: null }`;

/** Every file of the state folder but locks and the journal, relative to it. */
export async function leftovers(stateDir: string): Promise<string[]> {
  const all = await readdir(stateDir, { recursive: true });
  return all.filter((name) => /scratch.|lock$/.test(name)).sort();
}

/** The processes that this one has started and that have not ended by now. */
export async function ownChildren(): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const rows = await Promise.all(pids.map(async (pid) => {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
    const [state, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(ppid) !== process.pid || state === "Z") return null;
    const command = (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).replaceAll("\0", " ");
    return { pid: Number(pid), command };
  }));
  return rows.filter((row) => row !== null);
}

/** Those that are left when there has been time for all to go: one that was just killed is there for a moment more. */
export async function childrenLeft(): Promise<{ pid: number; command: string }[]> {
  for (const end = performance.now() + 5000;;) {
    const children = await ownChildren();
    if (children.length === 0 || performance.now() > end) return children;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What a promise rejects with; fails when it does not reject. */
export async function errorOf(
  promise: Promise<unknown>,
): Promise<{ code: ErrorCode; message: string; hint?: string; details?: Record<string, unknown> }> {
  const settled = await promise.then((value) => ({ value }), (error: unknown) => ({ error }));
  if (!("error" in settled)) throw new Error("It did not reject.");
  const { code, message, hint, details } = settled.error as {
    code: ErrorCode;
    message: string;
    hint?: string;
    details?: Record<string, unknown>;
  };
  if (!Object.hasOwn(errorCodes, code ?? "")) throw new Error(`No code of the table: ${String(settled.error)}`);
  return { code, message, ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) };
}

/** Resolves when a condition holds; fails after ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error("The condition did not come true.");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The host manifest of these lines, as an option of the host; nothing for none. */
export async function hostManifest(lines: string): Promise<{ manifest?: HostManifest }> {
  if (lines === "") return {};
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-manifest-")));
  try {
    await writeFile(join(root, "bulkhead.yaml"), `bulkhead: 1\n${lines}`);
    const manifest = await loadHostManifest({ config: join(root, "bulkhead.yaml"), from: root });
    return manifest === null ? {} : { manifest };
  } finally {
    await rm(root, { recursive: true });
  }
}
