import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { createSessionBroker } from "../../walls/broker/broker.ts";
import type { SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";
import { type EscapeServers, startEscapeServers } from "../../ground/runtime/escape-servers.ts";
import { readFile, rm, stat } from "../../ground/runtime/files.ts";
import { type KeyEcho, startKeyEcho } from "../../ground/runtime/key-echo.ts";
import { join } from "../../ground/runtime/paths.ts";
import { setHostEnv } from "../../ground/runtime/platform.ts";
import type { EscapeReport } from "./agent-escape.ts";
import { agentSettings, canary, makeStage, readAll, stageSession } from "./escape-stage.ts";
import type { WalledCase, WalledStep } from "./walled-case.ts";

/** Options of {@link runWalledCases}. */
interface WalledOptions {
  signal?: AbortSignal;
  onReport?(report: EscapeReport): void;
  /** The broker under attack; default: this host's. */
  createBroker?: ((options: SessionBrokerOptions) => SessionBroker) | undefined;
}

type Actor = keyof WalledStep;

/** The session that an actor's program belongs to. */
const sessions: Readonly<Record<Actor, "free" | "first" | "next">> = {
  repository: "free",
  outside: "free",
  person: "free",
  first: "first",
  beside: "first",
  next: "next",
};

const key = `sk-${canary}-0123456789abcdef`;
const base = "/base/v1";

/** Actors of one step tell each other by `say x` and wait by `hear x`, for ten seconds at most. */
const prelude = `
say() { : > "$PROJECT/said-$1"; }
hear() { i=0; until [ -e "$PROJECT/said-$1" ] || [ $i -gt 200 ]; do i=$((i+1)); sleep 0.05; done; }
`;

/** Runs cases one after the other, and looks afterwards at what is left on the machine. */
export async function runWalledCases(
  cases: readonly WalledCase[],
  options: WalledOptions = {},
): Promise<EscapeReport[]> {
  const reports: EscapeReport[] = [];
  for (const one of cases) {
    if (options.signal?.aborted) break;
    const report = await runOne(one, options.createBroker ?? createSessionBroker);
    options.onReport?.(report);
    reports.push(report);
  }
  return reports;
}

interface Stage {
  root: string;
  servers: EscapeServers;
  echo: KeyEcho;
  case: WalledCase;
  createBroker(options: SessionBrokerOptions): SessionBroker;
  open: Map<string, SessionBroker>;
}

async function runOne(one: WalledCase, createBroker: Stage["createBroker"]): Promise<EscapeReport> {
  const { id, name, home, needs } = one;
  const started = Date.now();
  const report = (outcome: EscapeReport["outcome"], detail: string): EscapeReport => ({
    id,
    name,
    outcome,
    detail,
    duration_ms: Date.now() - started,
  });
  const root = await makeStage();
  const [servers, echo] = await Promise.all([
    startEscapeServers(canary, join(root, "victim")),
    startKeyEcho({ key, base }),
  ]);
  const stage: Stage = { root, servers, echo, case: one, createBroker, open: new Map() };
  const before = setHostEnv("HOME", home === undefined ? join(root, "home") : home ?? undefined);
  const keyBefore = setHostEnv("STAGE_KEY", key);
  try {
    if (
      needs !== undefined &&
      !(await act(stage, "repository", `(${needs.script}) && echo can-be-tried`)).includes("can-be-tried")
    ) {
      return report("skipped", needs.or);
    }
    const { text, traces } = await play(stage);
    return report(
      traces.length === 0 ? "held" : "escaped",
      `${traces.map((trace) => `${trace}: `).join("")}${text.slice(-400)}`,
    );
  } finally {
    await close(stage, () => true);
    setHostEnv("STAGE_KEY", keyBefore);
    setHostEnv("HOME", before);
    await servers.close();
    echo.close();
    await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** Lets everybody act, step by step; returns what they printed, and the traces of an escape. */
async function play(stage: Stage): Promise<{ text: string; traces: string[] }> {
  const { case: { steps, untouched = [] }, root } = stage;
  const said: string[] = [];
  const traces = new Set<string>();
  const look = () => Promise.all(untouched.map((path) => readFile(join(root, path), "utf8").catch(() => undefined)));
  let known: (string | undefined)[] | null = null;
  for (const [index, step] of steps.entries()) {
    const acting = Object.entries(step) as [Actor, string][];
    if (acting.some(([actor]) => actor !== "repository")) known ??= await look();
    await Promise.all(acting.map(async ([actor, script]) => {
      const text = await act(stage, actor, script);
      said.push(`[${actor}] ${text}`);
      if (text.includes("ESCAPED")) traces.add(`${actor} says so`);
      if (sessions[actor] !== "free" && text.includes(canary)) traces.add(`${actor} saw a secret`);
    }));
    const coming = new Set(
      steps.slice(index + 1).flatMap((later) => Object.keys(later)).map((actor) => sessions[actor as Actor]),
    );
    await close(stage, (session) => session !== "free" && !coming.has(session as "first"));
  }
  const now = await look();
  for (const [index, path] of untouched.entries()) if (now[index] !== known?.[index]) traces.add(`${path} was changed`);
  if (await stat(join(root, "mark")).then(() => true, () => false)) traces.add("the agent's program ran outside");
  return { text: said.join("\n").trim(), traces: [...traces] };
}

async function act(stage: Stage, actor: Actor, script: string): Promise<string> {
  const { root, echo, servers, case: { form = "", adapter_env: given = {} } } = stage;
  const variables = {
    ROOT: root,
    STAGE_HOME: join(root, "home"),
    PROJECT: join(root, "workdir"),
    STATE: join(root, "state"),
    OUTSIDE: join(root, "other"),
    PLUGIN: join(root, "plugin"),
    MARK: join(root, "mark"),
    SOCKET: join(root, "victim", "neighbour"),
    PORT: servers.port,
    ECHO: `127.0.0.1:${echo.port}`,
    FORM: form,
  };
  const exports = Object.entries(variables).map(([name, value]) => `${name}=${quoted(String(value))}`).join(" ");
  const env = sessions[actor] === "free" ? {} : filled(given, stage);
  try {
    const broker = session(stage, sessions[actor]);
    const args = ["-c", `export ${exports} PROXY="$HTTP_PROXY"\n${prelude}${script}`];
    const run = await broker.call("run", { binary: "sh", args, options: { env } }) as {
      stdout: number;
      stderr: number;
    };
    const [out, err] = await Promise.all([readAll(broker, run.stdout), readAll(broker, run.stderr)]);
    return `${out}${err}`.trim();
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Values of variables with the places of the stage in them. */
function filled(values: Readonly<Record<string, string>>, { root, echo }: Stage): Record<string, string> {
  const fill = (text: string) => text.replaceAll("${ROOT}", root).replaceAll("${ECHO}", `127.0.0.1:${echo.port}`);
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fill(value)]));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function session(stage: Stage, name: "free" | "first" | "next"): SessionBroker {
  const { root, servers, echo, open, createBroker } = stage;
  const known = open.get(name);
  if (known !== undefined) return known;
  const options = stageSession({ root, servers, contain: name === "free" ? "off" : "on" });
  const run = options.permissions.run!.map((one): RunPermission => ({
    ...one,
    env: ["STAGE_KEY", "STAGE_URL", "SH_HOME"],
  }));
  const broker = createBroker({
    ...options,
    tempDir: join(root, "state", `temp-${name}`),
    requestEnv: name === "free" ? {} : filled(stage.case.client_env ?? {}, stage),
    permissions: { run, read: agentSettings },
    programNet: [...options.programNet ?? [], `127.0.0.1:${echo.port}`],
    endpoints: [{
      program: "sh",
      key: "STAGE_KEY",
      base_url: "STAGE_URL",
      url: `http://127.0.0.1:${echo.port}${base}`,
    }],
  });
  open.set(name, broker);
  return broker;
}

async function close({ open }: Stage, isOver: (session: string) => boolean): Promise<void> {
  for (const [name, broker] of [...open]) {
    if (!isOver(name)) continue;
    open.delete(name);
    await broker.close();
  }
}
