import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { shownRequests } from "../../../plugin-sdk/shown-requests.ts";
import type { PermissionResolvedEvent } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { EventRules } from "./event-rules.ts";
import type { SessionStream } from "./session-stream.ts";

/** How a request ends. */
type Ending = Pick<PermissionResolvedEvent, "choice" | "by">;

/** Question and possible answers. */
export type Asked = Pick<WaitingRequest, "type" | "text" | "choices" | "cut">;

/** One request as it is put to clients. */
interface Question {
  asked: Asked;
  /** Ids of the possible answers; null for a question, whose answer is free. */
  offered: readonly string[] | null;
  /** The answer that says no; null where none does. */
  refusal?: string | null;
  /** How long it waits; 0: no client answers. */
  ms: number;
  /** When the whole session ends, if no answer comes: its own deadline may be sooner. */
  endsInMs?: number;
  /** The wait that the request asked for, where a limit has cut it. */
  cutFromMs?: number | undefined;
  /** Called once the deadline has closed it. */
  onExpired?(): void;
}

interface OpenRequest extends Pick<Question, "asked" | "offered" | "refusal"> {
  settle(choice: string | null): void;
  times: Pick<WaitingRequest, "asked_at" | "answer_by" | "answer_cut_from_ms">;
  deadline?: ReturnType<typeof setTimeout>;
}

/** Collaborators of {@link OpenRequests}. */
interface OpenRequestsDeps {
  rules: Pick<EventRules, "resolve" | "hasEnded" | "takeEnded">;
  stream: Pick<SessionStream, "host">;
}

/**
 * The permission requests and questions of one session that wait for an answer. Each ends once, in the first of these
 * ways: policy or a client answers, its deadline passes, the agent ends it, or the attempt is over.
 */
export class OpenRequests {
  readonly #deps: OpenRequestsDeps;
  readonly #open = new Map<string, OpenRequest>();
  readonly #answers = new Map<string, Promise<string | null>>();

  #waitsSince = 0;
  #waited = 0;

  constructor(deps: OpenRequestsDeps) {
    this.#deps = deps;
  }

  /** Adds a request that is in the log, under the name that it has there. */
  add(requestId: string, { asked, offered, refusal = null, ms, endsInMs, cutFromMs, onExpired }: Question): void {
    let settle!: (choice: string | null) => void;
    this.#answers.set(requestId, new Promise<string | null>((resolve) => (settle = resolve)));
    const request: OpenRequest = { asked, offered, refusal, settle, times: { asked_at: new Date().toISOString() } };
    if (this.#open.size === 0) this.#waitsSince = performance.now();
    this.#open.set(requestId, request);
    const expire = () => {
      if (this.close(requestId, { choice: null, by: "deadline" })) onExpired?.();
    };
    if (ms === 0) return this.#deps.rules.hasEnded(requestId) ? undefined : expire();
    request.deadline = setTimeout(expire, Math.min(ms, 2 ** 31 - 1));
    request.times.answer_by = new Date(Date.now() + Math.min(ms, endsInMs ?? Infinity)).toISOString();
    if (cutFromMs !== undefined) request.times.answer_cut_from_ms = cutFromMs;
  }

  /** Adds a request that policy has answered. */
  addAnswered(requestId: string, choice: string): void {
    this.#answers.set(requestId, Promise.resolve(choice));
    if (this.#deps.rules.resolve(requestId)) this.#tell(requestId, { choice, by: "policy" });
  }

  /** Returns true while a request waits for an answer. */
  get waits(): boolean {
    return this.#open.size > 0;
  }

  /** Returns the milliseconds in which at least one request waited. */
  get waitedMs(): number {
    return this.#waited + (this.waits ? performance.now() - this.#waitsSince : 0);
  }

  /** Returns the open requests as a summary shows them, oldest first. */
  get waiting(): WaitingRequest[] {
    return shownRequests([...this.#open].map(([request_id, { asked, times }]) => ({ request_id, ...asked, ...times })));
  }

  /**
   * Takes a client's answer; false when the request is not open or does not offer it. Null stands for an answer that a
   * door does not understand, which is a denial.
   */
  answer(requestId: string, choice: string | null): boolean {
    const request = this.#open.get(requestId);
    if (request === undefined || (choice !== null && request.offered?.includes(choice) === false)) return false;
    return this.close(requestId, { choice: choice ?? request.refusal ?? null, by: "client" });
  }

  /** Closes the requests that the agent itself has ended: it waits for no answer to them. */
  closeEnded(): void {
    for (const requestId of this.#deps.rules.takeEnded()) this.close(requestId, { choice: null, by: "agent" });
  }

  /** Closes a request and says so in the log; false when it is not open. */
  close(requestId: string, { choice, by }: Ending): boolean {
    if (!this.#open.has(requestId) || !this.#deps.rules.resolve(requestId)) return false;
    this.#tell(requestId, { choice, by });
    this.#settle(requestId, choice);
    return true;
  }

  /** Resolves to the answer; null for an unknown request. */
  wait(requestId: string): Promise<string | null> {
    return this.#answers.get(requestId) ?? Promise.resolve(null);
  }

  /** Ends all waits with null; the rules say in the log how the requests ended. */
  closeAll(): void {
    for (const requestId of [...this.#open.keys()]) this.#settle(requestId, null);
  }

  #tell(requestId: string, ending: Ending): void {
    this.#deps.stream.host({ type: "permission_resolved", request_id: requestId, ...ending });
  }

  #settle(requestId: string, choice: string | null): void {
    const request = this.#open.get(requestId);
    clearTimeout(request?.deadline);
    if (this.#open.delete(requestId) && !this.waits) this.#waited += performance.now() - this.#waitsSince;
    request?.settle(choice);
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
