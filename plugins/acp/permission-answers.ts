import type { AdapterContext, PermissionOption } from "bulkhead/plugin-sdk";

/** Answer to a request for permission; null: none. */
type Choice = PermissionOption | null;

/** Brings the host's answers to the agent's requests for permission, which are asked for once their events are on the way. */
export class PermissionAnswers {
  readonly #ctx: Pick<AdapterContext, "permission">;
  readonly #answers = new Map<string, { promise: Promise<Choice>; resolve(choice: Choice): void }>();
  #closed = false;
  #rejected = false;

  constructor(ctx: Pick<AdapterContext, "permission">) {
    this.#ctx = ctx;
  }

  /** Whether something was not permitted. */
  get rejected(): boolean {
    return this.#rejected;
  }

  /** The request's event has reached the host. */
  ask(requestId: string): void {
    const { resolve } = this.#entry(requestId);
    this.#ctx.permission(requestId).then((choice) => {
      if (choice?.kind !== "allow_once" && choice?.kind !== "allow_always") this.#rejected = true;
      resolve(choice);
    }, () => resolve(null));
  }

  /** The answer, once there is one. */
  wait(requestId: string): Promise<Choice> {
    return this.#entry(requestId).promise;
  }

  /** Answers null without asking the user: the request was not understood. */
  refuse(requestId: string): void {
    this.#entry(requestId).resolve(null);
  }

  /** Answers null to all open requests: no answer will come any more. */
  close(): void {
    this.#closed = true;
    for (const { resolve } of this.#answers.values()) resolve(null);
  }

  #entry(requestId: string): { promise: Promise<Choice>; resolve(choice: Choice): void } {
    const known = this.#answers.get(requestId);
    if (known) return known;
    let resolve: (choice: Choice) => void = () => {};
    const promise = new Promise<Choice>((settle) => resolve = settle);
    const entry = { promise, resolve };
    this.#answers.set(requestId, entry);
    if (this.#closed) resolve(null);
    return entry;
  }
}
