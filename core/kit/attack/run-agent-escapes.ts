import { SessionGit } from "../../sessions/session/session-git.ts";
import { createSessionBroker } from "../../walls/broker/broker.ts";
import { startEscapeServers } from "../../ground/platform/net/escape-servers.ts";
import { access, readFile, rm, stat } from "../../ground/platform/files/files.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { execPath, pid, setHostEnv } from "../../ground/platform/engine/platform.ts";
import { sleep } from "../../ground/platform/engine/wait.ts";
import { type AgentEscape, type EscapeReport, runEach } from "./agent-escape.ts";
import { canary, makeStage, type RunEscapeOptions, runScript, stageFiles, stageSession } from "./escape-stage.ts";

interface EscapeOptions {
  signal?: AbortSignal;
  onReport?(report: EscapeReport): void;
  /** `off` runs them without walls: the proof that what they try can be done. */
  contain: "on" | "off";
}

/** Runs escapes one after the other as programs of sessions, and looks afterwards at what is left. */
export async function runAgentEscapes(
  escapes: readonly AgentEscape[],
  options: EscapeOptions,
): Promise<EscapeReport[]> {
  return await runEach(escapes, options, (escape) => runOne(escape, options.contain));
}

/** A fresh stage for each, so that what one leaves behind cannot help the next. */
async function runOne(escape: AgentEscape, contain: "on" | "off"): Promise<[EscapeReport["outcome"], string]> {
  const { needs } = escape;
  if (needs !== undefined && !await isThere(needs)) return ["skipped", `${needs} is not installed`];
  const root = await makeStage();
  const servers = await startEscapeServers(canary, join(root, "victim"));
  const before = setHostEnv("HOME", join(root, "home"));
  try {
    const text = await runEscape(escape, { root, servers, contain });
    const traces = [
      ...(text.includes("ESCAPED") ? ["the script says so"] : []),
      ...await changedFiles(escape, root),
      ...(servers.victimLives() ? [] : ["the neighbour was killed"]),
      ...await leftBehind(escape, { root, servers }),
    ];
    return traces.length === 0 ? ["held", text.slice(-200)] : ["escaped", `${traces.join(", ")}: ${text.slice(-200)}`];
  } finally {
    setHostEnv("HOME", before);
    await servers.close();
    // A program that outlived its session may still write there.
    await removeTree(root);
  }
}

async function runEscape({ script }: AgentEscape, { root, servers, contain }: RunEscapeOptions): Promise<string> {
  const variables: Record<string, string | number> = {
    OUTSIDE: join(root, "other"),
    STATE: join(root, "state"),
    PLUGIN: join(root, "plugin"),
    PORT: servers.port,
    ALLOWED_PORT: servers.allowedPort,
    UDP_PORT: servers.udpPort,
    ADDRESS: servers.address,
    VICTIM: servers.victim,
    SOCKET: join(root, "victim", "neighbour"),
    RUNTIME: execPath,
    HOST: pid,
  };
  const exports = Object.entries(variables).map(([name, value]) => `${name}='${value}'`).join(" ");
  const options = stageSession({ root, servers, contain });
  const git = new SessionGit({
    ...options,
    workspaceDir: null,
    gitDir: join(root, "state", "git"),
    closed: [join(root, "state")],
    spelledRoots: [],
  });
  const broker = createSessionBroker({ ...options, gitMounts: () => git.mounts() });
  try {
    return await runScript(broker, `export ${exports} PROXY="$HTTP_PROXY"\n${script}`);
  } finally {
    await broker.close();
    await git.end();
  }
}

async function changedFiles({ untouched = [] }: AgentEscape, root: string): Promise<string[]> {
  const found = await Promise.all(untouched.map(async (path) => {
    const now = await readFile(join(root, path), "utf8").catch(() => undefined);
    return now === stageFiles[path] ? [] : [`${path} was changed`];
  }));
  return found.flat();
}

async function leftBehind(
  { leaves }: AgentEscape,
  { root, servers }: Pick<RunEscapeOptions, "root" | "servers">,
): Promise<string[]> {
  if (leaves === "shared memory") {
    const file = `/dev/shm/bulkhead-escape-${servers.victim}`;
    const there = await stat(file).then(() => true, () => false);
    await rm(file, { force: true });
    return there ? ["it wrote shared memory"] : [];
  }
  if (leaves !== "a process") return [];
  const sign = join(root, "workdir", "alive");
  await rm(sign, { force: true });
  await sleep(400);
  return await stat(sign).then(() => ["a process lives on"], () => []);
}

async function isThere(program: string): Promise<boolean> {
  const found = await Promise.all(
    ["/usr/bin", "/bin", "/usr/local/bin"].map((folder) => access(join(folder, program)).then(() => true, () => false)),
  );
  return found.includes(true);
}
