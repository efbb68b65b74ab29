import { Turns } from "../../ground/platform/engine/turns.ts";
import type { AccessModeStatus } from "../../../plugin-sdk/access-modes.ts";
import type { Availability, AvailabilityReport, HealthStatus } from "../../../plugin-sdk/availability.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import { healthOf } from "../../../plugin-sdk/health-of.ts";
import { within } from "../../ground/platform/engine/within.ts";

/** Result of one probe of an adapter. */
export interface Probed {
  report: AvailabilityReport;
  health: HealthStatus;
  /** The adapter's own status of its access mode; null when it gives none. */
  access_mode: AccessModeStatus | null;
  /** The adapter's own word on its capabilities; absent when it gives none. */
  capabilities?: AgentCapabilities | undefined;
}

/** Last known state of an adapter. */
export interface Known extends Probed {
  /** Milliseconds since 1970. */
  checkedAt: number;
}

/** Options of {@link AvailabilityBoard}. */
export interface BoardOptions {
  /** Asks an adapter. Aborted after the deadline. Null: its sessions take all its workers, so it cannot be asked. */
  probe(adapterId: string, signal: AbortSignal): Promise<Probed | null>;
  /** Returns how long a new answer holds. */
  ttlMs(): number;
  /** How long it holds when the agent is not available: an operator who fixes that wants to see it soon. */
  failureTtlMs?: number;
  /** Most probes at once; each may start a worker and programs. */
  atOnce?: number;
  /** Longest wait for one probe. */
  deadlineMs?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

interface Posted {
  known: Known;
  freshUntil: number;
}

/**
 * Last known state of every adapter's agent: asked when needed, each at most once at a time and a few at once, and kept
 * for a while. There is an answer even if a probe fails or hangs.
 */
export class AvailabilityBoard {
  readonly #options: Required<Omit<BoardOptions, "atOnce">>;
  readonly #posted = new Map<string, Posted>();
  readonly #asking = new Map<string, Promise<Known>>();
  /** Adapters that failed during a probe: its answer may predate the failure. */
  readonly #doubted = new Set<string>();
  readonly #turns: Turns;

  constructor({ probe, ttlMs, failureTtlMs = 10_000, atOnce = 4, deadlineMs = 30_000, now = Date.now }: BoardOptions) {
    this.#options = { probe, ttlMs, failureTtlMs, deadlineMs, now };
    this.#turns = new Turns(atOnce);
  }

  /** Returns the known state; asks again when it is too old or with `refresh`. */
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

  /** Returns the last answer, even an old one; asks no agent. */
  known(adapterId: string): Known | undefined {
    return this.#posted.get(adapterId)?.known;
  }

  /** Marks the state of an adapter as doubtful after a session of it failed. */
  doubt(adapterId: string): void {
    const posted = this.#posted.get(adapterId);
    if (posted) posted.freshUntil = -Infinity;
    if (this.#asking.has(adapterId)) this.#doubted.add(adapterId);
  }

  /** Forgets a removed adapter and its running probe: another adapter may get the same id. */
  forget(adapterId: string): void {
    this.#posted.delete(adapterId);
    this.#asking.delete(adapterId);
    this.#doubted.delete(adapterId);
  }

  /** @param counts returns whether the adapter is still the same, so that its answer may be kept */
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

  #probe(adapterId: string): Promise<Probed> {
    return new Promise((answered, failed) => {
      void this.#turns.take("probe", () => this.#probeNow(adapterId, answered)).catch(failed);
    });
  }

  /** Probes; settles once the probe has ended, which may be long after its answer. */
  async #probeNow(adapterId: string, answered: (answer: Probed) => void): Promise<void> {
    const { probe, deadlineMs, now } = this.#options;
    const started = now();
    const told = (reason: string, availability: Availability = "unrunnable"): Probed => {
      const report: AvailabilityReport = { availability, reason };
      const last_check = new Date(now()).toISOString();
      return { report, health: healthOf(report, { latency_ms: now() - started, last_check }), access_mode: null };
    };
    const last = this.known(adapterId);
    const working = last?.report.availability === "available"
      ? last
      : told("Its sessions take all its workers.", "available");
    const controller = new AbortController();
    let answer = told(`Its probe did not end within ${deadlineMs} ms.`);
    const probing = (async () => await probe(adapterId, controller.signal))().then(
      (probed) => void (answer = probed ?? working),
      (error: unknown) => void (answer = told(`Its probe failed: ${String(error)}`)),
    );
    if (!(await within(probing, deadlineMs))) controller.abort();
    answered(answer);
    // An abandoned probe keeps its turn until it has ended: the limit is on programs, not promises.
    await probing;
  }
}
