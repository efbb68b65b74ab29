import type { HostEvent } from "../../../../plugin-sdk/envelope.ts";
import type { WaitingRequest } from "../../../../plugin-sdk/session-summary.ts";
import type { NoticeKind, NotifySettings } from "../../../ground/config/notify-settings.ts";
import { toErrorData } from "../../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";
import { within } from "../../../ground/platform/engine/within.ts";
import type { SessionRecord } from "../../../records/journal/session-record.ts";
import type { Stream } from "../../session/merged-log.ts";
import { oneLine } from "../event-sentence.ts";
import { type Notice, type NoticeItem, noticeOf } from "./notice.ts";

interface NoticesDeps {
  /** Settings now: a reload changes them. Undefined: no person is called. */
  settings(): NotifySettings | undefined;
  /** Open requests of this host's sessions, by session. */
  waiting(): Record<string, WaitingRequest[]>;
  /** Sessions whose held changes are neither applied nor dropped. */
  held(): Promise<readonly { session_id: string }[]>;
  session(sessionId: string): Promise<Pick<SessionRecord, "adapter_id" | "title"> | null>;
  /** @throws what kept the notice from a person */
  send(notice: Notice, settings: NotifySettings, signal: AbortSignal): Promise<void>;
  writeLog(record: LogRecord): void;
  /** Time between two looks. Milliseconds. */
  everyMs?: number;
}

/** Something that a person is to hear of once it has waited long enough. */
interface Due extends Pick<NoticeItem, "kind" | "session_id" | "at" | "answer_by" | "request_id"> {
  text: string;
}

/** Items of one notice; the others are counted. */
const inOne = 50;
/** Items that are remembered while no person can be called. */
const mostDue = 1000;
/** The first rest after a call that failed; it doubles with each. Milliseconds. */
const restMs = 30_000;
const longestRestMs = 600_000;
/** How long a host that closes sends what is left. Milliseconds. */
const flushMs = 2000;

/**
 * Calls a person who does not look: by a program or a post, when something waited for longer than the operator set. One
 * call at a time; what comes meanwhile is in the next one. Looks only while something may come due.
 */
export class Notices {
  readonly #deps: Required<NoticesDeps>;
  readonly #closing = new AbortController();
  /** Requests that were told, by session and request. */
  #told = new Set<string>();
  #due: Due[] = [];
  #left = 0;
  readonly #running = new Set<string>();
  #cancel: (() => void) | null = null;
  #sending: Promise<void> | null = null;
  /** Calls in a row that failed. */
  #failed = 0;
  #restsUntil = 0;

  constructor(deps: NoticesDeps) {
    this.#deps = { everyMs: 1000, ...deps };
  }

  /** Sees an event of the host. Returns at once. */
  see({ sessionId }: Pick<Stream, "sessionId">, event: HostEvent): void {
    if (event.type === "session_started") this.#running.add(sessionId);
    else if (event.type === "session_ended") {
      this.#running.delete(sessionId);
      const { result: { outcome, stop_reason } } = event;
      this.#add({ kind: "ended", session_id: sessionId, text: `${outcome} (${stop_reason})` });
    } else return;
    this.#plan();
  }

  /** Notes that changes of a session are held until a person applies or drops them. Returns at once. */
  seeHeld(sessionId: string, count: number): void {
    const text = count === 1 ? "1 change can run programs" : `${count} changes can run programs`;
    this.#add({ kind: "held", session_id: sessionId, text });
    this.#plan();
  }

  /** Sends what is due and stops; gives up a call that takes long. */
  async close(): Promise<void> {
    this.#cancel?.();
    await within(this.#sending ?? Promise.resolve(), flushMs);
    this.#closing.abort();
    await this.#sending;
  }

  #add(item: Omit<Due, "at" | "answer_by" | "request_id">): void {
    if (this.#deps.settings()?.on.includes(item.kind) !== true) return;
    if (this.#due.length >= mostDue) return void this.#left++;
    this.#due.push({ ...item, at: new Date().toISOString(), answer_by: null, request_id: null });
  }

  #plan(): void {
    if (this.#closing.signal.aborted) return;
    this.#cancel ??= startBackgroundTimer(() => {
      this.#cancel = null;
      this.#sending ??= this.#look().finally(() => {
        this.#sending = null;
        if (this.#running.size > 0 || this.#due.length > 0) this.#plan();
      });
    }, this.#deps.everyMs);
  }

  async #look(): Promise<void> {
    const settings = this.#deps.settings();
    if (settings === undefined) {
      this.#due = [];
      return;
    }
    if (Date.now() < this.#restsUntil) return;
    const before = Date.now() - settings.after_ms;
    const requests = settings.on.includes("request") ? this.#requests(before) : [];
    const ripe = this.#due.filter(({ at }) => Date.parse(at) <= before);
    const others = await this.#stillHeld(ripe);
    const all = [...requests, ...others];
    this.#due = this.#due.filter((item) => !ripe.includes(item));
    if (all.length === 0) return;
    const items = await Promise.all(all.slice(0, inOne).map((item) => this.#described(item)));
    const notice = noticeOf(items, { more: all.length - items.length + this.#left });
    try {
      await this.#deps.send(notice, settings, this.#closing.signal);
      for (const item of requests) this.#told.add(keyOf(item));
      this.#left = 0;
      this.#failed = 0;
    } catch (error) {
      this.#due = [...others, ...this.#due].slice(0, mostDue);
      this.#restsUntil = Date.now() + Math.min(restMs * 2 ** this.#failed, longestRestMs);
      // Once for as long as it lasts: agents ask often.
      if (this.#failed++ === 0) this.#tell(toErrorData(error));
    }
  }

  #tell({ message, hint }: { message: string; hint?: string | undefined }): void {
    this.#deps.writeLog({ level: "warn", message: `No person could be called: ${message}${hint ? ` ${hint}` : ""}` });
  }

  /** Requests that have waited since a time and were not told. */
  #requests(before: number): Due[] {
    const open = new Set<string>();
    const ripe: Due[] = [];
    for (const [session_id, requests] of Object.entries(this.#deps.waiting())) {
      for (const { request_id, type, text, asked_at = new Date().toISOString(), answer_by = null } of requests) {
        const id = keyOf({ session_id, request_id });
        open.add(id);
        if (this.#told.has(id) || Date.parse(asked_at) > before) continue;
        const words = `${type === "question" ? "asks" : "asks to use"}: ${oneLine(text)}`;
        ripe.push({ kind: "request", session_id, request_id, at: asked_at, answer_by, text: words });
      }
    }
    // Else it would grow with each request.
    this.#told = new Set([...this.#told].filter((id) => open.has(id)));
    return ripe;
  }

  /** Leaves out held changes about which a person has decided. */
  async #stillHeld(items: readonly Due[]): Promise<readonly Due[]> {
    if (!items.some(({ kind }) => kind === "held")) return items;
    const held = new Set((await this.#deps.held()).map(({ session_id }) => session_id));
    return items.filter(({ kind, session_id }) => kind !== "held" || held.has(session_id));
  }

  async #described({ text, ...item }: Due): Promise<NoticeItem> {
    const record = await this.#deps.session(item.session_id).catch(() => null);
    return {
      ...item,
      adapter_id: record?.adapter_id ?? "",
      title: record === null ? "" : oneLine(record.title),
      text,
      command: `bulkhead session ${commands[item.kind]} ${item.session_id}`,
    };
  }
}

function keyOf({ session_id, request_id }: Pick<NoticeItem, "session_id" | "request_id">): string {
  return `${session_id} ${request_id}`;
}

const commands: Readonly<Record<NoticeKind, string>> = { request: "answer", held: "held", ended: "show" };
