import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { PermissionRequestEvent, QuestionEvent } from "../../../plugin-sdk/events.ts";

/** A request that an agent makes and a client answers. */
export type AskedRequest = PermissionRequestEvent | QuestionEvent;

// The next event resolves a request that policy answers; only a request still open after this time is asked.
const policyHeadStartMs = 100;

/**
 * Picks the requests that a person must answer from a session's events, and reports when one no longer needs an answer.
 */
export class AskedRequests {
  readonly #ask: (request: AskedRequest, signal: AbortSignal) => void;
  readonly #open = new Map<string, AbortController>();

  /** @param ask is called for each request; its signal aborts once another client answered it or the session ended */
  constructor(ask: (request: AskedRequest, signal: AbortSignal) => void) {
    this.#ask = ask;
  }

  /** Handles an event. Returns at once. */
  see(event: Envelope["event"]): void {
    if (event.type === "permission_request" || event.type === "question") this.#later(event);
    else if (event.type === "permission_resolved") this.#take(event.request_id);
    else if (event.type === "session_ended") this.close();
  }

  /** Withdraws all open requests. */
  close(): void {
    for (const requestId of [...this.#open.keys()]) this.#take(requestId);
  }

  #later(request: AskedRequest): void {
    const controller = new AbortController();
    const { signal } = controller;
    this.#open.set(request.request_id, controller);
    const timer = setTimeout(() => this.#ask(request, signal), policyHeadStartMs);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  #take(requestId: string): void {
    this.#open.get(requestId)?.abort();
    this.#open.delete(requestId);
  }
}
