import type { AdapterContext } from "./context.ts";
import type { PermissionOption } from "./events.ts";

/** Outcome of a request for permission; null: no answer, which is a denial; `closed`: its turn is over. */
type Permission = PermissionOption | "withdrawn" | "closed" | null;

interface OpenRequest {
  promise: Promise<Permission>;
  resolve(outcome: Permission): void;
}

/** Brings the host's answers to the agent's requests for permission, which are asked for once their events are on the way. */
export class PermissionAnswers {
  readonly #ctx: Pick<AdapterContext, "permission">;
  readonly #open = new Map<string, OpenRequest>();
  #closed = false;
  #rejected = false;

  constructor(ctx: Pick<AdapterContext, "permission">) {
    this.#ctx = ctx;
  }

  /** Whether something was not permitted. */
  get rejected(): boolean {
    return this.#rejected;
  }

  /** Begins a request. Its id is free again once it has its outcome. */
  begin(requestId: string): void {
    if (this.#closed) return;
    let settle: (outcome: Permission) => void = () => {};
    const promise = new Promise<Permission>((resolve) => settle = resolve);
    const resolve = (outcome: Permission): void => {
      if (this.#open.get(requestId) === request) this.#open.delete(requestId);
      settle(outcome);
    };
    const request = { promise, resolve };
    this.#open.set(requestId, request);
  }

  /** The request's event has reached the host. */
  ask(requestId: string): void {
    const request = this.#open.get(requestId);
    if (request === undefined) return;
    this.#ctx.permission(requestId).catch(() => null).then((choice) => {
      if (choice?.kind !== "allow_once" && choice?.kind !== "allow_always") this.#rejected = true;
      request.resolve(choice);
    });
  }

  /** The outcome of an open request, once there is one; of any other, that it has no answer. */
  wait(requestId: string): Promise<Permission> {
    const none = this.#closed ? "closed" : null;
    this.#rejected ||= !this.#open.has(requestId);
    return this.#open.get(requestId)?.promise ?? Promise.resolve(none);
  }

  /** The agent does not wait for the request any more; false for one that is not open. */
  withdraw(requestId: string): boolean {
    const request = this.#open.get(requestId);
    request?.resolve("withdrawn");
    return request !== undefined;
  }

  /** Ends all open requests, and returns their ids: no answer will come any more. */
  close(): string[] {
    this.#closed = true;
    const open = [...this.#open];
    for (const [, { resolve }] of open) resolve("closed");
    return open.map(([id]) => id);
  }
}
