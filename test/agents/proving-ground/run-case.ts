import process from "node:process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHost, type Host } from "bulkhead";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedWith } from "../../../core/packages/permissions/requested-permissions.ts";
import { storeSecret } from "../../../core/walls/secrets/store.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { checkSession } from "../../sessions/session/session-rules.ts";
import type { MockModel, ModelRun } from "../mock-model/mock-model.ts";
import { sleeper, written } from "../mock-model/scenarios.ts";
import { type Agent, bundledFor, key, type Prepared } from "./agent.ts";
import { type Case, type CaseName, cases, type Story } from "./cases.ts";
import { keyHolders } from "./key-holders.ts";
import { kindsOf } from "./story.ts";
import { leftBehind, openPlace, type Place, processesOf } from "./place.ts";

/** What one case of one agent came to. */
export interface Ran {
  result: SessionResult;
  /** What is compared; of an interrupted session what came before the interrupt, as all after it is a race. */
  story: Story;
  /** What the agent's adapter said. */
  events: AdapterEvent[];
  /** Rules of the stream that do not hold. */
  faults: string[];
  /** Bodies of the requests to the model, in order. */
  requests: string[];
  /** Requests that the mock model does not know. */
  strange: string[];
  /** Content of the file that the scenario has written; null when it is not there. */
  file: string | null;
  /** Processes that held the key while the agent spoke; null for a case that is not interrupted then. */
  keyHolders: string[] | null;
  /** Whether the host has an endpoint for the agent's key, which then stays with it. */
  keyStaysOutside: boolean;
  /** Processes that outlived their session. */
  left: string[];
  /** Milliseconds of the session. */
  took: number;
}

/** Prompt of a case. */
export const prompt = "Do what the test says.";
/** Prompt of the session that `resume` goes on with. */
export const firstPrompt = "Remember the word wharf.";
/** Deadline of a session. */
export const patienceMs = 150_000;

/**
 * Runs a case on a host of its own, in a process wall, with exactly what the plugin's manifest asks for. Nothing of it
 * is there afterwards.
 */
export async function runCase(agent: Agent, name: CaseName, models: MockModel): Promise<Ran> {
  const place = await openPlace();
  try {
    return await runIn(place, { agent, name, models });
  } finally {
    for (const { pid } of await processesOf(place)) killQuietly(pid);
    await rm(place.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

async function runIn(
  place: Place,
  { agent, name, models }: { agent: Agent; name: CaseName; models: MockModel },
): Promise<Ran> {
  const one: Case = cases[name];
  const model = models.open(one.scenario, { workdir: place.workdir, offersTools: agent.tools });
  const prepared = await agent.prepare({ name, model, place });
  const { host, plugin } = await openHost(prepared, { place, model });
  try {
    const request = { ...prepared.request, ...requestOf(one, plugin.manifest.reports) };
    const run = (more: Partial<SessionRequest>) =>
      runSession({
        host,
        adapter: plugin.id,
        timeoutMs: agent.patienceMs ?? patienceMs,
        place,
        model,
        interrupt: one.interrupt,
        request: { ...request, ...more },
      });
    const more = name === "resume" ? await firstOf(run) : {};
    const started = performance.now();
    const { envelopes, seen, result, keyHolders } = await run({ prompt, ...more });
    const took = performance.now() - started;
    const events = agentEvents(envelopes);
    const story = { stop_reason: result.stop_reason, kinds: kindsOf(agentEvents(envelopes.slice(0, seen))) };
    const file = await readFile(join(place.workdir, written.name), "utf8").catch(() => null);
    await host.close();
    return {
      result,
      story,
      events,
      faults: checkSession(envelopes),
      ...asked(model),
      file,
      keyHolders,
      keyStaysOutside: (plugin.manifest.endpoints ?? []).some(({ program, key }) =>
        key in (request.env ?? {}) && (!prepared.grant || prepared.grant.run?.some(({ binary }) => binary === program))
      ),
      left: await leftBehind(place),
      took,
    };
  } finally {
    await host.close();
  }
}

/** An agent that asks for no permission cannot be given any. */
export function requestOf({ request = {} }: Case, reports: readonly string[] = []): Partial<SessionRequest> {
  const { tool_approvals, ...others } = request;
  return reports.includes("permissions") && tool_approvals ? { ...others, tool_approvals } : others;
}

function asked({ requests, strange }: ModelRun): Pick<Ran, "requests" | "strange"> {
  return { requests, strange };
}

/** Runs the session that is continued, and gives the request for it. */
async function firstOf(run: (more: Partial<SessionRequest>) => Promise<Whole>): Promise<Partial<SessionRequest>> {
  const { envelopes } = await run({ prompt: firstPrompt });
  for (const { event } of envelopes) {
    if (event.type === "agent_info" && event.agent_session_id) return { continue_from: event.agent_session_id };
  }
  return {};
}

/** Opens a host in the folders of a case, with the plugin of an agent. */
export async function openHost(prepared: Prepared, { place, model }: { place: Place; model: ModelRun }) {
  const { folder, config = {}, secrets = {}, grant } = prepared;
  const secretsFile = join(place.root, "secrets", "secrets.json");
  for (const [name, value] of Object.entries(secrets)) await storeSecret(secretsFile, { name, value });
  const host = await createHost({
    root: place.root,
    stateDir: join(place.root, "state"),
    bundledDir: bundledFor(prepared),
    secretsFile,
    writeLog: () => {},
  });
  const asked = grant ?? requestedWith(await readManifest(folder), config);
  // Its walls let the agent reach the model that stands in for its own, and nothing else.
  const net = [new URL(model.url).host];
  try {
    const plugin = await host.registry.register(folder, {
      isolation: "process",
      grant: { ...asked, net: asked.net?.filter((one) => one.startsWith("{")).concat(net) ?? net },
      config,
    });
    return { host, plugin };
  } catch (error) {
    await host.close();
    throw error;
  }
}

function agentEvents(envelopes: readonly Envelope[]): AdapterEvent[] {
  return envelopes.flatMap(({ source, event }) => (source === "agent" ? [event as AdapterEvent] : []));
}

interface Whole {
  envelopes: Envelope[];
  /** How many of them had come when the session was interrupted, or all. */
  seen: number;
  result: SessionResult;
  keyHolders: string[] | null;
}

interface Run {
  host: Host;
  adapter: string;
  timeoutMs: number;
  place: Place;
  model: ModelRun;
  interrupt: Case["interrupt"];
  request: Partial<SessionRequest>;
}

async function runSession({ host, adapter, timeoutMs, place, model, interrupt, request }: Run): Promise<Whole> {
  const whole = { workdir: place.workdir, prompt: "", retry: "never", timeout_ms: timeoutMs, ...request } as const;
  const session = await host.runSession({ ...whole, answer_timeout_ms: 0 }, { adapter });
  const ended = new AbortController();
  const envelopes: Envelope[] = [];
  let seen = Infinity;
  let holders: string[] | null = null;
  const waiting = { place, model, envelopes, signal: ended.signal };
  const interrupted = interrupt && moments[interrupt](waiting).then(async () => {
    if (interrupt === "while_speaking" && !ended.signal.aborted) holders = await keyHolders(place, key);
    seen = interrupt === "while_running" ? afterLastCall(envelopes) : envelopes.length;
    return session.interrupt();
  });
  for await (const envelope of session.events()) envelopes.push(envelope);
  ended.abort();
  await interrupted;
  return { envelopes, seen: Math.min(seen, envelopes.length), result: await session.result(), keyHolders: holders };
}

/** Where the call of the tool ends; what the program prints while the tool runs comes or not. */
function afterLastCall(envelopes: readonly Envelope[]): number {
  return envelopes.findLastIndex(({ event }) => event.type === "tool_call" || event.type === "permission_request") + 1;
}

interface Waiting extends Pick<Run, "place" | "model"> {
  /** What has come of the session by now. */
  envelopes: readonly Envelope[];
  /** Aborts when the session has ended without it. */
  signal: AbortSignal;
}

/** When a session is interrupted. */
const moments: Record<NonNullable<Case["interrupt"]>, (waiting: Waiting) => Promise<void>> = {
  async while_speaking({ model, signal }) {
    await until(() => model.requests.length > 0, signal);
    // Long enough for words to have come out of the program.
    await sleep(2000);
  },
  async while_running({ place, envelopes, signal }) {
    await until(async () => (await processesOf(place)).some(({ command }) => command === sleeper), signal);
    // Most have told the call by then, or do in a moment; one tells it once it is over.
    const patience = performance.now() + 3000;
    await until(() => afterLastCall(envelopes) > 0 || performance.now() > patience, signal);
  },
};

async function until(condition: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await condition())) await sleep(100);
}

/** Kills a process, if it is still there. */
export function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
