import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { PermissionRequestEvent, QuestionEvent } from "../../../plugin-sdk/events.ts";

/** What an agent waits for somebody to answer. */
export type AskedRequest = PermissionRequestEvent | QuestionEvent;

// What policy answers is resolved by the next event; only what is still open then is asked.
const policyHeadStartMs = 100;

/** Picks from a session's events the requests that a person must answer, and says when one needs no answer any more. */
export class AskedRequests {
  readonly #ask: (request: AskedRequest, signal: AbortSignal) => void;
  readonly #open = new Map<string, AbortController>();

  /** @param ask is called for each one; its signal aborts when the request was answered by others or the session ended */
  constructor(ask: (request: AskedRequest, signal: AbortSignal) => void) {
    this.#ask = ask;
  }

  /** Takes notice of an event. Returns at once. */
  see(event: Envelope["event"]): void {
    if (event.type === "permission_request" || event.type === "question") this.#later(event);
    else if (event.type === "permission_resolved") this.#take(event.request_id);
    else if (event.type === "session_ended") this.close();
  }

  /** Takes back all that is open. */
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
