import { omitUndefined } from "../optional-fields.ts";
import { Errors } from "@sinclair/typebox/errors";
import type { AdapterClass, AdapterEvents, AgentAdapter } from "../adapter.ts";
import { type AvailabilityReport, availabilityReportSchema } from "../availability.ts";
import type { AgentConfig } from "../context.ts";
import { BulkheadError, type ErrorData, errorDataOf } from "../errors.ts";
import type { AdapterEvent } from "../events.ts";
import { makeAdapter } from "../make-adapter.ts";
import type { SessionRequest } from "../request.ts";
import { EventChecker } from "./event-checker.ts";
import { MemoryContext, type MemoryContextOptions, type RecordedLog } from "./memory-context.ts";
import type { RecordedCall } from "./scripts.ts";

/** Options of {@link runAdapter}. */
export interface RunAdapterOptions extends Omit<MemoryContextOptions, "signal"> {
  /** Configuration for the adapter's `initialize`, merged into the test's default. */
  config?: Partial<AgentConfig>;
  /** Interrupts the session after the first event for which it returns true. */
  interruptWhen?: (event: AdapterEvent) => boolean;
  /** Stops the turn, and not the session, after the first of its events for which it returns true. */
  stopTurnWhen?: (event: AdapterEvent, turn: number) => boolean;
  /** Milliseconds the session may take; default 10,000. */
  timeoutMs?: number;
}

/** Outcome of a session in a test. */
export interface AdapterRun {
  /** Events as a client would see them, without those that break the contract. */
  events: AdapterEvent[];
  last: AdapterEvent | null;
  /** Error that the adapter threw. */
  error: ErrorData | null;
  /** Violations of the contract, in sentences; empty for a sound adapter. */
  violations: string[];
  /** Every call of the adapter on its context, in order. */
  calls: RecordedCall[];
  log: RecordedLog[];
  /** Files at the end, by absolute path. */
  files: Record<string, string>;
  kv: Record<string, unknown>;
}

/** Outcome of a probe in a test. */
export interface AdapterProbe {
  report: AvailabilityReport;
  violations: string[];
  calls: RecordedCall[];
  log: RecordedLog[];
}

/**
 * Runs one session of an adapter in this process, in a simulated environment: it starts no program and touches no file
 * or server. It does the same as a host: construct, `initialize`, `validateModel`, `runSession`, `shutdown`.
 * @throws {BulkheadError} `adapter_incomplete` naming the members the adapter lacks
 */
export async function runAdapter(
  Adapter: AdapterClass,
  request: Partial<SessionRequest> = {},
  options: RunAdapterOptions = {},
): Promise<AdapterRun> {
  const stop = new AbortController();
  const { prompt = "Say hello.", output_schema, effort, plan } = request;
  const turn = omitUndefined({ output_schema, effort, plan });
  const ctx = new MemoryContext({ prompt, ...turn, ...options, signal: stop.signal });
  const checker = new EventChecker();
  const events: AdapterEvent[] = [];
  const timer = setTimeout(() => stop.abort(tooSlow()), options.timeoutMs ?? 10_000);
  let error: ErrorData | null = null;
  const adapter = construct(Adapter);
  try {
    await adapter.initialize(makeConfig(ctx, options.config));
    const named = request.model === undefined ? {} : { model: adapter.validateModel(request.model) };
    const asked = { workdir: ctx.workdir, prompt, ...request, ...named };
    const stream = adapter.runSession(asked, ctx);
    for await (const item of flat(untilAborted(stream, stop.signal))) {
      const event = checker.check(item, Math.max(ctx.turns.number, 1));
      if (event?.type === "permission_request") ctx.offer(event.request_id, event.options);
      if (!event) continue;
      events.push(event);
      if (options.stopTurnWhen?.(event, ctx.turns.number)) ctx.turns.stop();
      if (stop.signal.aborted || !options.interruptWhen?.(event)) continue;
      stop.abort(new BulkheadError("interrupted", "The test interrupted the session."));
      await adapter.interrupt();
    }
    checker.end();
  } catch (thrown) {
    error = toData(thrown);
  } finally {
    clearTimeout(timer);
    await adapter.shutdown();
    ctx.close();
  }
  const { violations } = checker;
  return { events, last: events.at(-1) ?? null, error, violations, ...leftIn(ctx) };
}

/**
 * Asks an adapter in this process whether its agent is available, in a simulated environment.
 * @throws {BulkheadError} `adapter_incomplete` naming the members the adapter lacks, and what the adapter throws
 */
export async function probeAdapter(
  Adapter: AdapterClass,
  options: Omit<RunAdapterOptions, "interruptWhen" | "timeoutMs"> = {},
): Promise<AdapterProbe> {
  const ctx = new MemoryContext(options);
  const adapter = construct(Adapter);
  try {
    await adapter.initialize(makeConfig(ctx, options.config));
    const report = await adapter.isAvailable(ctx);
    const violations = [...Errors(availabilityReportSchema, report)].map((fault) =>
      `The report does not fit its schema at "${fault.path}": ${fault.message}.`
    );
    return { report, violations, calls: ctx.calls, log: ctx.records };
  } finally {
    await adapter.shutdown();
    ctx.close();
  }
}

function construct(Adapter: AdapterClass): AgentAdapter {
  const { adapter, missing } = makeAdapter(Adapter);
  if (missing.length === 0) return adapter;
  throw new BulkheadError("adapter_incomplete", `Cannot run the adapter: it lacks ${missing.join(", ")}.`, {
    details: { missing },
  });
}

/** Returns what a context has recorded, and what it holds at the end. */
function leftIn({ calls, records: log, memory, values }: MemoryContext) {
  return { calls, log, files: memory.all(), kv: Object.fromEntries(values) };
}

function tooSlow(): BulkheadError {
  return new BulkheadError("timeout", "The session took longer than its test allows.");
}

function makeConfig(ctx: MemoryContext, config: Partial<AgentConfig> | undefined): AgentConfig {
  return { working_directory: ctx.workdir, access_modes: [], ...config };
}

/** Yields the events of each list one by one. */
async function* flat(stream: AdapterEvents): AsyncGenerator<AdapterEvent, void, void> {
  for await (const yielded of stream) yield* Array.isArray(yielded) ? yielded : [yielded];
}

/** Ends the stream after an abort, and gives the adapter one second for its last events. */
async function* untilAborted<T>(
  stream: AsyncGenerator<T, void, void>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isLate = false;
  let fail = (): void => {};
  const end = (): void => {
    isLate = true;
    fail();
  };
  signal.addEventListener("abort", () => timer = setTimeout(end, 1000), { once: true });
  try {
    for (;;) {
      // Not Promise.race(): it would keep each event until an abort.
      const next = await new Promise<IteratorResult<T, void>>((resolve, reject) => {
        fail = () => reject(signal.reason);
        if (isLate) fail();
        stream.next().then(resolve, reject);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    void stream.return().catch(() => {});
  }
}

function toData(thrown: unknown): ErrorData {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return errorDataOf(thrown) ?? { code: "fatal", message };
}
