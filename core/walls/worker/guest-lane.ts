import type { AgentAdapter } from "../../../plugin-sdk/adapter.ts";
import { BulkheadError, type ErrorData } from "../../../plugin-sdk/errors.ts";
import { MessageReader } from "../channel/messages.ts";
import { readTextReply } from "../channel/text-reply.ts";
import { FrameReader } from "../../ground/checks/frames.ts";
import type { HostMessage, LoadMessage, OpenMessage, ReplyMessage } from "../channel/protocol.ts";
import { type AdapterIdentity, maxIdentityText, protocolVersion } from "../channel/protocol.ts";
import { onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import { type ByteChannel, heapLimitBytes } from "../../ground/platform/engine/threads.ts";
import { type Evaluated, evaluatePlugin } from "./compartment.ts";
import { GuestSession } from "./guest-session.ts";
import { Outbox } from "./outbox.ts";
import type { ScopeCall } from "../channel/operations.ts";
import { describeThrown, errorForAdapter } from "./thrown.ts";

/** Result of a call, one of the two. */
type Answer = Pick<ReplyMessage, "value" | "error">;

interface PendingCall {
  resolve(answer: Answer): void;
  reject(error: BulkheadError): void;
}

interface LiveSession {
  session: GuestSession;
  calls: Map<number, PendingCall>;
}

/** The host may send scripts and files, so its frames are only limited to the size of a buffer. */
const maxHostBytes = 64 * 1024 * 1024;

/** One worker thread's end of the channel: many sessions of one plugin, each in its own compartment. */
export class GuestLane {
  readonly #port: ByteChannel;
  readonly #lane: number;
  readonly #frames = new FrameReader(maxHostBytes);
  readonly #messages = new MessageReader(maxHostBytes);
  readonly #sessions = new Map<number, LiveSession>();
  /** Errors given to adapter code after its session ended: no code is left to catch them. */
  readonly #late = new WeakSet<object>();
  #outbox: Outbox;
  #load: LoadMessage | null = null;
  #ready: (() => Evaluated) | null = null;
  #nextCall = 1;
  readonly #heapLimit = heapLimitBytes();

  constructor(port: ByteChannel, lane: number) {
    this.#port = port;
    this.#lane = lane;
    this.#outbox = new Outbox(port, { lane, frameBytes: 65_536 });
    port.onBytes((bytes) => {
      this.#frames.push(bytes, ({ payload }) => {
        const message = readTextReply(payload) ?? this.#messages.read(payload)?.message;
        if (message !== undefined) this.#take(message as HostMessage);
      });
    });
  }

  /** True for a rejection that only reports the end of its session. */
  isLate(thrown: unknown): boolean {
    return typeof thrown === "object" && thrown !== null && this.#late.has(thrown);
  }

  /** Reports why this thread cannot go on. */
  fail(error: ErrorData): void {
    this.#outbox.send({ type: "failed", error });
  }

  #take(message: HostMessage): void {
    switch (message.type) {
      case "load":
        return this.#loadPlugin(message);
      case "open":
        return this.#open(message);
      case "credit":
        return this.#sessions.get(message.sid)?.session.addCredit(message.events);
      case "cancel":
        return this.#sessions.get(message.sid)?.session.cancel(message.error);
      case "reply":
        return this.#settle(message);
      case "ping":
        return this.#pong(message.n);
      default:
        message satisfies never;
    }
  }

  #pong(n: number): void {
    if (heapLimitBytes() <= this.#heapLimit) return this.#outbox.send({ type: "pong", n });
    this.fail({ code: "out_of_memory", message: "The worker ran out of memory." });
  }

  /**
   * Evaluates the plugin once and makes its adapter once, so that an incomplete one fails here and not in a session.
   */
  #loadPlugin(message: LoadMessage): void {
    this.#load = message;
    const { frame_bytes, event_values } = message.limits;
    this.#outbox = new Outbox(this.#port, { lane: this.#lane, frameBytes: frame_bytes, maxValues: event_values });
    try {
      const first = this.#evaluate();
      const identity = identityOf(first.construct());
      first.scope.close();
      this.#outbox.send({ type: "loaded", protocol: protocolVersion, identity });
      this.#prepare();
    } catch (thrown) {
      this.#outbox.send({ type: "loaded", protocol: protocolVersion, error: describeThrown(thrown, "load_failed") });
    }
  }

  #evaluate(): Evaluated {
    const { plugin_id, script, limits } = this.#load!;
    return evaluatePlugin({ pluginId: plugin_id, script, maxTimers: limits.timers });
  }

  /** Prepares the next session's compartment ahead. */
  #prepare(): void {
    onNextTurn(() => {
      if (this.#ready) return;
      try {
        const evaluated = this.#evaluate();
        this.#ready = () => evaluated;
      } catch (thrown) {
        this.#ready = () => {
          throw thrown;
        };
      }
    });
  }

  #takeReady(): Evaluated {
    const ready = this.#ready ?? (() => this.#evaluate());
    this.#ready = null;
    return ready();
  }

  #open(open: OpenMessage): void {
    const { sid } = open;
    const calls = new Map<number, PendingCall>();
    const session = new GuestSession({
      open,
      outbox: this.#outbox,
      call: this.#caller(sid, calls),
      teardownMs: this.#load!.limits.teardown_timeout_ms,
      eventLimits: this.#load!.limits,
    });
    this.#sessions.set(sid, { session, calls });
    void session.run(() => this.#takeReady()).then((end) => {
      if (!this.#sessions.delete(sid)) return;
      this.#outbox.send({ type: "done", sid, ...end });
      this.#rejectAll(calls);
      this.#prepare();
    });
  }

  #caller(sid: number, calls: Map<number, PendingCall>): ScopeCall {
    // An error that is thrown here, after an `await`, names the adapter's line that asked; a rejection would not.
    const call = async (op: string, args: unknown): Promise<unknown> => {
      if (!this.#sessions.has(sid)) throw this.#over();
      const cap = this.#load!.limits.calls_in_flight;
      if (calls.size >= cap) throw new BulkheadError("limit_exceeded", `More than ${cap} calls are under way.`);
      const id = this.#nextCall++;
      const { error, value } = await new Promise<Answer>((resolve, reject) => {
        // Sent first: arguments that are not JSON, or too many values, throw here and leave nothing behind.
        this.#outbox.send({ type: "call", sid, id, op, args });
        calls.set(id, { resolve, reject });
      });
      if (error) throw errorForAdapter(error);
      return value ?? null;
    };
    return call as ScopeCall;
  }

  #settle(reply: Extract<HostMessage, { type: "reply" }>): void {
    const calls = this.#sessions.get(reply.sid)?.calls;
    const pending = calls?.get(reply.id);
    calls?.delete(reply.id);
    pending?.resolve(reply);
  }

  #rejectAll(calls: Map<number, PendingCall>): void {
    for (const pending of calls.values()) pending.reject(this.#over());
    calls.clear();
  }

  #over(): BulkheadError {
    const error = new BulkheadError("interrupted", "The session is over.");
    this.#late.add(error);
    return error;
  }
}

/** Reads who an adapter says it is; its fields may hold anything. */
function identityOf({ id, name, version }: AgentAdapter): AdapterIdentity {
  const texts = Object.entries({ id, name, version }).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts.map(([field, value]) => [field, value.slice(0, maxIdentityText)]));
}
