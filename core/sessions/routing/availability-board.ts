import type { AccessModeStatus } from "../../../plugin-sdk/access-modes.ts";
import type { AvailabilityReport, HealthStatus } from "../../../plugin-sdk/availability.ts";
import { healthOf } from "../../../plugin-sdk/health-of.ts";
import { within } from "../../ground/runtime/within.ts";

/** What one probe of an adapter found. */
export interface Probed {
  report: AvailabilityReport;
  health: HealthStatus;
  /** The adapter's own word on its access mode; null where it gives none. */
  access_mode: AccessModeStatus | null;
}

/** What the board knows of an adapter. */
export interface Known extends Probed {
  /** Milliseconds since 1970. */
  checkedAt: number;
}

/** What a board is made from. */
export interface BoardOptions {
  /** Asks an adapter. Aborted when its time is over. */
  probe(adapterId: string, signal: AbortSignal): Promise<Probed>;
  /** How long an answer holds that is given now. */
  ttlMs(): number;
  /** How long it holds when the agent is not available: whoever mends that wants to see it. */
  failureTtlMs?: number;
  /** Probes at once; each may start a worker and programs. */
  atOnce?: number;
  /** Longest that one probe is waited for. */
  deadlineMs?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

interface Posted {
  known: Known;
  freshUntil: number;
}

/**
 * What is known of every adapter's agent: asked when needed, each at most once at a time and a few at once, and kept
 * for a while. Whatever a probe does, there is an answer.
 */
export class AvailabilityBoard {
  readonly #options: Required<BoardOptions>;
  readonly #posted = new Map<string, Posted>();
  readonly #asking = new Map<string, Promise<Known>>();
  /** Adapters that failed while they were being asked: the answer may be from before. */
  readonly #doubted = new Set<string>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor({ probe, ttlMs, failureTtlMs = 10_000, atOnce = 4, deadlineMs = 30_000, now = Date.now }: BoardOptions) {
    this.#options = { probe, ttlMs, failureTtlMs, atOnce, deadlineMs, now };
  }

  /** What is known now, asked anew where it is too old or with `refresh`. */
  ask(adapterId: string, { refresh = false }: { refresh?: boolean } = {}): Promise<Known> {
    const posted = this.#posted.get(adapterId);
    if (!refresh && posted !== undefined && this.#options.now() < posted.freshUntil) {
      return Promise.resolve(posted.known);
    }
    const known = this.#asking.get(adapterId);
    if (known !== undefined) return known;
    const asking = this.#ask(adapterId, () => this.#asking.get(adapterId) === asking);
    this.#asking.set(adapterId, asking);
    return asking;
  }

  /** What was found last, however old; asks nobody. */
  known(adapterId: string): Known | undefined {
    return this.#posted.get(adapterId)?.known;
  }

  /** A session of this adapter failed: what is known of it may not hold any more. */
  doubt(adapterId: string): void {
    const posted = this.#posted.get(adapterId);
    if (posted) posted.freshUntil = -Infinity;
    if (this.#asking.has(adapterId)) this.#doubted.add(adapterId);
  }

  /** Forgets an adapter that is no longer there, also what it is being asked: another one may have its id. */
  forget(adapterId: string): void {
    this.#posted.delete(adapterId);
    this.#asking.delete(adapterId);
    this.#doubted.delete(adapterId);
  }

  /** @param counts whether the answer, once it is there, is of an adapter that has not been forgotten */
  async #ask(adapterId: string, counts: () => boolean): Promise<Known> {
    const { now, failureTtlMs } = this.#options;
    const ttlMs = this.#options.ttlMs();
    const probed = await this.#probe(adapterId);
    const checkedAt = now();
    const known = { ...probed, checkedAt };
    if (!counts()) return known;
    const lifetime = this.#doubted.delete(adapterId)
      ? 0
      : probed.report.availability === "available"
      ? ttlMs
      : Math.min(failureTtlMs, ttlMs);
    this.#posted.set(adapterId, { known, freshUntil: checkedAt + lifetime });
    this.#asking.delete(adapterId);
    return known;
  }

  async #probe(adapterId: string): Promise<Probed> {
    const { probe, deadlineMs, now } = this.#options;
    await this.#turn();
    const started = now();
    const failed = (reason: string): Probed => {
      const report: AvailabilityReport = { availability: "unrunnable", reason };
      const last_check = new Date(now()).toISOString();
      return { report, health: healthOf(report, { latency_ms: now() - started, last_check }), access_mode: null };
    };
    const controller = new AbortController();
    let answer = failed(`Its probe did not end within ${deadlineMs} ms.`);
    const probing = (async () => await probe(adapterId, controller.signal))().then(
      (probed) => void (answer = probed),
      (error: unknown) => void (answer = failed(`Its probe failed: ${String(error)}`)),
    );
    // One that was left behind keeps its turn until it has ended: a few at once means programs, not promises.
    void probing.finally(() => this.#endTurn());
    if (!(await within(probing, deadlineMs))) controller.abort();
    return answer;
  }

  async #turn(): Promise<void> {
    if (this.#running >= this.#options.atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
  }

  /** The turn goes to whoever waits longest. */
  #endTurn(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running--;
  }
}
