import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { TelemetrySettings } from "../../ground/config/telemetry-settings.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { waitInBackground } from "../../ground/platform/engine/wait.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import { within } from "../../ground/platform/engine/within.ts";
import type { Journal } from "../journal/journal.ts";
import { type ExportPosition, readPosition, removePosition, writePosition } from "./export-position.ts";
import { histogramsOf } from "./histograms.ts";
import { metricsBody, tracesBody } from "./otlp-json.ts";
import { type Posted, postOtlp } from "./post-otlp.ts";
import { emptyBatch, type SpanBatch, SpanBatches } from "./span-batches.ts";

interface TelemetryExportDeps {
  journal: Pick<Journal, "read" | "session">;
  /** Number of the newest event. */
  newest(): number;
  /** File of the position. */
  file: string;
  /** Names this part of the host; stays the same over restarts. */
  instance: string;
  /** Settings now: a reload changes them. Undefined: nothing is sent. */
  settings(): TelemetrySettings | undefined;
  /**
   * Returns headers with their secrets filled in.
   * @throws {BulkheadError} for a secret that cannot be read
   */
  headers(settings: TelemetrySettings): Promise<Record<string, string>>;
  writeLog(record: LogRecord): void;
  /** Time between two looks for events. Milliseconds. */
  everyMs?: number;
  /** The first wait after a failure; it doubles with each. Milliseconds. */
  backoffMs?: number;
}

/** Events read in one turn. The journal parses whole rows, so small pages of a large row would parse it many times. */
const inOneTurn = 2048;
/** Rest after each turn, in turns: the export takes a twentieth of the thread at most. Far behind, half of it. */
const rests = { usual: 19, behind: 1 };
/** Characters of spans in one request. */
const bodySize = 1024 * 1024;
const longestBackoffMs = 60_000;
/** How long a host that closes sends what is left. Milliseconds. */
const flushMs = 3000;

/**
 * Sends the sessions of a journal to a collector: reads events behind the sessions, makes spans and metrics of them, and
 * remembers how far the collector took them. A collector that is away costs a bounded backlog in the journal.
 */
export class TelemetryExport {
  readonly #deps: Required<TelemetryExportDeps>;
  readonly #batches: SpanBatches;
  /** Aborts when the host closes: nothing waits any more. */
  readonly #closing = new AbortController();
  /** Aborts when closing takes too long. */
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #position: ExportPosition | null = null;
  #readTo = 0;
  /** Number of the event after which an export begins that has no position. */
  #beginning: number;
  #isOff = false;
  #isAway = false;
  #toldRejected = false;

  constructor(deps: TelemetryExportDeps) {
    this.#deps = { everyMs: 1000, backoffMs: 1000, ...deps };
    this.#batches = new SpanBatches(deps.journal);
    this.#beginning = deps.newest();
    this.#running = this.#run();
  }

  /** Sends what is left, for at most three seconds. Never throws. */
  async close(): Promise<void> {
    this.#closing.abort();
    await within(this.#running, flushMs);
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let toldFault = "";
    for (let isLast = false; !isLast;) {
      await waitInBackground(this.#deps.everyMs, this.#closing.signal);
      isLast = this.#closing.signal.aborted;
      try {
        await this.#round();
      } catch (error) {
        const { message } = toErrorData(error);
        if (message !== toldFault) this.#tell("error", `Cannot read events for telemetry: ${message}`);
        toldFault = message;
      }
    }
    if (this.#position !== null) await writePosition(this.#deps.file, this.#position);
  }

  async #round(): Promise<void> {
    const { file, newest, settings } = this.#deps;
    const now = settings();
    if (now === undefined) {
      this.#beginning = newest();
      if (this.#isOff) return;
      this.#isOff = true;
      this.#batches.clear();
      this.#position = null;
      // What happens while it is turned off is not sent later.
      return await removePosition(file);
    }
    this.#isOff = false;
    const position = this.#position ??= await this.#begin();
    while (newest() > position.exported && !this.#stopped.signal.aborted) {
      this.#skip(position, now);
      const batch = await this.#next(position, now);
      if (batch.events === 0 && this.#readTo <= position.exported) return;
      const hasData = batch.spans.length + batch.measurements.length > 0;
      if (hasData && !(await this.#send(batch, position))) return;
      if (!this.#isAway && position.dropped > 0) this.#tellDropped(position);
      position.exported = Math.max(position.exported, this.#readTo);
      position.from = Math.max(this.#batches.from(position.exported), position.exported - now.backlog_events);
      if (hasData) await writePosition(file, position);
    }
  }

  async #begin(): Promise<ExportPosition> {
    const kept = await readPosition(this.#deps.file);
    const beginning = { exported: this.#beginning, from: this.#beginning, dropped: 0 };
    // Another journal may have taken the place of the one that it was of.
    const position = kept === null || kept.exported > this.#deps.newest() ? beginning : kept;
    this.#readTo = Math.min(position.from, position.exported);
    return position;
  }

  /** Drops the oldest events of a backlog that is too long. */
  #skip(position: ExportPosition, { backlog_events }: TelemetrySettings): void {
    const least = this.#deps.newest() - backlog_events;
    if (least <= position.exported) return;
    position.dropped += least - position.exported;
    position.exported = least;
    this.#readTo = least;
    this.#batches.clear();
  }

  /** Reads events until there is enough for one request, or there are no more. */
  async #next(position: ExportPosition, terms: TelemetrySettings): Promise<SpanBatch> {
    const { journal, newest } = this.#deps;
    const batch = emptyBatch();
    while (batch.size < bodySize && !this.#stopped.signal.aborted) {
      const started = performance.now();
      const page = await journal.read({ after: this.#readTo, limit: inOneTurn, skipDamaged: true });
      if (page.length === 0) return batch;
      const oldest = Date.now() - terms.backlog_ms;
      for (const envelope of page) {
        const isOld = Date.parse(envelope.ts) < oldest;
        const isNew = envelope.gseq > position.exported;
        if (isOld && isNew) position.dropped++;
        await this.#batches.add(envelope, terms, isNew && !isOld ? batch : null);
        this.#readTo = envelope.gseq;
        if (batch.size >= bodySize) break;
      }
      const ms = performance.now() - started;
      const isBehind = newest() - this.#readTo > terms.backlog_events / 2;
      await this.#rest(ms * (isBehind ? rests.behind : rests.usual));
    }
    return batch;
  }

  async #rest(ms: number): Promise<void> {
    if (this.#closing.signal.aborted) await nextTurn();
    else await waitInBackground(ms, this.#closing.signal);
  }

  /** Sends a batch, or drops it when it has waited for too long; false when the host closes first. */
  async #send(batch: SpanBatch, position: ExportPosition): Promise<boolean> {
    const { instance, settings } = this.#deps;
    const now = settings();
    if (now === undefined) return true;
    const source = { instance, convention: now.convention };
    const bodies = bodiesOf(batch.spans).map((spans) => ({ path: "/v1/traces", body: tracesBody(spans, source) }));
    if (batch.measurements.length > 0) {
      const body = metricsBody(histogramsOf(batch.measurements), source, batch);
      bodies.push({ path: "/v1/metrics", body });
    }
    for (const one of bodies) {
      const sent = await this.#deliver(one, batch, position);
      if (sent === "closing") return false;
      if (sent === "taken") continue;
      position.dropped += batch.events;
      break;
    }
    return true;
  }

  async #deliver(
    { path, body }: { path: string; body: string },
    batch: SpanBatch,
    position: ExportPosition,
  ): Promise<"taken" | "dropped" | "closing"> {
    for (let backoff = this.#deps.backoffMs;; backoff = Math.min(2 * backoff, longestBackoffMs)) {
      const settings = this.#deps.settings();
      if (settings === undefined) return "taken";
      const posted = await this.#post(body, path, settings);
      if (posted.state === "taken") {
        this.#noteTaken(posted.rejected);
        return "taken";
      }
      if (posted.state === "refused") {
        this.#tellRefused(`${path} answered with status ${posted.status}`);
        // A collector of traces alone is no fault.
        return path === "/v1/metrics" ? "taken" : "dropped";
      }
      this.#noteAway(posted.reason);
      if (this.#closing.signal.aborted) return "closing";
      // Hosts that lost the same collector do not come back all at once.
      await waitInBackground(posted.again_ms ?? backoff * (0.5 + Math.random() / 2), this.#closing.signal);
      const isTooOld = batch.from_ms < Date.now() - settings.backlog_ms;
      if (isTooOld || this.#deps.newest() - position.exported > settings.backlog_events) return "dropped";
    }
  }

  async #post(body: string, path: string, settings: TelemetrySettings): Promise<Posted> {
    try {
      const headers = await this.#deps.headers(settings);
      const url = settings.endpoint.replace(/\/+$/, "") + path;
      const posted = await postOtlp(body, { url, headers, signal: this.#stopped.signal });
      const lacksMetrics = posted.state === "failed" && posted.reason === "status 404" && path === "/v1/metrics";
      return lacksMetrics ? { state: "refused", status: 404 } : posted;
    } catch (error) {
      return { state: "failed", reason: toErrorData(error).message, again_ms: null };
    }
  }

  #noteAway(reason: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#tell("warn", `Cannot send telemetry: ${reason}. The host tries again; events wait in the journal.`);
  }

  #noteTaken(rejected: number): void {
    if (this.#isAway) this.#tell("info", "Telemetry is sent again.");
    this.#isAway = false;
    if (rejected > 0) this.#tellRefused(`it rejected ${rejected} of one request`);
  }

  #tellRefused(how: string): void {
    if (this.#toldRejected) return;
    this.#toldRejected = true;
    this.#tell("warn", `The collector does not take all telemetry: ${how}. This is told once.`);
  }

  #tellDropped(position: ExportPosition): void {
    this.#tell("warn", `Dropped telemetry of ${position.dropped} events: the collector did not take them in time.`);
    position.dropped = 0;
  }

  #tell(level: LogRecord["level"], message: string): void {
    this.#deps.writeLog({ level, message });
  }
}

/** Divides spans into requests. */
function bodiesOf(spans: readonly string[]): string[][] {
  const bodies: string[][] = [];
  let size = Infinity;
  for (const span of spans) {
    if (size + span.length > bodySize) {
      bodies.push([]);
      size = 0;
    }
    bodies.at(-1)!.push(span);
    size += span.length;
  }
  return bodies;
}
