import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { Isolation } from "../../packages/manifest/plugin.ts";
import { mkdir, rm, writeFile } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { runtimeName } from "../../ground/platform/engine/platform.ts";
import { makeTemporaryFolder } from "../../ground/platform/files/temporary-folder.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import {
  type AttackCase,
  type AttackPlace,
  type AttackReport,
  type AttackStage,
  breach,
  type Expectation,
} from "./attack-case.ts";
import { beginning, pluginIdOf, writePackage } from "./attack-package.ts";

/** Small limits, so that a bad end comes soon. */
const attackLimits: Partial<Limits> = {
  heap_mb: 64,
  rss_mb: 512,
  heartbeat_interval_ms: 100,
  heartbeat_timeout_ms: 2000,
  timeout_ms: 5000,
  idle_timeout_ms: 4000,
  answer_timeout_ms: 2000,
  cpu_burst_ms: 3000,
  load_timeout_ms: 4000,
  teardown_timeout_ms: 500,
  agent_grace_ms: 500,
  warden_grace_ms: 500,
  events: 200_000,
  quarantine_crashes: 1000,
  workers: 1,
};

interface Seen {
  outcome: Exclude<Expectation, { kind: "any" }>;
  text: string;
  /** Without the first of the attack itself. */
  events: Envelope[];
  /** The adapter's own code has run. */
  begun: boolean;
  result: SessionResult | null;
}

/** Runs one attack on a host and says whether the walls held. Leaves nothing behind. */
export async function runAttack(
  host: Host,
  attack: AttackCase,
  { isolation = "process" }: { isolation?: Isolation } = {},
): Promise<AttackReport> {
  const { id, name } = attack;
  const skipped = whySkipped(attack, isolation);
  if (skipped !== null) return { id, name, passed: true, outcome: `skipped: ${skipped}`, duration_ms: 0 };
  const root = await makeTemporaryFolder("attack");
  const started = performance.now();
  let stage: AttackStage = {};
  try {
    const place = await makePlace(root);
    stage = await attack.stage?.(place) ?? {};
    await writePackage(place.package, stage.permissions ? { ...attack, permissions: stage.permissions } : attack);
    const seen = await attempt(host, attack, { place, stage, isolation });
    const duration_ms = Math.round(performance.now() - started);
    let untried: string | null = null;
    const gain = await gainOf(seen, stage).catch((error: unknown) => ((untried = toErrorData(error).message), null));
    const problem = gain ?? untried ?? problemWith(attack, { seen, duration_ms });
    const report = { id, name, passed: problem === null, outcome: textOf(seen.outcome), duration_ms };
    return problem === null ? report : { ...report, problem, ...(gain === null ? {} : { through: true as const }) };
  } finally {
    await stage.close?.();
    await host.registry.remove(pluginIdOf(attack));
    await rm(root, { recursive: true, force: true });
  }
}

/** Why an attack is not run on this runtime in this isolation; null when it is. */
function whySkipped(attack: AttackCase, isolation: Isolation): string | null {
  const { notOn, notInThread, expected } = attack;
  if (notOn?.runtime === runtimeName) return notOn.reason;
  if (isolation === "process") return null;
  if (typeof notInThread === "string") return notInThread;
  if (notInThread?.runtime === runtimeName) return notInThread.reason;
  if (runtimeName === "deno" && mayKill(expected)) {
    return "Deno says that a thread was terminated while it runs on; only its process can be ended.";
  }
  return mayExhaust(expected)
    ? "Where a heap runs out it is chance whether the engine ends the thread or the whole process."
    : null;
}

function mayExhaust(expected: Expectation): boolean {
  if (expected.kind === "any") return expected.of.some(mayExhaust);
  return "codes" in expected && expected.codes.includes("out_of_memory");
}

function mayKill(expected: Expectation): boolean {
  return expected.kind === "any" ? expected.of.some(mayKill) : expected.kind === "killed";
}

async function makePlace(root: string): Promise<AttackPlace> {
  const place = { package: join(root, "package"), workdir: join(root, "workdir"), outside: join(root, "outside") };
  for (const folder of Object.values(place)) await mkdir(folder);
  await writeFile(join(place.outside, "secret.txt"), `${breach}: the content of a file outside`);
  return place;
}

async function attempt(
  host: Host,
  attack: AttackCase,
  { place, stage, isolation }: { place: AttackPlace; stage: AttackStage; isolation: Isolation },
): Promise<Seen> {
  const events: Envelope[] = [];
  let begun = false;
  try {
    const plugin = await host.registry.register(place.package, {
      isolation,
      trusted: isolation === "thread",
      grant: stage.grant ?? stage.permissions ?? attack.grant ?? attack.permissions ?? {},
      limits: { ...attackLimits, ...attack.limits },
    });
    const params = stage.params ? { params: { stage: JSON.stringify(stage.params) } } : {};
    const start = (request: AttackCase["request"]) =>
      host.runSession(
        { workdir: place.workdir, prompt: "go", retry: "never", ...params, ...request },
        { adapter: plugin.id, artifacts: "none" },
      );
    if (attack.before) await (await start(attack.before)).result();
    const session = await start(attack.request);
    for (const message of attack.messages ?? []) await host.sessions.conversations.say(session.id, message);
    for await (const envelope of session.events()) {
      if (envelope.event.type === "thinking" && envelope.event.content === beginning.content) {
        begun = true;
        continue;
      }
      events.push(envelope);
      // A turn that follows may begin with an attempt of its own.
      if (envelope.event.type !== "attempt_started" || envelope.event.attempt > 1) continue;
      const { interruptAfterMs, stopTurnAfterMs } = attack;
      if (interruptAfterMs !== undefined) setTimeout(() => void session.interrupt(), interruptAfterMs);
      if (stopTurnAfterMs !== undefined) {
        // Where its turn is over already, there is nothing to stop.
        setTimeout(() => void host.sessions.conversations.stop(session.id).catch(() => {}), stopTurnAfterMs);
      }
    }
    const result = await session.result();
    return { outcome: outcomeOf(result, events), text: JSON.stringify(events), events, begun, result };
  } catch (thrown) {
    const error = toErrorData(thrown);
    const outcome = { kind: "refused" as const, codes: [error.code] };
    return { outcome, text: JSON.stringify([error, events]), events, begun, result: null };
  }
}

const refusals = new Set(["bundle_failed", "load_failed", "adapter_incomplete", "adapter_initialization", "too_large"]);

function outcomeOf(result: SessionResult, events: readonly Envelope[]): Seen["outcome"] {
  const { error } = result;
  if (!error) return { kind: "harmless" };
  const killed = events.some(({ event }) => event.type === "worker");
  const started = events.some(({ event }) => event.type === "attempt_started");
  if (!started || (refusals.has(error.code) && !killed)) return { kind: "refused", codes: [error.code] };
  return { kind: killed ? "killed" : "error", codes: [error.code] };
}

/** Returns the attack's forbidden gain; null when it got nothing. */
async function gainOf(seen: Seen, stage: AttackStage): Promise<string | null> {
  if (seen.text.includes(breach)) return `It got through: ${seen.text.slice(seen.text.indexOf(breach)).slice(0, 300)}`;
  return await stage.reached?.() ?? null;
}

/** How the outcome differs from the right one; null when it does not. */
function problemWith(attack: AttackCase, { seen, duration_ms }: { seen: Seen; duration_ms: number }): string | null {
  if (!fits(seen.outcome, attack.expected)) {
    const why = "codes" in seen.outcome ? ` ${seen.result?.error?.message ?? seen.text.slice(0, 300)}` : "";
    return `Expected ${textOf(attack.expected)}, found ${textOf(seen.outcome)}.${why}`;
  }
  for (const code of "codes" in seen.outcome ? seen.outcome.codes : []) {
    if (!Object.hasOwn(errorTable, code)) return `The error "${code}" is not in the table.`;
  }
  if (seen.outcome.kind === "error" && attack.body !== undefined && !attack.members && !attack.files && !seen.begun) {
    return `It failed before the attack began: ${seen.result?.error?.message}`;
  }
  const said = attack.check?.({ events: seen.events, result: seen.result }) ?? null;
  if (said !== null) return said;
  return duration_ms > attack.withinMs ? `It took ${duration_ms} ms, and may take ${attack.withinMs}.` : null;
}

function fits(found: Seen["outcome"], expected: Expectation): boolean {
  if (expected.kind === "any") return expected.of.some((one) => fits(found, one));
  if (found.kind !== expected.kind) return false;
  if (!("codes" in expected) || !("codes" in found)) return true;
  return found.codes.every((code) => expected.codes.includes(code));
}

function textOf(expectation: Expectation): string {
  if (expectation.kind === "any") return expectation.of.map(textOf).join(" or ");
  return "codes" in expectation ? `${expectation.kind} ${expectation.codes.join("|")}` : expectation.kind;
}
