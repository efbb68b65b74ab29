import { LocalConversations } from "../../../../core/sessions/host/conversations.ts";
import type { LiveSession } from "../../../../core/sessions/host/live-sessions.ts";
import { resumer } from "../../../../core/sessions/host/resume.ts";
import type { RunSessionOptions, SessionHandle } from "../../../../core/sessions/host/session-host.ts";
import { readListed } from "../../../../core/sessions/host/state/moved-messages.ts";
import { RewoundTalks } from "../../../../core/sessions/host/state/rewound-talks.ts";
import { endOpenSessions } from "../../../../core/sessions/host/state/recover.ts";
import type { EarlierTurn, KeptSession, Resumed } from "../../../../core/sessions/session/admitted.ts";
import { SharedBudgets } from "../../../../core/sessions/session/spend/shared-budgets.ts";
import { MergedLog } from "../../../../core/sessions/session/merged-log.ts";
import { sessionPages } from "../../../../core/records/journal/read-page.ts";
import { randomId } from "../../../../core/ground/platform/files/hash.ts";
import type { Envelope, Follows } from "../../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import type { Manifest } from "../../../../plugin-sdk/manifest.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { fakePlugin } from "../../../doors/cli/fake-host.ts";
import { ScriptedSession, type Stage } from "../../session/scripted-session.ts";
import type { HeldDisk } from "./held-journal.ts";

interface ModelHostOptions {
  disk: HeldDisk;
  accepts: NonNullable<Manifest["accepts"]>;
  /** Whether it goes on with the sessions and messages that a killed host left, as a daemon does. */
  isStaying: boolean;
  /** Enters the adapter; resolves with what the entry ends with. */
  enter(session: string, stage: Stage): ReturnType<ModelEntry>;
  /** Changes whenever the terms of sessions do. */
  terms(): number;
}

/** An entry of an adapter in this process. */
type ModelEntry = (stage: Stage) => Promise<{ code: "crash" | "fatal" | "interrupted"; message: string } | void>;

const noFiles = () => Promise.reject(new Error("It has no files."));

/**
 * The parts of a host that carry messages, joined as a host joins them: its log, its sessions, their conversations, and what
 * is done at its start with what a former host left. Its adapters are scripts, and its disk is the test's.
 */
const shared = new SharedBudgets();

export class ModelHost {
  /** Set once it is open. */
  conversations!: LocalConversations;
  readonly kept = new Set<KeptSession>();
  readonly #options: ModelHostOptions;
  readonly #log: MergedLog;
  /** Sessions whose end is durable, and that remove their scratch folders: the one thing that is done on a real disk. */
  readonly #leaving = new Set<string>();
  readonly #running = new Map<string, LiveSession>();
  #isClosed = false;

  constructor(options: ModelHostOptions) {
    this.#options = options;
    this.#log = new MergedLog(options.disk.journal);
    const add = this.#log.add.bind(this.#log);
    this.#log.add = async (stream, entries, received) => {
      await add(stream, entries, received);
      const isLast = entries.at(-1)?.event.type === "session_ended";
      if (isLast && this.#running.has(stream.sessionId)) this.#leaving.add(stream.sessionId);
    };
  }

  /** Whether something is under way whose time is not the test's. */
  get isLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Opens it, as `createHost` does, on what is durable. */
  async open(): Promise<void> {
    const { disk: { journal }, isStaying, accepts } = this.#options;
    const left = await readListed(journal);
    this.conversations = this.#talks(left);
    const writeLog = () => {};
    const plugin = fakePlugin("made");
    plugin.manifest.accepts = accepts;
    const sessions = {
      start: (request: SessionRequest, run: RunSessionOptions, terms: StartTerms) => this.#start(request, run, terms),
    };
    const attachments = { name: () => Promise.resolve() };
    const deps = { journal, shared, registry: { get: () => plugin }, sessions, attachments, writeLog };
    const resume = isStaying ? resumer(deps) : undefined;
    const former = { runtime: null, hostVersion: "1.0.0", end: "host_restarted" } as const;
    await endOpenSessions({ journal, log: this.#log, former, resume, writeLog });
    await this.conversations.moved.carryOver(left, { isStaying });
  }

  #talks(left: readonly string[]): LocalConversations {
    const { disk: { journal }, accepts } = this.#options;
    const written = () => this.#log.written();
    return new LocalConversations({
      journal,
      log: this.#log,
      shared,
      find: (id) => this.#running.get(id),
      ofConversation: (id) => this.ofConversation(id),
      record: async (id) => await written().then(() => journal.session(id)),
      records: async (conversation_id) => await journal.sessions({ conversation_id, limit: 1000 }),
      open: (id) =>
        Promise.resolve({ events: () => this.#events(id) } as Pick<SessionHandle, "events"> as SessionHandle),
      start: (request, run, next) => this.#start(request, run, next),
      attachments: { check: (content) => Promise.resolve([...content]), name: () => Promise.resolve() },
      carried: { keepFor: () => {} },
      ownSessions: () => ({ continues: accepts.includes("continue_from"), copies: false, copiesAt: false }),
      firstOpen: () => Promise.resolve(null),
      once: (_request, _options, start) => start(undefined),
      summary: () => Promise.reject(new Error("No summary is kept.")),
      rewinds: { rewind: noFiles, rest: noFiles, hasRewound: noFiles, turnDiff: noFiles },
      rewound: new RewoundTalks(journal, []),
      written,
      writeLog: () => {},
    }, left);
  }

  /** Begins a conversation. */
  async begin(request: SessionRequest): Promise<string> {
    return (await this.#start(request, {})).id;
  }

  /** Returns the newest session of a conversation that has not ended. */
  ofConversation(id: string): LiveSession | undefined {
    return [...this.#running.values()].findLast((live) => (live.admitted.follows?.conversation_id ?? live.id) === id);
  }

  /** Has what was added to the log written without a wait for more. */
  hurry(): void {
    void this.#log.written();
  }

  /** Ends its sessions in order, and starts none any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { session } of this.#running.values()) session.stop("interrupted", "The host is shutting down.");
    await Promise.allSettled([...this.#running.values()].map(({ result }) => result));
    await this.#log.settled();
  }

  async #start(
    request: SessionRequest,
    { sessionId = randomId() }: RunSessionOptions,
    { begins, resumed = null, follows = null }: StartTerms = {},
  ): Promise<LiveSession> {
    const refuseIfClosed = () => {
      if (this.#isClosed) throw new BulkheadError("host_closed", "The host is shutting down.");
    };
    refuseIfClosed();
    await begins?.(sessionId);
    refuseIfClosed();
    const { enter, terms, accepts } = this.#options;
    const begun = terms();
    const entry: ModelEntry = (stage) => enter(sessionId, stage);
    const { session } = new ScriptedSession([{ id: "made", scripts: [entry], manifest: { accepts } }], {
      sessionId,
      request,
      resumed,
      follows,
      firstTurn: (follows?.turn ?? 0) + 1,
      log: this.#log,
      termsChanged: () => Promise.resolve(terms() !== begun),
      moveMessages: (messages) => this.conversations.moved.move(live, messages),
      keep: (one) => {
        this.kept.add(one);
        return () => this.kept.delete(one);
      },
    });
    const candidates = [{ plugin: { id: "made", manifest: { accepts } } }];
    const admitted = { request, follows, candidates } as unknown as LiveSession["admitted"];
    const result = session.result.finally(() => {
      this.#running.delete(sessionId);
      this.#leaving.delete(sessionId);
    });
    const live: LiveSession = { id: sessionId, session, admitted, result, firstReader: () => null };
    result.catch(() => {});
    this.#running.set(sessionId, live);
    return live;
  }

  async *#events(sessionId: string): AsyncGenerator<Envelope, void, void> {
    for await (const page of sessionPages(this.#options.disk.journal, sessionId)) yield* page;
  }
}

interface StartTerms {
  begins?: ((sessionId: string) => Promise<void>) | undefined;
  resumed?: Resumed | null;
  follows?: Follows | null;
  earlier?: readonly EarlierTurn[];
}
