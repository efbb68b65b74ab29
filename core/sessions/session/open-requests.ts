import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { shownRequests } from "../../../plugin-sdk/shown-requests.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";

interface OpenRequest {
  /** Ids of the possible answers; null for a question, whose answer is free. */
  offered: readonly string[] | null;
  answer: Promise<string | null>;
  settle(choice: string | null): void;
  /** The part that a person sees. */
  asked: Asked;
  times: Pick<WaitingRequest, "asked_at" | "answer_by">;
  deadline?: ReturnType<typeof setTimeout>;
}

/** Question and possible answers. */
export type Asked = Pick<WaitingRequest, "type" | "text" | "choices" | "cut">;

const nothing: Asked = { type: "question", text: "", choices: [] };

/** The permission requests and questions of one attempt that wait for an answer. The first answer wins. */
export class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #answered = new Map<string, Promise<string | null>>();

  /** Adds a request that is in the log. `offered` are the ids to choose from; null: any text. */
  add(requestId: string, offered: readonly string[] | null = null, asked: Asked = nothing): void {
    let settle!: (choice: string | null) => void;
    const answer = new Promise<string | null>((resolve) => (settle = resolve));
    const times = { asked_at: new Date().toISOString() };
    this.#open.set(requestId, { offered, answer, settle, asked, times });
  }

  /** Calls back when an open request has waited for this long. */
  expire(requestId: string, { ms, onExpired }: { ms: number; onExpired(): void }): void {
    const request = this.#open.get(requestId);
    if (request === undefined) return;
    request.deadline = setTimeout(onExpired, Math.min(ms, 2 ** 31 - 1));
    request.times.answer_by = new Date(Date.now() + ms).toISOString();
  }

  /** Returns true while a request waits for an answer. */
  get waits(): boolean {
    return this.#open.size > 0;
  }

  /** Returns the open requests as a summary shows them, oldest first. */
  get waiting(): WaitingRequest[] {
    return shownRequests([...this.#open].map(([request_id, { asked, times }]) => ({ request_id, ...asked, ...times })));
  }

  /** Returns true for an open request that accepts this answer. */
  takes(requestId: string, choice: string): boolean {
    const request = this.#open.get(requestId);
    return request !== undefined && (request.offered === null || request.offered.includes(choice));
  }

  /** Answers a request; false when it is not open. */
  settle(requestId: string, choice: string | null): boolean {
    const request = this.#open.get(requestId);
    if (!request) return false;
    clearTimeout(request.deadline);
    this.#open.delete(requestId);
    this.#answered.set(requestId, request.answer);
    request.settle(choice);
    return true;
  }

  /** Resolves to the answer; null for an unknown request. */
  wait(requestId: string): Promise<string | null> {
    return this.#open.get(requestId)?.answer ?? this.#answered.get(requestId) ?? Promise.resolve(null);
  }

  /** Ends all waits with null. */
  close(): void {
    for (const requestId of [...this.#open.keys()]) this.settle(requestId, null);
  }
}

/** Makes the error of a session whose question got no answer. */
export function unanswered(what: string, ms: number): ErrorData {
  const why = ms === 0 ? "no client was there to answer it" : `no answer came within ${ms} ms`;
  return {
    code: "unanswered",
    message: `The session is blocked by ${what}: ${why}.`,
    hint:
      "Answer it while the session runs, or say beforehand how it is answered: approval, allowed_tools, tool_approvals.",
  };
}
