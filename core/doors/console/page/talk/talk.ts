import { type Signal, signal } from "@preact/signals";
import type { ConversationReport, RewindReport } from "../../../../../plugin-sdk/conversation.ts";
import { type HostApi, lineGroups, RefusedCall } from "../api.ts";
import type { LiveEvents } from "../live.ts";
import { readEvent, type ShownEvent } from "../shown-event.ts";
import { readPart, type SessionPart, type ShownMessage, type ShownTurn, talkTypes } from "./talk-turns.ts";

// Events after which the host's report of a conversation differs, beside those of its turns and messages.
const telling: ReadonlySet<string> = new Set([...talkTypes, "attempt_started"]);
/** Events that come close together are read about once. */
const soonMs = 80;
/** The same list each time: a timeline that is given another one is laid out again. */
const none: readonly SessionPart[] = [];
/** From a read that failed to the next. */
const retryMs = 2000;

/** A turn, and the dialog that is open about it. */
interface TurnWish {
  turn: ShownTurn;
  kind: "rewind" | "fork";
}

/** A conversation as this page follows it: the host's report, and its turns and messages with the places of their events. */
export class Talk {
  /** Null until it is read. */
  readonly report: Signal<ConversationReport | null> = signal(null);
  /** Its sessions with their turns. Empty for a session of one turn, whose events tell all, unless its files are kept. */
  readonly parts: Signal<readonly SessionPart[]> = signal(none);
  /** Every message whose events were read, by its id. */
  readonly messages: Signal<ReadonlyMap<string, ShownMessage>> = signal(new Map());
  readonly failure: Signal<unknown> = signal(null);
  /** A turn that a person wants to take back, or to go on from in another conversation. */
  readonly wish: Signal<TurnWish | null> = signal(null);
  /** Turns that are known to be taken back, or not. */
  readonly takenBack: Signal<ReadonlyMap<number, boolean>> = signal(new Map());
  /** As it was when it was read first: its newest session, and the turns that were over and not its last one. */
  first: { head: string; past: ReadonlySet<number> } | null = null;
  readonly #api: HostApi;
  readonly #path: string;
  /** Ids of the conversation and of its sessions. */
  readonly #ids: Set<string>;
  /** Events of turns and messages by session and number. */
  readonly #events = new Map<string, Map<number, ShownEvent>>();
  /** Sessions whose events of these types are here from the first on. */
  readonly #whole = new Set<string>();
  readonly #over = new AbortController();
  readonly #leave: (() => void)[];
  #isWanted = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Reads one after another: an older answer must not come after a newer one. */
  #reading: Promise<void> = Promise.resolve();

  /** @param id that of the conversation or of any of its sessions */
  constructor(deps: { api: HostApi; live: LiveEvents }, id: string) {
    this.#api = deps.api;
    this.#path = `/v1/conversations/${encodeURIComponent(id)}`;
    this.#ids = new Set([id]);
    this.#leave = [
      deps.live.subscribe((envelopes) => this.#take(envelopes)),
      deps.live.opened.subscribe(() => this.touch(0)),
    ];
  }

  /** Reads it again soon. */
  touch = (ms: number = soonMs): void => {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#reading = this.#reading.then(() => this.#read());
    }, ms);
  };

  /** Asks for the texts of its messages, which are otherwise read only where there are several turns. */
  want = (): void => {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.touch(0);
  };

  /** Notes whether a turn is taken back. */
  learn(turn: number, isTakenBack: boolean): void {
    if (this.takenBack.value.get(turn) === isTakenBack) return;
    this.takenBack.value = new Map([...this.takenBack.value, [turn, isTakenBack]]);
  }

  /** Notes which turns a rewind took back; an undo brings them back. */
  rewound({ to, undo, files }: RewindReport): void {
    if (files.length === 0) return;
    const turns = this.report.value?.turns ?? [];
    const known = new Map(undo ? [] : this.takenBack.value);
    for (const { turn } of turns) if (!undo && turn > to) known.set(turn, true);
    this.takenBack.value = known;
  }

  close(): void {
    for (const leave of this.#leave) leave();
    clearTimeout(this.#timer);
    this.#over.abort();
  }

  #take(envelopes: readonly ShownEvent[]): void {
    let isNew = false;
    for (const envelope of envelopes) {
      const { event, session_id } = envelope;
      if (event.type === "session_started" && this.#ids.has(event.follows?.conversation_id ?? "")) {
        this.#ids.add(session_id);
        this.#whole.add(session_id);
      }
      if (!telling.has(event.type) || !this.#ids.has(session_id)) continue;
      isNew = true;
      if (talkTypes.has(event.type)) this.#keep(envelope);
    }
    if (isNew) {
      this.#show();
      this.touch();
    }
  }

  async #read(): Promise<void> {
    const { signal } = this.#over;
    if (signal.aborted) return;
    try {
      const report = await this.#api.get<ConversationReport>(this.#path, {}, signal);
      this.#ids.add(report.conversation_id);
      for (const { session_id } of report.sessions) this.#ids.add(session_id);
      const isLong = report.sessions.length > 1 || report.turns.length > 1 || report.pending.length > 0;
      if (isLong || this.#isWanted) {
        for (const { session_id } of report.sessions) {
          if (!this.#whole.has(session_id)) await this.#readEvents(session_id, signal);
        }
      }
      if (signal.aborted) return;
      this.first ??= {
        head: report.head,
        past: new Set(report.turns.slice(0, -1).filter(({ ended_at }) => ended_at !== null).map(({ turn }) => turn)),
      };
      this.report.value = report;
      this.failure.value = null;
      this.#show();
    } catch (error) {
      if (signal.aborted) return;
      const isGone = error instanceof RefusedCall && error.status >= 400 && error.status < 500 && error.status !== 429;
      this.failure.value = error;
      if (!isGone) this.touch(retryMs);
    }
  }

  async #readEvents(id: string, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams([...talkTypes].map((type) => ["type", type]));
    query.set("follow", "false");
    const response = await this.#api.open(`/v1/sessions/${encodeURIComponent(id)}/events?${query}`, {}, signal);
    for await (const lines of lineGroups(response)) for (const line of lines) this.#keep(readEvent(line));
    this.#whole.add(id);
  }

  #keep(envelope: ShownEvent): void {
    const events = this.#events.get(envelope.session_id) ?? new Map<number, ShownEvent>();
    this.#events.set(envelope.session_id, events);
    events.set(envelope.seq, envelope);
  }

  #show(): void {
    const sessions = this.report.value?.sessions ?? [];
    if (sessions.length === 0 || sessions.some(({ session_id }) => !this.#whole.has(session_id))) return;
    const messages = new Map<string, ShownMessage>();
    const parts = sessions.flatMap(({ session_id }) => {
      const events = [...this.#events.get(session_id)?.values() ?? []].sort((a, b) => a.seq - b.seq);
      return readPart(events, messages) ?? [];
    });
    this.messages.value = messages;
    const [only] = parts.length === 1 && (parts[0]?.turns.length ?? 0) < 2 ? parts : [];
    const isPlain = only !== undefined && only.turns[0]?.files?.isKept !== true;
    this.parts.value = isPlain ? none : parts;
  }
}
