import { writeFiles } from "../../ground/platform/files/write-new-file.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { rightsTo } from "../../packages/permissions/decide.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import type { EscapeServers } from "../../ground/platform/net/escape-servers.ts";
import { access, mkdtemp, realpath } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";

/** The word that stands in everything that an agent must not find. */
export const canary = "CANARY";

/** Settings of known agents, as permissions name them. */
export const agentSettings: `config:${string}`[] = [
  "config:codex",
  "config:claude",
  "config:gemini",
  "config:opencode",
  "config:cline",
];

/** Files of the stage, relative to its root. */
export const stageFiles: Readonly<Record<string, string>> = {
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

/** Makes the folders and files that an attack aims at; returns their root. */
export async function makeStage(): Promise<string> {
  // Not below `/tmp`, for which an agent has a folder of its own: it would hide the stage.
  const base = await access("/var/tmp").then(() => "/var/tmp", () => "/tmp");
  const root = await realpath(await mkdtemp(join(base, "bulkhead-escapes-")));
  await writeFiles(root, stageFiles);
  return root;
}

/** A stage, and how its program is contained. */
export interface RunEscapeOptions {
  root: string;
  servers: EscapeServers;
  contain: "on" | "off";
}

/** A session on a stage. */
export function stageSession({ root, servers, contain }: RunEscapeOptions): SessionBrokerOptions {
  const permissions: Permissions = {
    run: [{ binary: "sh", args: ["-c {*}"], ...(contain === "off" ? { contain: "off" as const } : {}) }],
  };
  return {
    sessionId: `escape-${randomId()}`,
    pluginId: "escape",
    workdir: join(root, "workdir"),
    pluginDir: join(root, "plugin"),
    dataDir: join(root, "state", "data"),
    tempDir: join(root, "state", "temp"),
    rights: rightsTo(permissions),
    permissions,
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

/** Runs a script of `sh` as a program of a session; returns all that it printed. */
export async function runScript(
  broker: SessionBroker,
  script: string,
  env?: Readonly<Record<string, string>>,
): Promise<string> {
  const options = env === undefined ? {} : { env };
  const run = await broker.call("run", { binary: "sh", args: ["-c", script], options }) as {
    stdout: number;
    stderr: number;
  };
  const [out, err] = await Promise.all([readAll(broker, run.stdout), readAll(broker, run.stderr)]);
  return `${out}${err}`.trim();
}

/** Reads a stream of a program to its end; keeps the last 64 KiB. */
async function readAll(broker: SessionBroker, stream: number): Promise<string> {
  let text = "";
  for (;;) {
    const piece = await broker.call("stream_read", { stream_id: stream });
    if (typeof piece !== "string") return text;
    text = (text + piece).slice(-65_536);
  }
}
