import type {
  Envelope,
  MessageAcceptedEvent,
  MessageChangedEvent,
  MessageDeliveredEvent,
  MessageDroppedEvent,
  MessageSentEvent,
} from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { MessageEvent } from "../../../plugin-sdk/events.ts";
import type { Delivery, Part } from "../../../plugin-sdk/messages.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { TurnTerms } from "../../../plugin-sdk/request.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";

/** A message as a client gives it. */
type Message = Omit<MessageAcceptedEvent, "type">;

/** An event that a verb of {@link Mailbox} returns. */
type MailboxEvent =
  | MessageAcceptedEvent
  | MessageChangedEvent
  | MessageSentEvent
  | MessageDeliveredEvent
  | MessageDroppedEvent;

/** Progress of a message, as its client is told. */
interface MessageStatus {
  state: "pending" | "sent" | "delivered" | "dropped";
  turn?: number;
  reason?: MessageDroppedEvent["reason"];
  /** The session that takes it. */
  to?: string;
}

/** Answer to a message. `closed`: the session takes none any more, so the conversation begins its next one with it. */
interface Accepted extends Omit<MessageStatus, "state"> {
  state: MessageStatus["state"] | "closed";
  events: MailboxEvent[];
}

interface MailboxOptions {
  /** Most messages that have no outcome yet. */
  maxOpen?: number;
  /** Most bytes of text in a message. */
  maxTextBytes?: number;
  /** Most images and files in a message. */
  maxAttachments?: number;
}

interface CloseOptions {
  /** `unsure` where events of the session are lost. */
  reason?: "session_ended" | "host_restarted" | "unsure";
  /**
   * Names the session that takes a pending message: have it accepted there first, from `pending`. After a kill, a later
   * session may have accepted it already.
   */
  to?(messageId: string): string | undefined;
}

interface OpenMessage {
  message: Message;
  /** Identifies the content that the client gave first. */
  print: string;
  /** The turn of its only hand-over as a steer; null before that. */
  sentIn: number | null;
  state: "pending" | "sent";
  /** The adapter has said so, and the host could not write it any more. */
  isTaken: boolean;
}

/** Messages of one session, and characters of their content: the host remembers them until it ends. */
const mostMessages = 10_000;
const mostCharacters = 64 * 1024 * 1024;

/** Pending messages become prompts in this order, and in that of their acceptance. */
const order: readonly Delivery[] = ["interrupt", "steer", "queue"];

/**
 * The messages of one session. Each accepted one has exactly one outcome, delivered or dropped, and no agent sees one twice:
 * one that the agent may have seen is dropped as `unsure`.
 *
 * Each verb returns the events to write. Write them in the same tick, before any others; before a message is handed over,
 * wait until its event is durable. In a session's life: `beginTurn(1)` with its first event, for each turn `pullSteer` and
 * `heard` as the adapter asks and says, `endTurn`, then `beginTurn` with `next`; or, where that is null, `close` in the tick
 * of the decision to end. For a session whose host was killed, `take` its events and `close`.
 */
export class Mailbox {
  readonly #limits: Required<MailboxOptions>;
  readonly #open = new Map<string, OpenMessage>();
  readonly #over = new Map<string, { print: string; status: MessageStatus }>();
  #turn: number | null = null;
  #isStopping = false;
  /** The adapter asked for the next turn: no word into this one reaches it. */
  #isAsked = false;
  #isClosed = false;
  /** Characters of all accepted content. */
  #characters = 0;

  constructor({ maxOpen = 64, maxTextBytes = 1024 * 1024, maxAttachments = 8 }: MailboxOptions = {}) {
    this.#limits = { maxOpen, maxTextBytes, maxAttachments };
  }

  /**
   * Accepts a message; a known one gets the answer that is true now, without events.
   * @throws {BulkheadError} `idempotency_conflict` for the id of another message, `conflict` where another turn than
   * `expected_turn` runs, or none, `limit_exceeded` and `too_large`: nothing is accepted
   */
  accept({ expected_turn, ...message }: Message & { expected_turn?: number | undefined }): Accepted {
    const { message_id, delivery, content } = message;
    const known = this.#statusOf(message_id);
    if (known !== null) {
      if (known.print === printOf(message)) return { ...known.status, events: [] };
      throw new BulkheadError(
        "idempotency_conflict",
        `Cannot accept message "${message_id}": its id is another one's.`,
        {
          hint: "Give each message an id of its own.",
        },
      );
    }
    if (expected_turn !== undefined && expected_turn !== this.#turn) {
      const runs = this.#turn === null ? "no turn runs" : `turn ${this.#turn} runs`;
      throw conflict(`Cannot accept message "${message_id}" for turn ${expected_turn}: ${runs}.`, { turn: this.#turn });
    }
    if (this.#isClosed) return { state: "closed", events: [] };
    const { maxOpen } = this.#limits;
    if (this.#open.size >= maxOpen) {
      throw new BulkheadError("limit_exceeded", `Cannot accept message "${message_id}": ${maxOpen} wait already.`);
    }
    this.#checkSize(message_id, content);
    const characters = JSON.stringify(content).length;
    if (this.#open.size + this.#over.size >= mostMessages || this.#characters + characters > mostCharacters) {
      throw new BulkheadError("limit_exceeded", `Cannot accept message "${message_id}": the session took too many.`, {
        hint: "Interrupt the session: a further message begins the conversation's next one.",
      });
    }
    this.#characters += characters;
    if (delivery === "interrupt") this.#stop();
    return { state: "pending", events: this.#write([{ type: "message_accepted", ...message }]) };
  }

  /** Changes a pending message, which keeps its place. @throws {BulkheadError} `not_found`, `conflict`, `too_large` */
  edit(messageId: string, content: Part[]): MailboxEvent[] {
    this.#pending(messageId, "change");
    this.#checkSize(messageId, content);
    return this.#write([{ type: "message_changed", message_id: messageId, content }]);
  }

  /** Takes a pending message back. @throws {BulkheadError} `not_found`, `conflict` */
  withdraw(messageId: string): MailboxEvent[] {
    return this.#drop([this.#pending(messageId, "withdraw")], { reason: "withdrawn" });
  }

  /** Stops the running turn for a client; with `dropPending` nothing follows it. */
  stopTurn({ dropPending = false }: { dropPending?: boolean } = {}): MailboxEvent[] {
    this.#stop();
    return dropPending ? this.#drop(this.#all("pending"), { reason: "withdrawn" }) : [];
  }

  /** Returns true while the running turn must stop: also one that the agent began after the client's word. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Returns the messages that wait, in the order in which they become prompts. */
  get pending(): Message[] {
    const waiting = this.#all("pending");
    return order.flatMap((delivery) => waiting.filter(({ message }) => message.delivery === delivery))
      .map(({ message }) => message);
  }

  /** Returns the next turn's prompt, one message; null where none waits. */
  get next(): Message | null {
    return this.pending[0] ?? null;
  }

  /** Begins a turn, with a pending message as its prompt or with the session's own. Write `turn_started` in one batch. */
  beginTurn(turn: number, messageId?: string): MailboxEvent[] {
    const prompt = messageId === undefined ? [] : [this.#pending(messageId, "deliver").message.message_id];
    this.#turn = turn;
    this.#isStopping = this.#isAsked = false;
    return this.#write(prompt.map((message_id) => ({ type: "message_delivered", message_id, turn, how: "new_turn" })));
  }

  /**
   * Hands a steer over to the adapter; null where none waits for the running turn. Each is handed over once, so a late word
   * on it counts for nothing: a returned one is a prompt, and later steers wait behind it.
   */
  pullSteer(): { message: Message; events: MailboxEvent[] } | null {
    const turn = this.#turn;
    if (turn === null || this.#isStopping || this.#isAsked) return null;
    const { message, sentIn } = this.#all("pending").find(({ message }) => message.delivery === "steer") ?? {};
    if (message === undefined || sentIn !== null) return null;
    return { message, events: this.#write([{ type: "message_sent", message_id: message.message_id, turn }]) };
  }

  /**
   * Takes the adapter's word on a steer, or the host's in its place, which is in the log as well: `returned` for one that was
   * not handed over after all. Nothing follows for one that is not sent: no plugin is trusted.
   */
  heard({ message_id, state }: Pick<MessageEvent, "message_id" | "state">): MailboxEvent[] {
    this.take({ type: "message", message_id, state });
    return this.#settleTaken();
  }

  /**
   * The agent has begun a turn by itself, with steers that it had kept. Others that it has stay sent. The turn before ends
   * without `endTurn`.
   */
  turnBegan(turn: number, messageIds: readonly string[]): MailboxEvent[] {
    this.#turn = turn;
    const sent = this.#all("sent").map(({ message }) => message.message_id).filter((id) => messageIds.includes(id));
    return this.#write(sent.map((message_id) => ({ type: "message_delivered", message_id, turn, how: "new_turn" })));
  }

  /** The adapter asked for the next turn before it saw other steers than these, which were on their way to it. */
  unseen(seen: readonly string[]): void {
    this.#isAsked = true;
    for (const one of this.#all("sent")) {
      if (!one.isTaken && !seen.includes(one.message.message_id)) one.state = "pending";
    }
  }

  /** The adapter's entry is over, and the turn may be tried again: no word on a sent steer will come. */
  endAttempt(): MailboxEvent[] {
    this.#isAsked = false;
    return this.#drop(this.#all("sent"), { reason: "unsure" });
  }

  /** Ends the turn. One that failed, not by a stop, drops what waits behind it. */
  endTurn({ failed = false }: { failed?: boolean } = {}): MailboxEvent[] {
    const unsure = this.endAttempt();
    const behind = failed && !this.#isStopping ? this.#all("pending") : [];
    this.#turn = null;
    this.#isStopping = false;
    return [...unsure, ...this.#drop(behind, { reason: "turn_failed" })];
  }

  /** Closes the mailbox for good: what is pending goes to other sessions, or has the reason as its outcome. */
  close({ reason = "session_ended", to = () => undefined }: CloseOptions = {}): MailboxEvent[] {
    this.#isClosed = true;
    const events = [...this.#settleTaken(), ...this.endTurn()];
    for (const one of this.#all("pending")) {
      const other = to(one.message.message_id);
      events.push(...this.#drop([one], other === undefined ? { reason } : { reason: "moved", to: other }));
    }
    return events;
  }

  /** Takes an event of a journal. The verbs take theirs themselves. */
  take(event: Envelope["event"]): void {
    if (event.type === "turn_started") this.#turn = event.turn;
    if (event.type === "message_accepted") {
      const { type: _, ...message } = event;
      const fresh = { print: printOf(message), sentIn: null, state: "pending" as const, isTaken: false };
      this.#open.set(event.message_id, { message, ...fresh });
    }
    const one = "message_id" in event ? this.#open.get(event.message_id) : undefined;
    if (one === undefined) return;
    switch (event.type) {
      case "message_changed":
        one.message = { ...one.message, content: event.content };
        return;
      case "message_sent":
        Object.assign(one, { state: "sent", sentIn: event.turn });
        return;
      case "message":
        if (one.state !== "sent" || one.isTaken) return;
        if (event.state === "taken") one.isTaken = true;
        else one.state = "pending";
        return;
      case "message_delivered":
        return this.#end(one, { state: "delivered", turn: event.turn });
      case "message_dropped":
        return this.#end(one, { state: "dropped", ...omitUndefined({ reason: event.reason, to: event.to }) });
    }
  }

  #end({ message: { message_id }, print }: OpenMessage, status: MessageStatus): void {
    this.#open.delete(message_id);
    this.#over.set(message_id, { print, status });
  }

  #write(events: MailboxEvent[]): MailboxEvent[] {
    for (const event of events) this.take(event);
    return events;
  }

  #drop(messages: readonly OpenMessage[], why: Pick<MessageDroppedEvent, "reason" | "to">): MailboxEvent[] {
    return this.#write(
      messages.map(({ message: { message_id } }) => ({ type: "message_dropped", message_id, ...why })),
    );
  }

  #settleTaken(): MailboxEvent[] {
    const taken = this.#all("sent").filter(({ isTaken }) => isTaken);
    return this.#write(taken.map(({ message: { message_id }, sentIn }) => {
      return { type: "message_delivered", message_id, turn: this.#turn ?? sentIn!, how: "injected" };
    }));
  }

  #stop(): void {
    this.#isStopping = this.#turn !== null;
  }

  /** Returns the open messages in that state, in the order of their acceptance. */
  #all(state: OpenMessage["state"]): OpenMessage[] {
    return [...this.#open.values()].filter((one) => one.state === state);
  }

  #statusOf(messageId: string): { print: string; status: MessageStatus } | null {
    const one = this.#open.get(messageId);
    if (one === undefined) return this.#over.get(messageId) ?? null;
    const turn = one.state === "sent" ? one.sentIn ?? undefined : undefined;
    return { print: one.print, status: { state: one.state, ...omitUndefined({ turn }) } };
  }

  #pending(messageId: string, act: string): OpenMessage {
    const one = this.#open.get(messageId);
    if (one?.state === "pending") return one;
    const status = this.#statusOf(messageId)?.status;
    const message = `Cannot ${act} message "${messageId}": `;
    if (status === undefined) throw new BulkheadError("not_found", `${message}the session has none of that id.`);
    throw conflict(`${message}it is ${status.state}.`, { ...status });
  }

  #checkSize(messageId: string, content: readonly Part[]): void {
    const { maxTextBytes, maxAttachments } = this.#limits;
    const texts = content.flatMap((part) => part.type === "text" ? [part.text] : []);
    const bytes = new TextEncoder().encode(texts.join("")).length;
    const attachments = content.length - texts.length;
    if (bytes <= maxTextBytes && attachments <= maxAttachments) return;
    const [found, most] = bytes > maxTextBytes
      ? [`${bytes} bytes of text`, maxTextBytes]
      : [`${attachments} attachments`, maxAttachments];
    throw new BulkheadError("too_large", `Cannot accept message "${messageId}": it has ${found}, the most is ${most}.`);
  }
}

function conflict(message: string, details: Record<string, unknown>): BulkheadError {
  return new BulkheadError("conflict", message, { details });
}

/** Equal for the same message, also where a client writes its keys in another order. */
function printOf(
  { delivery, content, output_schema }: Pick<Message, "delivery" | "content" | "output_schema">,
): string {
  const parts = JSON.stringify([delivery, content], ["type", "text", "sha256", "name", "mime_type"]);
  return sha256Hex(parts + JSON.stringify(output_schema ?? null));
}

/** The terms of a turn among others; undefined: none. */
export function turnTermsIn({ effort, plan }: TurnTerms = {}): TurnTerms | undefined {
  return effort === undefined && plan === undefined ? undefined : omitUndefined({ effort, plan });
}
