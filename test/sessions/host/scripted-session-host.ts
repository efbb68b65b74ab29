import { randomUUID } from "node:crypto";
import type {
  Conversations,
  RunSessionOptions,
  SessionHandle,
  SessionHost,
} from "../../../core/sessions/host/session-host.ts";
import type { EventQuery, SessionCounts, SessionQuery } from "../../../plugin-sdk/queries.ts";
import { countSessions } from "../../../core/records/journal/session-groups.ts";
import type { UsageRow } from "../../../plugin-sdk/usage-row.ts";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { Envelope, Follows } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { outcomeOf, type SessionResult, type StopReason } from "../../../plugin-sdk/result.ts";
import { emptyHistory } from "../../../core/records/journal/history-fact.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { ScriptedConversations } from "./scripted-conversations.ts";
import { fakeAgent, fakeResult, fakeSettings } from "../../doors/cli/fake-host.ts";
import { memoryAttach } from "./attachments/memory-attach.ts";

/** What a test's agent does in a session. It ends when it returns; what it returns changes the result. */
export type Script = (session: ScriptedSession) => Promise<Partial<SessionResult> | void>;

/** One session of a {@link ScriptedHost}: its events are those that the script says. */
export class ScriptedSession implements SessionHandle {
  readonly id = randomUUID().replaceAll("-", "");
  readonly adapter: string;
  readonly started = new Date().toISOString();
  /** Aborts when the session is interrupted. */
  readonly signal: AbortSignal;
  readonly request: SessionRequest;
  readonly options: RunSessionOptions;
  readonly #interrupt = new AbortController();
  readonly #envelopes: Envelope[] = [];
  readonly #open = new Map<string, { event: AdapterEvent; settle(choice: string | null): void }>();
  #wake = new Set<() => void>();
  #result: SessionResult | null = null;

  readonly #follows: Follows | undefined;

  constructor(
    request: SessionRequest,
    { options, script, follows }: { options: RunSessionOptions; script: Script; follows?: Follows | undefined },
  ) {
    this.#follows = follows;
    this.request = request;
    this.options = options;
    const { adapter } = options;
    this.adapter = typeof adapter === "string" && adapter !== "auto" ? adapter : "alpha";
    this.signal = this.#interrupt.signal;
    options.signal?.addEventListener("abort", () => this.#interrupt.abort(), { once: true });
    void this.#run(script);
  }

  /** Id of its conversation, and its turn there. */
  get conversation(): string {
    return this.#follows?.conversation_id ?? this.id;
  }

  get turn(): number {
    return (this.#follows?.turn ?? 0) + 1;
  }

  get lastSeq(): number {
    return this.#envelopes.length;
  }

  /** The result; null while it runs. */
  get ended(): SessionResult | null {
    return this.#result;
  }

  get waiting(): string[] {
    return [...this.#open.keys()];
  }

  emit(event: Envelope["event"], source: Envelope["source"] = "agent"): void {
    const seq = this.#envelopes.length + 1;
    this.#envelopes.push({
      v: 1,
      seq,
      gseq: (this.turn - 1) * 1000 + seq,
      ts: new Date().toISOString(),
      session_id: this.id,
      attempt: 1,
      adapter: { id: this.adapter, version: "1.2.3" },
      source,
      event,
    });
    for (const wake of this.#wake) wake();
  }

  /** Asks, and gives the choice; null when the session was interrupted first. */
  async ask(event: Extract<AdapterEvent, { request_id: string }>): Promise<string | null> {
    const { request_id } = event;
    const answer = new Promise<string | null>((settle) => this.#open.set(request_id, { event, settle }));
    this.emit(event);
    this.signal.addEventListener("abort", () => this.#open.get(request_id)?.settle(null), { once: true });
    const choice = await answer;
    this.#open.delete(request_id);
    const by = this.signal.aborted ? "session_end" : "client";
    this.emit({ type: "permission_resolved", request_id, choice, by }, "host");
    return choice;
  }

  async *events({ after = 0, signal }: EventQuery = {}): AsyncGenerator<Envelope, void, void> {
    for (let at = after; !signal?.aborted;) {
      const envelope = this.#envelopes[at];
      if (envelope !== undefined) {
        at++;
        yield envelope;
        if (envelope.event.type === "session_ended") return;
        continue;
      }
      if (this.#result !== null) return;
      await new Promise<void>((resolve) => {
        this.#wake.add(resolve);
        signal?.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }

  async result(): Promise<SessionResult> {
    for await (const { event } of this.events()) if (event.type === "session_ended") return event.result;
    throw new Error("The session did not end.");
  }

  async interrupt(): Promise<SessionResult> {
    this.#interrupt.abort();
    return await this.result();
  }

  async answer(requestId: string, choice: string | null): Promise<boolean> {
    const open = this.#open.get(requestId);
    const options = open?.event.type === "permission_request" ? open.event.options : null;
    if (open === undefined || (choice !== null && options?.some(({ id }) => id === choice) === false)) return false;
    this.#open.delete(requestId);
    open.settle(choice ?? options?.find(({ kind }) => kind.startsWith("reject"))?.id ?? null);
    return true;
  }

  async #run(script: Script): Promise<void> {
    // First the host keeps it.
    await Promise.resolve();
    const { workdir, labels = {}, task_id = null } = this.request;
    this.emit({
      type: "session_started",
      adapter_id: this.adapter,
      workdir,
      task_id,
      labels,
      requested: this.request,
      effective: fakeSettings(),
      candidates: [this.adapter],
      passed_over: [],
      ...(this.#follows === undefined ? {} : { follows: this.#follows }),
    }, "host");
    this.emit({ type: "attempt_started", attempt: 1, adapter_id: this.adapter }, "host");
    const changes = await script(this).catch((error: unknown): Partial<SessionResult> => ({
      stop_reason: "fatal",
      error: { code: "fatal", message: String(error) },
    }));
    const stop_reason: StopReason = this.signal.aborted ? "interrupted" : changes?.stop_reason ?? "end_turn";
    const result = fakeResult({
      session_id: this.id,
      requested: this.request,
      task_id,
      ...changes,
      stop_reason,
      outcome: outcomeOf(stop_reason),
    });
    this.emit({ type: "session_ended", result }, "host");
    this.#result = result;
    for (const wake of this.#wake) wake();
  }
}

/** A host of scripted sessions, which it keeps in memory. */
export class ScriptedHost implements SessionHost {
  readonly attached: ReturnType<typeof memoryAttach> = memoryAttach();
  readonly attach = this.attached.attach;
  readonly sessions: ScriptedSession[] = [];
  agentReports: AgentReport[] = [fakeAgent("alpha", { primary: true }), fakeAgent("beta")];
  #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  async start(request: SessionRequest, options: RunSessionOptions = {}, follows?: Follows): Promise<ScriptedSession> {
    const names = this.agentReports.map(({ id }) => id);
    if (typeof options.adapter === "string" && options.adapter !== "auto" && !names.includes(options.adapter)) {
      throw new BulkheadError("unknown_adapter", `No enabled adapter has the id "${options.adapter}".`, {
        hint: `There are ${names.join(", ")}.`,
      });
    }
    if (options.signal?.aborted) throw new BulkheadError("interrupted", "It was interrupted before it started.");
    const session = new ScriptedSession(request, { options, script: this.#script, follows });
    this.sessions.push(session);
    return session;
  }

  async count(): Promise<SessionCounts> {
    return countSessions(this.sessions.map(summaryOf), {});
  }

  async list({ labels = {}, limit = 50, before, state }: SessionQuery = {}): Promise<SessionSummary[]> {
    const all = this.sessions.toReversed();
    const from = before === undefined ? 0 : all.findIndex(({ id }) => id === before) + 1;
    const fits = ({ request }: ScriptedSession) =>
      Object.entries(labels).every(([key, value]) => request.labels?.[key] === value);
    return all.slice(from).filter(fits).map(summaryOf).filter((one) => state === undefined || one.state === state)
      .slice(0, limit);
  }

  async get(sessionId: string): Promise<SessionSummary> {
    return summaryOf(this.#find(sessionId));
  }

  async history(sessionId: string): Promise<SessionHistory> {
    return this.#find(sessionId) && emptyHistory();
  }

  async open(sessionId: string): Promise<ScriptedSession> {
    return this.#find(sessionId);
  }

  async delete(sessionId: string): Promise<void> {
    this.sessions.splice(this.sessions.indexOf(this.#find(sessionId)), 1);
  }

  readonly conversations: Conversations = new ScriptedConversations(this).all;

  async agents(): Promise<AgentReport[]> {
    return this.agentReports;
  }

  budgets(): Promise<[]> {
    return Promise.resolve([]);
  }

  async usage(): Promise<UsageRow[]> {
    return [];
  }

  async *events(): AsyncGenerator<Envelope, void, void> {
    for (const session of this.sessions) yield* session.events();
  }

  #find(sessionId: string): ScriptedSession {
    const session = this.sessions.find(({ id }) => id === sessionId);
    if (session) return session;
    throw new BulkheadError("not_found", `No session has the id "${sessionId}".`);
  }
}

function summaryOf(session: ScriptedSession): SessionSummary {
  const { id, adapter, request, started, ended, lastSeq, waiting } = session;
  return {
    session_id: id,
    state: ended === null ? "running" : "ended",
    adapter_id: adapter,
    workdir: request.workdir,
    title: request.prompt.split("\n")[0]!,
    task_id: request.task_id ?? null,
    labels: request.labels ?? {},
    started_at: started,
    ended_at: ended === null ? null : started,
    outcome: ended?.outcome ?? null,
    stop_reason: ended?.stop_reason ?? null,
    last_seq: lastSeq,
    conversation_id: session.conversation,
    waiting: waiting.map((request_id) => ({ request_id, type: "question", text: "", choices: [] })),
  };
}
