import { TokenBucket } from "../../ground/checks/token-bucket.ts";
import type { Limits } from "../../ground/config/limits.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";

/** Gives an entry's credit back for durable events; beyond the rate it comes later, and the adapter waits for it. */
export class ReturnedCredit {
  readonly #most: number;
  readonly #add: (credit: number) => void;
  readonly #rate: TokenBucket;
  /** Durable events whose credit has not been given back yet. */
  #owed = { events: 0, credit: 0 };

  constructor(
    { event_credit, events_per_second }: Pick<Limits, "event_credit" | "events_per_second">,
    add: (credit: number) => void,
  ) {
    this.#most = event_credit;
    this.#add = add;
    this.#rate = new TokenBucket(events_per_second, performance.now());
  }

  /** Takes durable events, and the credit that they cost. */
  give(durable: number, itsCredit: number): void {
    this.#owed.events += durable;
    this.#owed.credit += itsCredit;
    // Each message wakes the worker, so credit is given back in quarters; an adapter stops only without credit.
    if (this.#owed.credit < this.#most / 4) return;
    const { events, credit } = this.#owed;
    this.#owed = { events: 0, credit: 0 };
    const waitMs = this.#rate.take(events, performance.now());
    if (waitMs === 0) this.#add(credit);
    else startBackgroundTimer(() => this.#add(credit), waitMs);
  }
}
