import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { Signal } from "../../ground/log/prometheus-text.ts";
import type { Stream } from "../session/merged-log.ts";
import type { RegistryProblem } from "../../packages/registry/registry.ts";
import { SignalCounter } from "./signal-counter.ts";

/** Facts about the agents for the gauges. */
export interface AgentGauges {
  /** Number of enabled adapters whose agent was available when last asked; null when none was asked. */
  available: number | null;
  /** The adapter that `routing.agent` selects. */
  primary: string | null;
}

/** Counts sessions and their outcomes from the events that the host itself adds to them. */
export class Signals {
  readonly #success = counter("session_success_total", "Sessions that completed.", ["adapter"]);
  readonly #ended = counter("session_ended_total", "Sessions that ended, by how.", [
    "adapter",
    "outcome",
    "stop_reason",
  ]);
  readonly #cost = counter("session_cost_total", "Cost of sessions, where it is known.", [
    "adapter",
    "currency",
    "basis",
  ]);
  readonly #tokens = counter("session_tokens_total", "Tokens of sessions, where known.", ["adapter", "direction"]);
  readonly #attempts = counter("attempts_total", "Attempts that began.", ["adapter"]);
  readonly #failures = counter("attempt_failures_total", "Attempts that failed and were not the last.", [
    "adapter",
    "code",
  ]);
  readonly #fallbacks = counter("fallbacks_total", "Sessions that another adapter took over.", ["from", "to"]);
  readonly #waits = counter("waits_total", "Waits for a slot and before another attempt.", ["adapter", "reason"]);
  readonly #waited = counter("wait_seconds_total", "Time of these waits.", ["adapter", "reason"]);
  readonly #denied = counter("permissions_denied_total", "Uses of permissions that were denied.", [
    "adapter",
    "permission",
  ]);
  /** Sessions that have begun and not ended; for a queued one, since when. */
  readonly #running = new Map<string, { queuedAt: number | null }>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts an event of the host as it goes into the log. */
  see({ sessionId, adapter: { id } }: Stream, event: HostEvent): void {
    switch (event.type) {
      case "session_started":
        this.#running.set(sessionId, { queuedAt: null });
        return;
      case "queued":
        return this.#queued(sessionId, id);
      case "attempt_started":
        this.#leftQueue(sessionId, id);
        return this.#attempts.add([event.adapter_id]);
      case "attempt_failed":
        this.#failures.add([event.adapter_id, event.error.code]);
        if (event.retry_in_ms !== null) this.#wait(event.adapter_id, "retry", event.retry_in_ms);
        return;
      case "fallback":
        return this.#fallbacks.add([event.from, event.to]);
      case "session_ended":
        this.#leftQueue(sessionId, id);
        this.#running.delete(sessionId);
        return this.#sessionEnded(event.result);
      default:
        return;
    }
  }

  /** Returns the current value of all signals. */
  snapshot({ available, primary, problems }: AgentGauges & { problems: readonly RegistryProblem[] }): Signal[] {
    const gauge = (name: string, help: string, samples: Signal["samples"]): Signal => {
      return { name: `bulkhead_${name}`, help, type: "gauge", samples };
    };
    return [
      gauge(
        "adapters_available",
        "Enabled adapters whose agent was available when it was last asked.",
        available === null ? [] : [{ labels: {}, value: available }],
      ),
      gauge(
        "adapter_primary",
        "1 for the adapter that takes a session which names none.",
        primary === null ? [] : [{ labels: { adapter: primary }, value: 1 }],
      ),
      gauge(
        "plugin_unusable",
        "1 for each enabled plugin that cannot be used, by its error.",
        problems.filter(({ unavailable }) => unavailable)
          .map(({ id, error }) => ({ labels: { adapter: id, code: error.code }, value: 1 })),
      ),
      gauge("sessions_running", "Sessions that have begun and not ended.", [{ labels: {}, value: this.#running.size }]),
      ...[this.#success, this.#ended, this.#cost, this.#tokens, this.#attempts].map((one) => one.signal()),
      ...[this.#failures, this.#fallbacks, this.#waits, this.#waited, this.#denied].map((one) => one.signal()),
    ];
  }

  #queued(sessionId: string, adapter: string): void {
    const session = this.#running.get(sessionId);
    if (!session || session.queuedAt !== null) return;
    session.queuedAt = this.#now();
    this.#waits.add([adapter, "queue"]);
  }

  #leftQueue(sessionId: string, adapter: string): void {
    const session = this.#running.get(sessionId);
    if (!session || session.queuedAt === null) return;
    this.#waited.add([adapter, "queue"], (this.#now() - session.queuedAt) / 1000);
    session.queuedAt = null;
  }

  #wait(adapter: string, reason: string, ms: number): void {
    this.#waits.add([adapter, reason]);
    this.#waited.add([adapter, reason], ms / 1000);
  }

  #sessionEnded({ outcome, stop_reason, usage, provenance, metadata }: SessionResult): void {
    const adapter = provenance.adapter_id;
    this.#ended.add([adapter, outcome, stop_reason]);
    if (outcome === "completed") this.#success.add([adapter]);
    if (usage.cost !== null) this.#cost.add([adapter, currencyOf(usage.currency), usage.basis], usage.cost);
    if (usage.tokens_in !== null) this.#tokens.add([adapter, "in"], usage.tokens_in);
    if (usage.tokens_out !== null) this.#tokens.add([adapter, "out"], usage.tokens_out);
    for (const [permission, { denied }] of Object.entries(metadata.permissions.by)) {
      this.#denied.add([adapter, permission], denied);
    }
  }
}

function counter(name: string, help: string, labels: readonly string[]): SignalCounter {
  return new SignalCounter({ name: `bulkhead_${name}`, help, labels });
}

/** Normalises a currency: agents may report any text. */
function currencyOf(text: string | null): string {
  return text !== null && /^[A-Z]{3}$/.test(text) ? text : "other";
}
