import type { ConversationTurn, MessageReport, NewMessage, SaidMessage } from "../../../plugin-sdk/conversation.ts";
import { attachmentsOf, textOf } from "../../../plugin-sdk/conversation.ts";
import type { HostEvent, Memory, TurnEndedEvent } from "../../../plugin-sdk/envelope.ts";
import type { MessageEvent } from "../../../plugin-sdk/events.ts";
import type { AttachmentPart, Part } from "../../../plugin-sdk/messages.ts";
import type { TurnTerms } from "../../../plugin-sdk/request.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { titleOf } from "../../records/journal/session-record.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import type { Operations } from "../../walls/channel/operations.ts";
import { Mailbox, turnTermsIn } from "./mailbox.ts";
import { MessageReports } from "./message-reports.ts";
import type { SessionStream } from "./session-stream.ts";

/** A message of a client of this session. */
export type SessionMessage = NewMessage & { message_id: string; by: { client: string } };

/** The turns of a session that runs, as its host sees them. */
export type LiveTalk = Pick<
  SessionTurns,
  "say" | "edit" | "withdraw" | "stopTurn" | "retire" | "messages" | "all" | "pending" | "current"
>;

/** Returns what a session that runs does: it works, rests with its agent's program kept, or waits for its first message. */
export function stateOf({ current, all }: Pick<LiveTalk, "current" | "all">): "working" | "kept" | "waiting" {
  if (current !== null || all.at(-1)?.outcome === null) return "working";
  return all.length > 0 ? "kept" : "waiting";
}

/** The prompt of one turn. */
export interface TurnPrompt {
  number: number;
  text: string;
  content: AttachmentPart[];
  outputSchema: Record<string, unknown> | undefined;
  /** Instead of the request's. */
  terms: TurnTerms;
  messageIds: string[];
  by: "client" | "agent";
  startedAt: string;
}

/** Facts of a turn that is over. */
export type TurnFacts = Omit<TurnEndedEvent, "type" | "turn">;

interface TurnsOptions {
  sessionId: string;
  stream: Pick<SessionStream, "add">;
  /** How long the session waits for a message after a turn. Milliseconds. */
  keepMs: number;
  /** Most bytes of text in a message. */
  maxTextBytes: number;
  first: Pick<TurnPrompt, "number" | "text" | "content" | "outputSchema"> & { memory: Memory };
  /** The turn must stop: a client has said so. */
  onStop(): void;
}

/**
 * The turns of one session and the messages that begin them. A turn is under way from `begin` to `end`; between turns the
 * session rests until a message comes or its time to wait is over. A session of one turn without messages tells none of it.
 */
export class SessionTurns {
  readonly #options: TurnsOptions;
  readonly #mailbox: Mailbox;
  readonly #reports: MessageReports;
  readonly #past: ConversationTurn[] = [];
  #current: TurnPrompt | null = null;
  #last: number;
  #terms: TurnTerms = {};
  #isTold = false;
  #isClosed = false;
  #isRetired = false;
  #resting: Promise<boolean> | null = null;
  #written: Promise<void> = Promise.resolve();
  /** Resolves at the next change; everything that waits looks again. */
  #changed = nextChange();

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#last = options.first.number - 1;
    this.#reports = new MessageReports(options.sessionId);
    this.#mailbox = new Mailbox({ maxTextBytes: options.maxTextBytes });
  }

  /** Returns the turn under way; null between turns, and while the end of one is looked at. */
  get current(): TurnPrompt | null {
    return this.#current;
  }

  /** Whether the log has turns: the session may take, or took, more than its own prompt. */
  get isTold(): boolean {
    return this.#isTold;
  }

  /** Whether a client has stopped the turn under way. */
  get isStopping(): boolean {
    return this.#mailbox.isStopping;
  }

  /** Whether the session goes on after the turn under way: a message waits, or it waits for one. */
  get goesOn(): boolean {
    return !this.#isClosed && (this.#options.keepMs > 0 && !this.#isRetired || this.#mailbox.next !== null);
  }

  /** Whether the session rests until its next turn. */
  get isResting(): boolean {
    return this.#resting !== null;
  }

  /** Number of messages that wait. */
  get pending(): number {
    return this.#mailbox.pending.length;
  }

  get nextNumber(): number {
    return this.#last + 1;
  }

  /** Returns the turns so far, the one under way last. */
  get all(): ConversationTurn[] {
    return this.#current === null ? [...this.#past] : [...this.#past, this.#shown(this.#current)];
  }

  /** Returns the messages so far, in the order of their acceptance. */
  get messages(): MessageReport[] {
    return this.#reports.all;
  }

  /**
   * Takes a message; `closed` once the session has decided to end. `written` resolves when the message is durable.
   * @throws {BulkheadError} as {@link Mailbox.accept}
   */
  say(message: SessionMessage): { said: SaidMessage; written: Promise<void> } | "closed" {
    const { message_id, content, delivery = "queue", by, expected_turn, output_schema, traceparent } = message;
    if (this.#isRetired && !this.#reports.has(message_id)) return "closed";
    const more = omitUndefined({ output_schema, traceparent, with: turnTermsIn(message.with) });
    const taken = { message_id, content, delivery, by, ...more };
    const { state, events, ...status } = this.#mailbox.accept({ ...taken, expected_turn });
    if (state === "closed") return "closed";
    if (events.length > 0) {
      this.#write([...this.#opening(), ...events]);
      if (this.isStopping) this.#options.onStop();
    }
    const { sessionId: session_id } = this.#options;
    return { said: { message_id, session_id, state, ...omitUndefined({ turn: status.turn }) }, written: this.#written };
  }

  /** Changes a pending message. @throws {BulkheadError} as {@link Mailbox.edit} */
  edit(messageId: string, content: Part[]): MessageReport {
    this.#write(this.#mailbox.edit(messageId, content));
    return this.#reports.of(messageId);
  }

  /** Takes a pending message back. @throws {BulkheadError} as {@link Mailbox.withdraw} */
  withdraw(messageId: string): MessageReport {
    this.#write(this.#mailbox.withdraw(messageId));
    return this.#reports.of(messageId);
  }

  /** Stops the turn under way, and the session goes on with what waits. */
  stopTurn({ dropPending }: { dropPending: boolean }): void {
    // It has decided to end: nothing may follow its last event.
    if (this.#isClosed) return;
    this.#write([...this.#opening(), ...this.#mailbox.stopTurn({ dropPending })]);
    this.#options.onStop();
  }

  /** Takes no further message: the session ends once none waits and no turn is under way. */
  retire(): void {
    this.#isRetired = true;
    this.#change();
  }

  /** Begins the session's own turn; tells it if the session may take more. */
  beginFirst(): TurnPrompt {
    const { first: { number, text, content, outputSchema }, keepMs } = this.#options;
    this.#mailbox.beginTurn(number);
    this.#begin({ number, text, content, outputSchema, messageIds: [], by: "client" });
    if (keepMs > 0) this.open();
    return this.#current!;
  }

  /** Tells the beginning of the turn under way, where the log does not have it yet. */
  open(): void {
    this.#write(this.#opening());
  }

  /** Begins the turn of the next message; resolves when that is durable, to null where it was taken back meanwhile. */
  async beginNext(memory: Memory): Promise<TurnPrompt | null> {
    if (this.#mailbox.next === null) return null;
    const { message_id, content, output_schema, with: terms = {} } = this.#mailbox.next;
    const number = this.#last + 1;
    const delivered = this.#mailbox.beginTurn(number, message_id);
    this.#terms = { ...this.#terms, ...terms };
    const turn = this.#begin({
      number,
      text: textOf(content),
      content: attachmentsOf(content),
      outputSchema: output_schema,
      messageIds: [message_id],
      by: "client",
    });
    this.#isTold = true;
    this.#write([...delivered, startedEvent(turn, memory)]);
    await this.#written;
    return turn;
  }

  /** Begins a turn that the agent went on with by itself. */
  beganByAgent(messageIds: readonly string[]): TurnPrompt {
    const number = this.#last + 1;
    const delivered = this.#mailbox.turnBegan(number, messageIds);
    const ids = delivered.flatMap((event) => (event.type === "message_delivered" ? [event.message_id] : []));
    const turn = this.#begin({ number, text: "", content: [], outputSchema: undefined, messageIds: ids, by: "agent" });
    this.#isTold = true;
    this.#write([...delivered, startedEvent(turn, "agent")]);
    return turn;
  }

  /** Decides the end of the turn under way: the messages behind one that failed are dropped, later ones count. */
  close({ failed, agentGoesOn = false }: { failed: boolean; agentGoesOn?: boolean }): TurnPrompt {
    const turn = this.#current!;
    this.#current = null;
    this.#past.push(this.#shown(turn));
    // Steers that the agent has kept go into the turn that it begins.
    if (!agentGoesOn) this.#write(this.#mailbox.endTurn({ failed }));
    return turn;
  }

  /** Tells the end of a turn that is closed. */
  tell(turn: TurnPrompt, facts: TurnFacts): void {
    const { outcome, stop_reason } = facts;
    const shown = this.#past.find((one) => one.turn === turn.number)!;
    Object.assign(shown, { outcome, stop_reason, ended_at: new Date().toISOString() });
    this.#write([{ type: "turn_ended", turn: turn.number, ...facts }]);
  }

  /**
   * Rests until a message waits. False when the session ends: nothing came in time, or `end` was called. The mailbox closes
   * in the tick of that decision.
   */
  rest(): Promise<boolean> {
    return this.#resting ??= this.#rest().finally(() => (this.#resting = null));
  }

  /** Ends the session for messages: what waits is dropped, or moved to another session. */
  end(to?: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#write(this.#mailbox.close(to === undefined ? {} : { to: () => to }));
  }

  /** Returns the messages that wait, for a session that takes them over. */
  waiting(): SessionMessage[] {
    return this.#mailbox.pending.map(({ message_id, content, delivery, by, output_schema, with: terms }) => ({
      message_id,
      content,
      delivery,
      by,
      ...omitUndefined({ output_schema, with: terms }),
    }));
  }

  /** Takes the adapter's word on a steer. */
  heard(event: MessageEvent): void {
    this.#write(this.#mailbox.heard(event));
    this.#reports.returned(this.#mailbox.pending);
  }

  /** Takes back the steers that the adapter never saw: it asked for the next turn first. */
  unseen(seen: readonly string[]): void {
    this.#mailbox.unseen(seen);
    this.#reports.returned(this.#mailbox.pending);
  }

  /** Waits until a turn is under way, the session ends, or the entry is over. */
  async working(isOver: () => boolean): Promise<void> {
    while (this.#current === null && !this.#isClosed && !isOver()) await this.#changed.promise;
  }

  /** No word on a steer will come any more: the entry is over. */
  endEntry(): void {
    this.#write(this.#mailbox.endAttempt());
    this.#change();
  }

  /** Waits for a steer into a turn, or for its stop; null once it is over. A steer is durable before it is handed over. */
  async wait(
    args: Operations["turn_wait"]["args"],
    { canSteer, isOver }: { canSteer: boolean; isOver(): boolean },
  ): Promise<Operations["turn_wait"]["value"]> {
    while (this.#current?.number === args.turn && !isOver()) {
      const changed = this.#changed.promise;
      if (args.for === "stop" && this.isStopping) return { stop: true };
      const pulled = args.for === "message" && canSteer ? this.#mailbox.pullSteer() : null;
      if (pulled !== null) {
        this.#write(pulled.events);
        await this.#written;
        const { message_id, content } = pulled.message;
        return { message_id, text: textOf(content), ...omitEmpty({ content: attachmentsOf(content) }) };
      }
      await changed;
    }
    return null;
  }

  #begin(turn: Omit<TurnPrompt, "startedAt" | "terms">): TurnPrompt {
    this.#last = turn.number;
    this.#current = { ...turn, terms: this.#terms, startedAt: new Date().toISOString() };
    this.#change();
    return this.#current;
  }

  /** The beginning of the turn under way, where the log does not have it yet. */
  #opening(): HostEvent[] {
    const turn = this.#current;
    if (this.#isTold || turn === null) return [];
    this.#isTold = true;
    return [startedEvent(turn, this.#options.first.memory)];
  }

  async #rest(): Promise<boolean> {
    const { keepMs } = this.#options;
    let restsUntil = performance.now() + keepMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      for (;;) {
        if (this.#isClosed) return false;
        if (this.#current !== null) {
          // The agent has begun it by itself.
          await this.#changed.promise;
          restsUntil = performance.now() + keepMs;
          continue;
        }
        if (this.#mailbox.next !== null) return true;
        const leftMs = restsUntil - performance.now();
        if (leftMs <= 0 || this.#isRetired) {
          this.end();
          return false;
        }
        const changed = this.#changed.promise;
        clearTimeout(timer);
        timer = setTimeout(() => this.#change(), Math.min(leftMs, 2 ** 31 - 1));
        await changed;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Writes events in the tick of their cause, and wakes everything that waits. */
  #write(events: readonly HostEvent[]): void {
    if (events.length > 0) {
      for (const event of events) this.#reports.take(event);
      this.#written = this.#options.stream.add(events.map((event) => ({ source: "host", event })));
      this.#written.catch(() => {});
    }
    this.#change();
  }

  #change(): void {
    const { happens } = this.#changed;
    this.#changed = nextChange();
    happens();
  }

  #shown({ number, text, messageIds, by, startedAt }: TurnPrompt): ConversationTurn {
    return {
      turn: number,
      session_id: this.#options.sessionId,
      by,
      title: titleOf(text),
      message_ids: messageIds,
      outcome: null,
      stop_reason: null,
      started_at: startedAt,
      ended_at: null,
    };
  }
}

function nextChange(): { promise: Promise<void>; happens: () => void } {
  let happens = (): void => {};
  const promise = new Promise<void>((resolve) => (happens = resolve));
  return { promise, happens };
}

function startedEvent({ number, messageIds, by, text, terms }: TurnPrompt, memory: Memory): HostEvent {
  return {
    type: "turn_started",
    turn: number,
    after: number - 1,
    message_ids: messageIds,
    by,
    ...omitUndefined({ with: turnTermsIn(terms) }),
    memory,
    prompt_sha256: sha256Hex(text),
    checkpoint: null,
  };
}
