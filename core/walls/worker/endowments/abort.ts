type Listener = (event: { type: string; target: SafeEventTarget }) => void;

/** A small `EventTarget` of our own: the host's hands its listeners objects of the host. */
class SafeEventTarget {
  readonly #listeners = new Map<string, Map<unknown, boolean>>();

  addEventListener(type: unknown, listener: unknown, options?: unknown): void {
    if (listener === null || listener === undefined) return;
    const once = typeof options === "object" && options !== null && Boolean((options as { once?: unknown }).once);
    const ofType = this.#listeners.get(String(type)) ?? new Map<unknown, boolean>();
    this.#listeners.set(String(type), ofType);
    if (!ofType.has(listener)) ofType.set(listener, once);
  }

  removeEventListener(type: unknown, listener: unknown): void {
    this.#listeners.get(String(type))?.delete(listener);
  }

  dispatchEvent(event: { type: string }): boolean {
    const ofType = this.#listeners.get(event.type);
    const handler: unknown = Reflect.get(this, `on${event.type}`);
    const seen = { ...event, target: this };
    if (typeof handler === "function") Reflect.apply(handler, undefined, [seen]);
    for (const [listener, once] of [...(ofType ?? [])]) {
      if (once) ofType?.delete(listener);
      if (typeof listener === "function") (listener as Listener)(seen);
      else if (typeof listener === "object" && listener !== null) {
        (listener as { handleEvent?: Listener }).handleEvent?.(seen);
      }
    }
    return true;
  }
}

class SafeEvent {
  readonly type: string;
  constructor(type: unknown) {
    this.type = String(type);
  }
}

// Only the controller's maker gets this, so that no adapter can abort a signal it was handed.
const abortNow = new WeakMap<SafeAbortSignal, (reason: unknown) => void>();

class SafeAbortSignal extends SafeEventTarget {
  #aborted = false;
  #reason: unknown = undefined;
  onabort: unknown = null;

  constructor() {
    super();
    abortNow.set(this, (reason) => {
      if (this.#aborted) return;
      this.#aborted = true;
      this.#reason = reason ?? abortError("The operation was aborted.");
      this.dispatchEvent({ type: "abort" });
    });
  }

  get aborted(): boolean {
    return this.#aborted;
  }
  get reason(): unknown {
    return this.#reason;
  }
  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  static abort(reason?: unknown): SafeAbortSignal {
    const controller = new SafeAbortController();
    controller.abort(reason);
    return controller.signal;
  }

  static any(signals: Iterable<SafeAbortSignal>): SafeAbortSignal {
    const controller = new SafeAbortController();
    for (const signal of signals) {
      if (signal.aborted) controller.abort(signal.reason);
      else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
    }
    return controller.signal;
  }
}

/** Our own abort controller; used for `ctx.signal` as well. */
export class SafeAbortController {
  readonly signal: SafeAbortSignal = new SafeAbortSignal();
  abort(reason?: unknown): void {
    abortNow.get(this.signal)?.(reason);
  }
}

function abortError(message: string): Error {
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: "AbortError" });
  return error;
}

/** Cancellation and events. */
export const abortEndowments: Record<string, unknown> = {
  AbortController: SafeAbortController,
  AbortSignal: SafeAbortSignal,
  EventTarget: SafeEventTarget,
  Event: SafeEvent,
};
