import { createSessionBroker } from "../../walls/broker/broker.ts";
import type { SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { type EscapeServers, startEscapeServers } from "../../ground/runtime/escape-servers.ts";
import { access, mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "../../ground/runtime/files.ts";
import { dirname, join } from "../../ground/runtime/paths.ts";
import { execPath, pid, setHostEnv } from "../../ground/runtime/platform.ts";
import { randomId } from "../../ground/runtime/hash.ts";
import { sleep } from "../../ground/runtime/wait.ts";
import type { AgentEscape, EscapeReport } from "./agent-escape.ts";

/** Options of {@link runAgentEscapes}. */
interface EscapeOptions {
  /** `off` runs them without walls: the proof that what they try can be done. */
  contain: "on" | "off";
  signal?: AbortSignal;
  onReport?(report: EscapeReport): void;
}

/** The word that stands in everything that an agent must not find. */
const canary = "CANARY";

/** Files of the stage, relative to its root. */
const files: Readonly<Record<string, string>> = {
  "home/.ssh/id_ed25519": canary,
  "home/.aws/credentials": canary,
  "home/.codex/auth.json": canary,
  "home/.bash_history": canary,
  "home/.bashrc": "# empty\n",
  "home/.config/chromium/Default/Cookies": canary,
  "home/.sh/settings.json": "{}",
  "home/.sh/hooks/stop": "",
  "home/project/.env": canary,
  "other/main.c": "int main;\n",
  "state/journal": canary,
  "state/http/token": canary,
  "bulkhead.yaml": "bulkhead: 1\n",
  "plugin/mod.ts": "export {};\n",
  "victim/canary.txt": canary,
  "workdir/.git/HEAD": "ref: refs/heads/main\n",
  "workdir/.git/config": "[core]\n\trepositoryformatversion = 0\n",
  "workdir/.git/hooks/sample": "",
  "workdir/.git/info/exclude": "",
  "workdir/.git/objects/keep": "",
  "workdir/.git/refs/heads/keep": "",
  "workdir/.gitlab-ci.yml": "stages: []\n",
  "workdir/.envrc": "# empty\n",
  "workdir/AGENTS.md": "Be kind.\n",
  "workdir/bulkhead.yaml": "bulkhead: 1\n",
};

/** Names that the operator granted, and whose owner has them lead to places of this machine and its network. */
const inwardNames: Readonly<Record<string, (servers: EscapeServers) => string[]>> = {
  "loopback.escape.example": () => ["127.0.0.1"],
  "six.escape.example": () => ["::1"],
  "mapped.escape.example": () => ["::ffff:127.0.0.1"],
  "neighbour.escape.example": ({ address }) => [address],
  "metadata.escape.example": () => ["169.254.169.254"],
  "mixed.escape.example": () => ["127.0.0.1", "8.8.8.8"],
};

/**
 * Runs escapes one after the other, each as the program of a session, and looks afterwards at what is left on the machine.
 * It makes all folders, servers and processes that it attacks, and removes them.
 */
export async function runAgentEscapes(
  escapes: readonly AgentEscape[],
  options: EscapeOptions,
): Promise<EscapeReport[]> {
  const reports: EscapeReport[] = [];
  for (const escape of escapes) {
    if (options.signal?.aborted) break;
    const report = await runOne(escape, options.contain);
    options.onReport?.(report);
    reports.push(report);
  }
  return reports;
}

/** A fresh stage for each, so that what one leaves behind cannot help the next. */
async function runOne(escape: AgentEscape, contain: "on" | "off"): Promise<EscapeReport> {
  const { id, name, needs } = escape;
  const started = Date.now();
  const report = (outcome: EscapeReport["outcome"], detail: string): EscapeReport => ({
    id,
    name,
    outcome,
    detail,
    duration_ms: Date.now() - started,
  });
  if (needs !== undefined && !await isThere(needs)) return report("skipped", `${needs} is not installed`);
  const root = await makeStage();
  const servers = await startEscapeServers(canary, join(root, "victim"));
  const before = setHostEnv("HOME", join(root, "home"));
  try {
    const text = await runScript(escape, { root, servers, contain });
    const traces = [
      ...(text.includes("ESCAPED") ? ["the script says so"] : []),
      ...await changedFiles(escape, root),
      ...(servers.victimLives() ? [] : ["the neighbour was killed"]),
      ...await leftBehind(escape, { root, servers }),
    ];
    return traces.length === 0
      ? report("held", text.slice(-200))
      : report("escaped", `${traces.join(", ")}: ${text.slice(-200)}`);
  } finally {
    setHostEnv("HOME", before);
    await servers.close();
    // A program that outlived its session may still write there.
    await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

async function makeStage(): Promise<string> {
  // Not below `/tmp`, for which an agent has a folder of its own: it would hide the stage.
  const base = await access("/var/tmp").then(() => "/var/tmp", () => "/tmp");
  const root = await realpath(await mkdtemp(join(base, "bulkhead-escapes-")));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

interface RunEscapeOptions {
  root: string;
  servers: EscapeServers;
  contain: "on" | "off";
}

async function runScript({ script }: AgentEscape, { root, servers, contain }: RunEscapeOptions): Promise<string> {
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
  const broker = createSessionBroker(brokerOptions({ root, servers, contain }));
  try {
    const run = await broker.call("run", {
      binary: "sh",
      args: ["-c", `export ${exports} PROXY="$HTTP_PROXY"\n${script}`],
      options: {},
    }) as { process_id: number; stdout: number; stderr: number };
    const [out, err] = await Promise.all([readAll(broker, run.stdout), readAll(broker, run.stderr)]);
    return `${out}${err}`.trim();
  } finally {
    await broker.close();
  }
}

function brokerOptions({ root, servers, contain }: RunEscapeOptions): SessionBrokerOptions {
  return {
    sessionId: `escape-${randomId()}`,
    pluginId: "escape",
    workdir: join(root, "workdir"),
    pluginDir: join(root, "plugin"),
    dataDir: join(root, "state", "data"),
    tempDir: join(root, "state", "temp"),
    permissions: {
      run: [{ binary: "sh", args: ["-c {*}"], ...(contain === "off" ? { contain: "off" as const } : {}) }],
    },
    protectedPaths: [join(root, "state"), join(root, "bulkhead.yaml")],
    sealedPaths: [join(root, "plugin")],
    containPrograms: true,
    programNet: [
      `127.0.0.1:${servers.allowedPort}`,
      ...Object.keys(inwardNames).map((name) => `${name}:${servers.port}`),
    ],
    resolve: (host) => Promise.resolve(inwardNames[host]?.(servers) ?? [host]),
    ownPids: false,
    requestEnv: {},
    limits: { ...defaultLimits, agent_grace_ms: 200 },
    emit: () => {},
    writeLog: () => {},
    waitForAnswer: () => Promise.resolve(null),
  };
}

async function readAll(broker: SessionBroker, stream: number): Promise<string> {
  let text = "";
  for (;;) {
    const piece = await broker.call("stream_read", { stream_id: stream });
    if (typeof piece !== "string") return text;
    text = (text + piece).slice(-65_536);
  }
}

async function changedFiles({ untouched = [] }: AgentEscape, root: string): Promise<string[]> {
  const found = await Promise.all(untouched.map(async (path) => {
    const now = await readFile(join(root, path), "utf8").catch(() => undefined);
    return now === files[path] ? [] : [`${path} was changed`];
  }));
  return found.flat();
}

async function leftBehind(
  { leaves }: AgentEscape,
  { root, servers }: { root: string; servers: EscapeServers },
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
