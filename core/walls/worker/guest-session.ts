import type { AgentAdapter } from "../../../plugin-sdk/adapter.ts";
import { BulkheadError, type ErrorData } from "../../../plugin-sdk/errors.ts";
import type { PermissionOption } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { maxIdentityText, maxYieldedArray, type OpenMessage, type ProbeAnswer } from "../channel/protocol.ts";
import { creditOf } from "../channel/count-values.ts";
import { isShallow } from "../../ground/checks/depth.ts";
import { type PieceJson, pieceJson } from "../../ground/checks/packed-events.ts";
import { onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { Evaluated } from "./compartment.ts";
import { makeContext } from "./context.ts";
import { SafeAbortController } from "./endowments/abort.ts";
import { type EventLimits, fitEvent, pieceRoom } from "./fit-event.ts";
import { harden } from "./lockdown.ts";
import type { Outbox } from "./outbox.ts";
import type { ScopeCall } from "../channel/operations.ts";
import { describeThrown, errorForAdapter } from "./thrown.ts";

interface GuestSessionOptions {
  open: OpenMessage;
  outbox: Outbox;
  call: ScopeCall;
  /** Time for the adapter to end after a cancel, and again for its teardown. */
  teardownMs: number;
  /** Limits of one event. */
  eventLimits: EventLimits;
}

/** Levels of a probe's answer. */
const maxAnswerDepth = 32;

/** Outcome of a session on the guest's side. */
type GuestEnd = ({ value: unknown } | { error: ErrorData }) & { model?: string };

/**
 * One entry into an adapter: construct, `initialize` once, the call, `shutdown` under the teardown deadline. Adapter
 * code may do anything: never return, throw, lie about its types. Here it can at worst end its own session.
 */
export class GuestSession {
  readonly #options: GuestSessionOptions;
  readonly #controller = new SafeAbortController();
  readonly #permissionOptions = new Map<string, PermissionOption[]>();
  /** Reason why the session must stop pulling, even if the adapter goes on. */
  #stopError: ErrorData | null = null;
  #rejectCurrent: ((error: BulkheadError) => void) | null = null;
  #cancelled: ErrorData | null = null;
  /** The adapter's own name of the requested model. */
  #model: string | null = null;
  #adapter: AgentAdapter | null = null;
  #credit: number;
  readonly #pieceRoom: number;
  #creditWaiter: (() => void) | null = null;

  constructor(options: GuestSessionOptions) {
    this.#options = options;
    this.#credit = options.open.credit;
    this.#pieceRoom = pieceRoom(options.eventLimits);
  }

  /** Runs the entry to its end; never rejects. */
  async run(evaluate: () => Evaluated): Promise<GuestEnd> {
    let evaluated: Evaluated | null = null;
    let end: GuestEnd;
    try {
      evaluated = evaluate();
      evaluated.scope.bind(this.#options.call, (thrown) => this.#stop(describeThrown(thrown, "crash")));
      end = await this.#enter(evaluated);
    } catch (thrown) {
      end = { error: describeThrown(thrown, "fatal") };
    }
    await this.#teardown();
    if (evaluated) await this.#within(evaluated.scope.logged());
    evaluated?.scope.close();
    return this.#model === null ? end : { ...end, model: this.#model };
  }

  /** Asks the adapter to end; abandons it after the teardown time. */
  cancel(error: ErrorData): void {
    if (this.#cancelled) return;
    this.#cancelled = error;
    setTimeout(() => this.#stop(error), this.#options.teardownMs);
    // A listener that throws must neither keep the adapter from being asked nor end the worker of other sessions.
    for (const ask of [() => this.#controller.abort(errorForAdapter(error)), () => this.#adapter?.interrupt()]) {
      try {
        void Promise.resolve(ask()).catch(() => {});
      } catch {
        // The deadline stops an adapter that cannot be asked.
      }
    }
  }

  /** Adds credit for more events from the host. */
  addCredit(events: number): void {
    this.#credit += events;
    this.#creditWaiter?.();
    this.#creditWaiter = null;
  }

  async #enter({ scope, construct }: Evaluated): Promise<GuestEnd> {
    const { open, call } = this.#options;
    const adapter = construct();
    this.#adapter = adapter;
    await this.#orStopped(initialize(adapter, open));
    const ctx = makeContext({
      facts: open.facts,
      signal: this.#controller.signal,
      scope,
      call,
      permissionOptions: (id) => this.#permissionOptions.get(id) ?? [],
    });
    if (open.call === "run_session") return await this.#pull(adapter, ctx);
    const answer = await this.#orStopped(probe(adapter, ctx));
    const [text] = fitEvent(jsonOf(answer), this.#options.eventLimits);
    const value: unknown = JSON.parse(text!);
    if (isShallow(value, maxAnswerDepth)) return { value };
    throw new BulkheadError("invalid_request", `The answer is nested deeper than ${maxAnswerDepth} levels.`);
  }

  async #pull(adapter: AgentAdapter, ctx: Parameters<AgentAdapter["runSession"]>[1]): Promise<GuestEnd> {
    const generator: unknown = adapter.runSession(await this.#request(adapter), ctx);
    const iterator = iteratorOf(generator);
    try {
      await this.#orStopped(this.#drain(iterator));
      return this.#cancelled ? { error: this.#cancelled } : { value: null };
    } finally {
      const closing = iterator.return?.();
      await this.#within(Promise.resolve(closing).catch(() => {}));
    }
  }

  /** Returns the request with the adapter's own name of its model. */
  async #request(adapter: AgentAdapter): Promise<SessionRequest> {
    const request = this.#options.open.request!;
    const { model } = request;
    if (model === undefined) return request;
    const own: unknown = await this.#orStopped((async () => await adapter.validateModel(model))());
    if (typeof own !== "string" || own === "" || own.length > maxIdentityText) {
      throw new BulkheadError("fatal", `validateModel("${model}") must return the name of a model.`);
    }
    this.#model = own;
    return { ...request, model: own };
  }

  /** Pulls to the end. The hot loop: callbacks made once cost less than an `await` of each event. */
  #drain(iterator: AsyncIterator<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => iterator.next();
      let step: () => unknown = next;
      const pull = () => {
        if (this.#stopError) return;
        if (this.#credit <= 0) return void this.#moreCredit().then(pull);
        if (this.#options.outbox.isFull) return onNextTurn(pull);
        try {
          whenSettled(step(), take, reject);
        } catch (thrown) {
          reject(thrown);
        }
      };
      const take = (result: unknown) => {
        if (this.#stopError) return;
        try {
          const { done, value } = result as IteratorResult<unknown>;
          if (done) return resolve();
          give(value, 0);
        } catch (thrown) {
          reject(thrown);
        }
      };
      const give = (value: unknown, from: number) => {
        step = next;
        try {
          const rest = this.#yielded(value, from);
          if (rest !== null) return void this.#moreCredit().then(() => this.#stopError ? undefined : give(value, rest));
        } catch (refusal) {
          // Throws the error at the adapter's `yield`, and lets it go on.
          step = () => iterator.throw ? iterator.throw(refusal) : Promise.reject(refusal);
        }
        pull();
      };
      pull();
    });
  }

  /**
   * Sends yielded events; of an array, as many as the credit allows, and then returns the index of the rest, else null.
   */
  #yielded(value: unknown, from: number): number | null {
    if (!Array.isArray(value)) {
      this.#send(value);
      return null;
    }
    const length = value.length;
    if (length > maxYieldedArray) {
      throw new BulkheadError("limit_exceeded", `More than ${maxYieldedArray} events were yielded in one array.`);
    }
    for (let index = from; index < length; index++) {
      if (this.#credit <= 0) return index;
      this.#send(value[index]);
    }
    return null;
  }

  /** Serialises at once: an object that is yielded again after a change must not arrive as copies of its last state. */
  #send(event: unknown): void {
    const piece = pieceOf(event, this.#pieceRoom);
    if (piece !== null) {
      this.#credit--;
      return this.#options.outbox.piece(this.#options.open.sid, piece);
    }
    const texts = fitEvent(jsonOf(event), this.#options.eventLimits);
    this.#rememberOptions(event);
    for (const text of texts) {
      this.#credit -= creditOf(text.length);
      this.#options.outbox.event(this.#options.open.sid, text);
    }
  }

  #rememberOptions(event: unknown): void {
    const seen = event as { type?: unknown; request_id?: unknown; options?: unknown };
    if (seen?.type !== "permission_request" || !Array.isArray(seen.options)) return;
    const copy = JSON.parse(jsonOf(seen.options)) as PermissionOption[];
    this.#permissionOptions.set(String(seen.request_id), harden(copy));
  }

  #moreCredit(): Promise<void> {
    this.#options.outbox.flush();
    return new Promise((resolve) => (this.#creditWaiter = resolve));
  }

  #stop(error: ErrorData): void {
    this.#stopError ??= error;
    this.#rejectCurrent?.(errorForAdapter(error));
  }

  /** Waits until the session must stop. One wait is under way at a time. */
  #orStopped<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#stopError) return reject(errorForAdapter(this.#stopError));
      this.#rejectCurrent = reject;
      work.then(resolve, reject);
    });
  }

  async #teardown(): Promise<void> {
    const adapter = this.#adapter;
    if (!adapter) return;
    await this.#within((async () => adapter.shutdown())().catch(() => {}));
  }

  /** Not `within()` of the ground: it calls `then` of the work, and this may be an adapter's own value. */
  async #within(work: Promise<unknown>): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const deadline = new Promise<void>((resolve) => (timer = setTimeout(resolve, this.#options.teardownMs)));
    await Promise.race([work, deadline]);
    clearTimeout(timer);
  }
}

const { then } = Promise.prototype;

/** Calls one of the two back, once: a promise of the adapter may have its own, misbehaving `then`. */
function whenSettled(work: unknown, take: (value: unknown) => void, fail: (thrown: unknown) => void): void {
  void Reflect.apply(then, Promise.resolve(work), [take, fail]);
}

async function initialize(adapter: AgentAdapter, open: OpenMessage): Promise<void> {
  try {
    await adapter.initialize(harden(open.config));
  } catch (thrown) {
    const data = describeThrown(thrown, "adapter_initialization");
    throw new BulkheadError("adapter_initialization", `The adapter's initialize() threw: ${data.message}`, data);
  }
}

/** Runs all calls of a probe, in one entry; only `isAvailable()` may make it fail. */
async function probe(
  adapter: AgentAdapter,
  ctx: Parameters<AgentAdapter["runSession"]>[1],
): Promise<ProbeAnswer> {
  const isAvailable = askOnce(adapter, ctx);
  let health: unknown = null;
  let healthError: string | null = null;
  try {
    health = await adapter.healthCheck(ctx);
  } catch (thrown) {
    healthError = describeThrown(thrown, "fatal").message;
  }
  const availability: unknown = await isAvailable();
  // What the manifest says counts where one of them throws.
  const [mode, capabilities] = await Promise.all([
    (async () => await adapter.getAccessMode())().catch(() => null),
    (async () => await adapter.getCapabilities())().catch(() => null),
  ]);
  const failed = healthError === null ? {} : { health_error: healthError };
  return { availability, access_mode: mode ?? null, health, capabilities: capabilities ?? null, ...failed };
}

/** A health check often calls `isAvailable()` as well: it is called once, and both get the answer. */
function askOnce(adapter: AgentAdapter, ctx: Parameters<AgentAdapter["runSession"]>[1]): () => Promise<unknown> {
  const original: unknown = adapter.isAvailable;
  let answer: Promise<unknown> | null = null;
  const once = () => answer ??= (async () => await Reflect.apply(original as () => unknown, adapter, [ctx]))();
  // An adapter that refuses this, because it is frozen, is asked twice.
  Reflect.defineProperty(adapter, "isAvailable", { value: once, configurable: true, writable: true });
  return once;
}

function iteratorOf(generator: unknown): AsyncIterator<unknown> {
  const source = generator as {
    [Symbol.asyncIterator]?: () => AsyncIterator<unknown>;
    [Symbol.iterator]?: () => unknown;
  };
  const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
  if (iterator) return iterator as AsyncIterator<unknown>;
  throw new BulkheadError("fatal", "runSession() must return an async generator of events.");
}

/** JSON of a piece of output; null for anything else, and for what throws: {@link jsonOf} tells the adapter why. */
function pieceOf(event: unknown, most: number): PieceJson | null {
  try {
    return pieceJson(event, most);
  } catch {
    return null;
  }
}

function jsonOf(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : "it cannot be read";
    throw new BulkheadError("invalid_request", `What was yielded is not JSON: ${message.slice(0, 500)}`);
  }
  if (text === undefined) throw new BulkheadError("invalid_request", `What was yielded is not JSON: ${typeof value}.`);
  return text;
}
