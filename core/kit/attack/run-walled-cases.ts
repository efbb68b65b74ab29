import type { HeldChange } from "../../../plugin-sdk/held.ts";
import type { RunPermission } from "../../../plugin-sdk/permissions.ts";
import { quoteWord } from "../../ground/config/grant-command.ts";
import { createSessionBroker } from "../../walls/broker/broker.ts";
import { rightsTo } from "../../packages/permissions/decide.ts";
import type { SessionBroker, SessionBrokerOptions } from "../../walls/broker/session-broker.ts";
import { type EscapeServers, startEscapeServers } from "../../ground/platform/net/escape-servers.ts";
import { readFile, stat } from "../../ground/platform/files/files.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { type KeyEcho, startKeyEcho } from "../../ground/platform/net/key-echo.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { setHostEnv } from "../../ground/platform/engine/platform.ts";
import { type EscapeReport, runEach } from "./agent-escape.ts";
import { agentSettings, canary, makeStage, runScript, stageSession } from "./escape-stage.ts";
import { failed, type HostStarter, isRefusal, startNext } from "./next-start.ts";
import type { WalledCase, WalledStep } from "./walled-case.ts";
import { beginWalled, type WalledSession } from "./walled-session.ts";

/** The host under attack, where it is another tree's. */
interface AttackedHost extends HostStarter {
  createBroker(options: SessionBrokerOptions): SessionBroker;
  /** Whether it names what a session left that can run programs. */
  tells: boolean;
}

interface WalledOptions {
  signal?: AbortSignal;
  onReport?(report: EscapeReport): void;
  /** Default: this one. */
  host?: AttackedHost | undefined;
}

type Actor = keyof WalledStep;
type Contained = "first" | "next" | "second_host";

/** The session that an actor's program belongs to; `free` ones have all rights. */
const sessions: Readonly<Record<Exclude<Actor, "start">, "free" | Contained>> = {
  repository: "free",
  outside: "free",
  person: "free",
  first: "first",
  beside: "first",
  next: "next",
  second_host: "second_host",
};

const isFree = (actor: Actor) => actor !== "start" && sessions[actor] === "free";

const key = `sk-${canary}-0123456789abcdef`;
const base = "/base/v1";

/**
 * Actors of one step tell each other by `say x` and wait by `hear x`, for ten seconds at most. The person names by
 * `found x` a file that an agent changed and that programs act on.
 */
const prelude = `
found() { echo "FOUND $1"; }
say() { : > "$PROJECT/said-$1"; }
hear() { i=0; until [ -e "$PROJECT/said-$1" ] || [ $i -gt 200 ]; do i=$((i+1)); sleep 0.05; done; }
`;

/** Runs cases one after the other, and looks afterwards at what is left on the machine. */
export async function runWalledCases(
  cases: readonly WalledCase[],
  options: WalledOptions = {},
): Promise<EscapeReport[]> {
  return await runEach(cases, options, (one) => runOne(one, options.host));
}

interface Stage {
  root: string;
  servers: EscapeServers;
  echo: KeyEcho;
  case: WalledCase;
  host: AttackedHost | undefined;
  open: Map<"free" | Contained, Promise<WalledSession>>;
  /** Changes that sessions which are over have left, as their host named them. */
  told: HeldChange[];
}

async function runOne(one: WalledCase, host: AttackedHost | undefined): Promise<[EscapeReport["outcome"], string]> {
  const { needs } = one;
  const root = await makeStage();
  const [servers, echo] = await Promise.all([
    startEscapeServers(canary, join(root, "victim")),
    startKeyEcho({ key, base }),
  ]);
  const stage: Stage = { root, servers, echo, case: one, host, open: new Map(), told: [] };
  const before = Object.entries(hostEnvOf(stage)).map(([name, value]) => [name, setHostEnv(name, value)] as const);
  try {
    if (
      needs !== undefined &&
      !(await act(stage, "repository", `(${needs.script}) && echo can-be-tried`)).includes("can-be-tried")
    ) {
      return ["skipped", needs.or];
    }
    const { text, traces, isTold } = await play(stage);
    return [
      traces.length > 0 ? "escaped" : isTold ? "told" : "held",
      `${traces.map((trace) => `${trace}: `).join("")}${text.slice(-400)}`,
    ];
  } finally {
    await close(stage, () => true);
    for (const [name, value] of before) setHostEnv(name, value);
    await servers.close();
    echo.close();
    await removeTree(root);
  }
}

/** The environment of the host. Its records lie where they would without a variable of this machine's. */
function hostEnvOf({ root, case: { home } }: Stage): Record<string, string | undefined> {
  return {
    HOME: home === undefined ? join(root, "home") : home ?? undefined,
    XDG_DATA_HOME: join(root, "home", ".local", "share"),
    STAGE_KEY: key,
  };
}

/** Lets everybody act, step by step; returns what they printed, and the traces of an escape. */
async function play(stage: Stage): Promise<{ text: string; traces: string[]; isTold: boolean }> {
  const { case: { steps, untouched = [] }, root } = stage;
  const said: string[] = [];
  const traces = new Set<string>();
  const look = () => Promise.all(untouched.map((path) => readFile(join(root, path), "utf8").catch(() => undefined)));
  let known: (string | undefined)[] | null = null;
  let isTold = false;
  for (const [index, step] of steps.entries()) {
    const acting = Object.entries(step) as [Actor, string][];
    if (acting.some(([actor]) => actor !== "repository")) known ??= await look();
    await Promise.all(acting.map(async ([actor, script]) => {
      const text = await act(stage, actor, script);
      said.push(`[${actor}] ${text}`);
      if (text.includes("ESCAPED")) traces.add(`${actor} says so`);
      if (actor === "start" && text.includes(failed)) traces.add("the host that starts did not run its program");
      if (!isFree(actor) && text.includes(canary)) traces.add(`${actor} saw a secret`);
      for (const [, path] of text.matchAll(/^FOUND (.*)$/gm)) {
        isTold = true;
        if (!hasTold(stage, path!)) traces.add(`${path} was changed and not told`);
      }
    }));
    const coming = steps.slice(index + 1).flatMap((later) => Object.keys(later) as Actor[])
      .map((actor) => actor === "start" ? null : sessions[actor]);
    await close(stage, (session) => session !== "free" && !coming.includes(session));
  }
  const now = await look();
  for (const [index, path] of untouched.entries()) if (now[index] !== known?.[index]) traces.add(`${path} was changed`);
  if (await stat(join(root, "mark")).then(() => true, () => false)) traces.add("the agent's program ran outside");
  return { text: said.join("\n").trim(), traces: [...traces], isTold };
}

/** Whether a path, or a folder that it lies in, was named together with what starts it. */
function hasTold({ told, case: { starts = {} } }: Stage, path: string): boolean {
  return told.some((one) => (path === one.path || path.startsWith(`${one.path}/`)) && one.by === starts[path]);
}

async function act(stage: Stage, actor: Actor, script: string): Promise<string> {
  const { root, echo, servers, host, case: { form = "", adapter_env: given = {} } } = stage;
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
  const exports = Object.entries(variables).map(([name, value]) => `${name}=${quoteWord(String(value))}`).join(" ");
  const text = `export ${exports} PROXY="$HTTP_PROXY"\n${prelude}${script}`;
  try {
    if (actor === "start") {
      return await startNext({
        ...host,
        root,
        project: variables.PROJECT,
        stateDir: join(root, "state"),
        script: text,
      });
    }
    const env = isFree(actor) ? {} : filled(given, stage);
    const { broker } = await session(stage, sessions[actor]);
    return await runScript(broker, text, env);
  } catch (error) {
    const why = actor === "start" && !isRefusal(error) ? failed : "refused";
    return `${why}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Values of variables with the places of the stage in them. */
function filled(values: Readonly<Record<string, string>>, { root, echo }: Stage): Record<string, string> {
  const fill = (text: string) => text.replaceAll("${ROOT}", root).replaceAll("${ECHO}", `127.0.0.1:${echo.port}`);
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fill(value)]));
}

function session(stage: Stage, name: "free" | Contained): Promise<WalledSession> {
  const { open } = stage;
  const known = open.get(name) ?? begin(stage, name);
  open.set(name, known);
  return known;
}

async function begin(stage: Stage, name: "free" | Contained): Promise<WalledSession> {
  const { root, servers, echo, host } = stage;
  const options = stageSession({ root, servers, contain: name === "free" ? "off" : "on" });
  // The state of another host lies where it is by default.
  const other = join(root, "home", ".local", "state", "bulkhead");
  const state = name === "second_host" ? other : join(root, "state");
  const run = options.permissions.run!.map((one): RunPermission => ({
    ...one,
    env: ["STAGE_KEY", "STAGE_URL", "SH_HOME"],
  }));
  const permissions = { run, read: agentSettings };
  const session: SessionBrokerOptions = {
    ...options,
    protectedPaths: [state, join(root, "bulkhead.yaml")],
    tempDir: join(state, `temp-${name}`),
    requestEnv: name === "free" ? {} : filled(stage.case.client_env ?? {}, stage),
    rights: rightsTo(permissions),
    permissions,
    programNet: [...options.programNet ?? [], `127.0.0.1:${echo.port}`],
    endpoints: [{
      program: "sh",
      key: "STAGE_KEY",
      base_url: "STAGE_URL",
      url: `http://127.0.0.1:${echo.port}${base}`,
    }],
  };
  if (name !== "free") return await beginWalled(session, { state, createBroker: host?.createBroker });
  const broker = createSessionBroker(session);
  return { broker, end: () => broker.close().then(() => []) };
}

async function close({ open, told, host }: Stage, isOver: (session: "free" | Contained) => boolean): Promise<void> {
  for (const [name, opening] of [...open]) {
    if (!isOver(name)) continue;
    open.delete(name);
    const held = await (await opening).end();
    if (host?.tells !== false) told.push(...held);
  }
}
