import type { MessageReport } from "../../../../plugin-sdk/conversation.ts";
import type { Envelope, Follows, SessionStartedEvent } from "../../../../plugin-sdk/envelope.ts";
import type { ErrorCode, ErrorData } from "../../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import { hostVersion } from "../../../ground/config/version.ts";
import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { runtimeVersion } from "../../../ground/platform/engine/platform.ts";
import type { Journal } from "../../../records/journal/journal.ts";
import { sessionPages } from "../../../records/journal/read-page.ts";
import { endInterrupted, readInterrupted } from "../../session/interrupted-session.ts";
import { Mailbox } from "../../session/mailbox.ts";
import type { LogEntry, MergedLog } from "../../session/merged-log.ts";
import { conversationOf, type LiveSession } from "../live-sessions.ts";
import type { SessionMessage } from "../../session/session-turns.ts";

/** Messages of a session that has ended with them, for the conversation's next one. */
interface Move {
  from: string;
  /** The session that the log of the former one names. */
  to: string;
  messages: SessionMessage[];
}

/** Collaborators of {@link MovedMessages}. */
export interface MovedMessagesDeps {
  journal: Pick<Journal, "findKey" | "noteKey" | "read">;
  log: MergedLog;
  /** Returns the events of a session that has ended. */
  events(sessionId: string): Promise<AsyncIterable<Envelope>>;
  /** Whether a session has begun, or did so once. */
  hasBegun(sessionId: string): Promise<boolean>;
  /** Returns the messages of a conversation, each where it was taken last. */
  messages(conversation: string): Promise<MessageReport[]>;
  /** Runs an act on a conversation once those before it are over. */
  inOrder<T>(conversation: string, act: () => Promise<T>): Promise<T>;
  writeLog(record: LogRecord): void;
  /**
   * Gives a conversation a message, which begins its next session where none runs: under the id, if one is named. Resolves
   * once that is durable.
   */
  give(conversation: string, message: SessionMessage, sessionId?: string): Promise<unknown>;
}

const notTaken: ErrorData = {
  code: "host_restarted",
  message: "The host stopped before the session began.",
  hint: "Send its messages again.",
};

/** The row of the journal's keys that names the sessions whose messages are not all taken. */
const listName = "moved messages";

/** The messages can be given later, when the host is able to write again, or by the next host. */
const isForLater: ReadonlySet<ErrorCode> = new Set(["host_closed", "journal_error", "io_error"]);

const isGone: ReadonlySet<ErrorCode> = new Set(["not_found"]);

/**
 * Messages that sessions have given to their conversation's next one. The journal names those sessions until each of the
 * messages is taken, so that a host that is killed in between leaves none of them behind.
 */
export class MovedMessages {
  readonly #deps: MovedMessagesDeps;
  /** By conversation, the oldest first. */
  readonly #moves = new Map<string, Move[]>();
  /** Sessions that the journal names, or is about to name. */
  readonly #listed: Set<string>;
  #noted: Promise<void> = Promise.resolve();

  constructor(deps: MovedMessagesDeps, listed: readonly string[] = []) {
    this.#deps = deps;
    this.#listed = new Set(listed);
  }

  /** Whether messages of a session wait for the conversation's next one. */
  waitsFor(sessionId: string): boolean {
    return this.#listed.has(sessionId);
  }

  /**
   * Takes the messages of a session in the tick that ends it for them: its next one, whose id this returns, begins with the
   * first.
   */
  move(live: LiveSession, messages: SessionMessage[]): string {
    const conversation = conversationOf(live);
    const to = randomId();
    this.#keep(conversation, { from: live.id, to, messages });
    this.#listed.add(live.id);
    void this.#note();
    this.#deps.inOrder(conversation, async () => {
      await live.result.catch(() => {});
      await this.take(conversation);
    }).catch((error: unknown) => this.#cannotGoOn(live.id, error));
    return to;
  }

  /**
   * Gives the messages to the conversation's next session. Where none can take them, one that only says so has them.
   * @throws {BulkheadError} while the host cannot write, or closes: the messages are kept
   */
  async take(conversation: string): Promise<void> {
    for (;;) {
      const move = this.#moves.get(conversation)?.shift();
      if (move === undefined) return void this.#moves.delete(conversation);
      try {
        await this.#noted.catch(() => this.#note());
        await this.#give(conversation, move);
      } catch (error) {
        // Behind those that a later session has moved: it took them before.
        this.#keep(conversation, move);
        throw error;
      }
      await this.#strike(move.from);
    }
  }

  /**
   * Gives the messages that a killed host left between two sessions to the next one; a host that does not stay only says
   * that none takes them. Failures are logged.
   */
  async carryOver(left: readonly string[], { isStaying }: { isStaying: boolean }): Promise<void> {
    for (const from of left) {
      try {
        const conversation = await this.#findLeft(from);
        if (conversation === null) continue;
        await this.#deps.inOrder(conversation, async () => {
          if (isStaying) return await this.take(conversation);
          for (const move of this.#moves.get(conversation)?.splice(0) ?? []) {
            await this.#refuse(move, notTaken);
            await this.#strike(from);
          }
        });
      } catch (error) {
        this.#cannotGoOn(from, error);
      }
    }
  }

  #cannotGoOn(session_id: string, error: unknown): void {
    const message = `Cannot go on with the messages of a session: ${toErrorData(error).message}`;
    this.#deps.writeLog({ level: "error", message, session_id });
  }

  /** Takes up what a killed host left of a session's messages; returns the conversation that has to take them, or null. */
  async #findLeft(from: string): Promise<string | null> {
    const read = await this.#read(from);
    if (read === null || read.to === null) return await this.#strike(from);
    const conversation = read.started.follows?.conversation_id ?? from;
    const known = await this.#deps.messages(conversation);
    // Another session has it, with whatever outcome.
    const isTaken = (id: string) =>
      known.some((one) => one.message_id === id && (one.session_id !== from || one.reason !== "moved"));
    const messages = read.messages.filter(({ message_id }) => !isTaken(message_id));
    if (messages.length === 0) return await this.#strike(from);
    this.#keep(conversation, { from, to: read.to, messages });
    return conversation;
  }

  async #give(conversation: string, move: Move): Promise<void> {
    let begins = await this.#deps.hasBegun(move.to) ? undefined : move.to;
    for (; move.messages.length > 0; move.messages.shift()) {
      try {
        await this.#deps.give(conversation, move.messages[0]!, begins);
      } catch (error) {
        const data = toErrorData(error);
        if (isForLater.has(data.code)) throw error;
        return await this.#refuse(move, data);
      }
      begins = undefined;
    }
  }

  /** Writes a session that takes the messages and ends at once, because it cannot run. */
  async #refuse({ from, to, messages }: Move, error: ErrorData): Promise<void> {
    const { journal, log, hasBegun } = this.#deps;
    const read = await this.#read(from);
    if (read === null) return;
    const sessionId = await hasBegun(to) ? randomId() : to;
    const { started, turn, adapter } = read;
    const { idempotency_key: _used, continue_from: _before, fork: _copy, ...requested } = started.requested;
    const { conversation_id = from } = started.follows ?? {};
    const follows: Follows = { conversation_id, session_id: from, turn, why: "message", memory: "none" };
    const entries: LogEntry[] = [
      { source: "host", event: { ...started, requested: { ...requested, prompt: "" }, follows } },
      ...messages.map((message): LogEntry => {
        const { message_id, content, delivery = "queue", by, output_schema } = message;
        const event = { type: "message_accepted", message_id, delivery, content, by } as const;
        return { source: "host", event: { ...event, ...omitUndefined({ output_schema }) } };
      }),
    ];
    await log.add({ sessionId, adapter, attempt: 1, lastSeq: 0 }, entries);
    const known = await readInterrupted(sessionPages(journal, sessionId), entries.length);
    const former = { runtime: runtimeVersion, hostVersion, end: "host_restarted" } as const;
    await endInterrupted(known, { log, former, refused: error });
  }

  /** Null for a session that was deleted: its messages are gone with it. */
  async #read(from: string): Promise<MovedOf | null> {
    try {
      return await readMoved(await this.#deps.events(from));
    } catch (error) {
      if (isGone.has(toErrorData(error).code)) return null;
      throw error;
    }
  }

  #keep(conversation: string, move: Move): void {
    this.#moves.set(conversation, [...this.#moves.get(conversation) ?? [], move]);
  }

  async #strike(from: string): Promise<null> {
    if (this.#listed.delete(from)) void this.#note();
    await this.#noted;
    return null;
  }

  /** Begins to write the list in this tick, so that it is durable before the events that come after. */
  #note(): Promise<void> {
    const record = { name: listName, digest: JSON.stringify([...this.#listed]), session_id: "" };
    this.#noted = this.#deps.journal.noteKey(record, Number.MAX_SAFE_INTEGER);
    this.#noted.catch(() => {});
    return this.#noted;
  }
}

/** Returns the sessions whose messages were not all taken when their host ended. */
export async function readListed(journal: Pick<Journal, "findKey">): Promise<string[]> {
  const row = await journal.findKey(listName);
  const ids: unknown = row === null ? [] : JSON.parse(row.digest);
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

interface MovedOf {
  started: SessionStartedEvent;
  adapter: Envelope["adapter"];
  /** Number of its last turn in the conversation. */
  turn: number;
  /** The session that it gave its messages to; null where it did not. */
  to: string | null;
  /** In the order of their turns. */
  messages: SessionMessage[];
}

/** Reads the messages that a session has moved; null where its first event is not there. */
async function readMoved(events: AsyncIterable<Envelope>): Promise<MovedOf | null> {
  // What has moved stays pending in this one.
  const mailbox = new Mailbox();
  let read: Omit<MovedOf, "messages"> | null = null;
  for await (const { event, adapter } of events) {
    if (event.type === "session_started") {
      read = {
        started: event,
        adapter,
        turn: (event.follows?.turn ?? 0) + (event.requested.prompt === "" ? 0 : 1),
        to: null,
      };
    }
    if (read !== null && event.type === "turn_started") read.turn = event.turn;
    if (event.type === "message_dropped" && event.reason === "moved") {
      // A steer that was on its way when its turn ended has moved as well, and no word tells that it came back.
      mailbox.take({ type: "message", message_id: event.message_id, state: "returned" });
      if (read !== null) read.to = event.to ?? null;
    } else mailbox.take(event);
  }
  return read && { ...read, messages: mailbox.pending.map((message) => ({ ...message })) };
}
