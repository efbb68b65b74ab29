import type { TurnClaims } from "../../records/checkpoints/checkpoint-store.ts";

/** Most paths and most calls of one turn that are remembered. */
const mostSigns = 10_000;

/** Signs of what an agent changed in a turn: paths that its events name, and the times of its tool calls. */
export class TurnSigns {
  #named = new Set<string>();
  #calls: { from: number; to: number }[] = [];
  #hasRun = false;
  readonly #open = new Map<string, { from: number; to: number }>();

  /** Whether a program of the session has begun: it may live on over turns. */
  get hasRun(): boolean {
    return this.#hasRun;
  }

  ran(): void {
    this.#hasRun = true;
  }

  name(path: string): void {
    if (this.#named.size < mostSigns) this.#named.add(path);
  }

  begin(callId: string): void {
    if (this.#calls.length >= mostSigns) return;
    const call = { from: Date.now(), to: Infinity };
    this.#calls.push(call);
    this.#open.set(callId, call);
  }

  end(callId: string): void {
    const call = this.#open.get(callId);
    this.#open.delete(callId);
    if (call !== undefined) call.to = Date.now();
  }

  /** Returns the signs of the turn that is over, and begins with the next one. */
  take(): TurnClaims {
    for (const id of [...this.#open.keys()]) this.end(id);
    const claims = { named: [...this.#named], calls: this.#calls };
    this.#named = new Set();
    this.#calls = [];
    return claims;
  }
}
