import type { PermissionRequestEvent } from "../../plugin-sdk/events.ts";
import type { Approval } from "../../plugin-sdk/request.ts";

interface OpenRequest {
  /** Ids of the answers there are; null for a question, whose answer is free. */
  offered: readonly string[] | null;
  answer: Promise<string | null>;
  settle(choice: string | null): void;
}

/** The permission requests and questions of one session that wait for somebody. First answer wins. */
export class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #answered = new Map<string, Promise<string | null>>();

  /** A request was asked and is in the log. `offered` are the ids to choose from; absent: any text. */
  add(requestId: string, offered: readonly string[] | null = null): void {
    let settle!: (choice: string | null) => void;
    const answer = new Promise<string | null>((resolve) => (settle = resolve));
    this.#open.set(requestId, { offered, answer, settle });
  }

  /** True for an open request that can be answered so. */
  takes(requestId: string, choice: string): boolean {
    const request = this.#open.get(requestId);
    return request !== undefined && (request.offered === null || request.offered.includes(choice));
  }

  /** Answers a request; false when it is not open. */
  settle(requestId: string, choice: string | null): boolean {
    const request = this.#open.get(requestId);
    if (!request) return false;
    this.#open.delete(requestId);
    this.#answered.set(requestId, request.answer);
    request.settle(choice);
    return true;
  }

  /** The answer, once there is one; null for a request nobody asked. */
  wait(requestId: string): Promise<string | null> {
    return this.#open.get(requestId)?.answer ?? this.#answered.get(requestId) ?? Promise.resolve(null);
  }

  /** Nobody will answer any more. */
  close(): void {
    for (const requestId of [...this.#open.keys()]) this.settle(requestId, null);
  }
}

/** What the approval policy of a request answers by itself; null leaves it to a person. */
export function policyAnswer(event: PermissionRequestEvent, approval: Approval | undefined): string | null {
  if (approval !== "all" && approval !== "deny") return null;
  const kind = approval === "all" ? "allow_once" : "reject_once";
  const fallback = approval === "all" ? "allow_always" : "reject_always";
  const option = event.options.find((one) => one.kind === kind) ?? event.options.find((one) => one.kind === fallback);
  return option?.id ?? null;
}
