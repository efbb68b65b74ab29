import type {
  AttemptFailedEvent,
  AttemptStartedEvent,
  CapabilityEvent,
  Envelope,
  Follows,
  GitEvent,
  SessionStartedEvent,
  TurnEndedEvent,
} from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { AttemptReport, EffectiveSettings, PermissionUses, Substitution } from "../../../plugin-sdk/result.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { countHost } from "../../walls/broker/add-uses.ts";
import { EventRules } from "./event-rules.ts";
import { Mailbox } from "./mailbox.ts";
import type { LogEntry, MergedLog, Stream } from "./merged-log.ts";
import { buildResult } from "./result.ts";
import { type KnownUse, knownUse } from "./spend/shared-budgets.ts";
import { UsageMeter } from "./spend/usage-meter.ts";

/** Facts about the host that ran the session. */
export interface FormerHost {
  /** The runtime it ran on; null when unknown. */
  runtime: string | null;
  hostVersion: string;
  /** How its sessions end: its process was started again, or its machine was lost. */
  end: "host_restarted" | "machine_lost";
}

/**
 * Reads a session that its host could not end from the journal.
 * @param pages the session's envelopes from the first on, in order, without the unreadable ones
 * @param lastSeq the highest number of its events, readable or not
 */
export async function readInterrupted(
  pages: AsyncIterable<readonly Envelope[]>,
  lastSeq: number,
): Promise<InterruptedSession> {
  const known = new InterruptedSession(lastSeq);
  for await (const page of pages) for (const envelope of page) known.take(envelope);
  return known;
}

/**
 * Ends it so that its stream keeps every rule: each program exits, each tool call has a result, each request is
 * resolved, and `session_ended` says `host_restarted` or `machine_lost`. Unknown values are null. Its processes must be gone already.
 */
export async function endInterrupted(
  known: InterruptedSession,
  { log, former, next = null, git = null, refused = null }: {
    log: MergedLog;
    former: FormerHost;
    /** Why it could not run at all, where that is what it ends with. */
    refused?: ErrorData | null;
    next?: AfterRestart | null;
    /** Changes that were taken over of the agent's git folder. */
    git?: GitEvent | null;
  },
): Promise<void> {
  const end = known.end(former, { next, git, refused });
  if (end !== null) await log.add(end.stream, end.entries);
}

/** Outcome for a session whose request asks for a resume: the session that continues it, or why none does. */
export type AfterRestart =
  | {
    resumed_as: string;
    /** Messages that waited, and that it has taken. */
    moved?: readonly string[];
  }
  | { reason: string };

/** Facts that another session needs to continue the agent's session of an interrupted one. */
export interface Resumable {
  session_id: string;
  request: SessionRequest;
  /** The adapter of the last attempt. */
  adapter_id: string;
  /** The agent's own session id; null if it has not reported one. */
  agent_session_id: string | null;
  /** Number of sessions that have continued that agent's session already. */
  times: number;
  /** Cost and tokens of the session so far. */
  used: KnownUse;
  follows: Follows | null;
  conversation_id: string;
  /** The turn that was cut off. */
  turn: number;
  /** Messages that waited, in the order in which they were to be given. */
  pending: PendingMessage[];
}

/** A message that waits for a session. */
type PendingMessage = Mailbox["pending"][number];

/** Outcomes that belong into the end of an interrupted session. */
interface AfterEnd {
  next: AfterRestart | null;
  git: GitEvent | null;
  refused: ErrorData | null;
}

const sentences = {
  host_restarted: "The host stopped while the session ran",
  machine_lost: "The machine that ran the session was lost",
} as const;

function errorOf(code: FormerHost["end"], { next, unread }: { next: AfterRestart | null; unread: number }): ErrorData {
  const sentence = sentences[code];
  if (unread > 0) {
    const message = `${sentence}, and ${unread} of its events cannot be read any more.`;
    return { code, message, hint: "Look with: bulkhead journal verify." };
  }
  const hint = next === null
    ? "Look at what the session had done, and run it again."
    : "reason" in next
    ? `It was not resumed: ${next.reason}. Look at what the session had done, and run it again.`
    : `Session "${next.resumed_as}" goes on with it.`;
  return { code, message: `${sentence}.`, hint };
}

interface FirstEvent {
  envelope: Envelope;
  event: SessionStartedEvent;
}

/** Sizes of calls are not in the journal. */
const untold = { tokens_in: 0, tokens_out: 0 };

/** A session reconstructed from its events. */
class InterruptedSession {
  readonly #rules = new EventRules({ replayed: true });
  readonly #usage = new UsageMeter();
  readonly #mailbox = new Mailbox();
  /** The last turn that began, of those that are told. */
  #turn: number | null = null;
  /** How the last turn ended, where none was under way: no work was lost then. */
  #rested: TurnEndedEvent | null = null;
  readonly #processes = new Map<number, { pid: number; at: number }>();
  readonly #lastSeq: number;
  #read = 0;
  #first: FirstEvent | null = null;
  #last: Envelope | null = null;
  #toolVersion: string | null = null;
  #agentSessionId: string | null = null;
  /** Settings of the last attempt that differ from those at the session's start. */
  #changed: Partial<Pick<EffectiveSettings, "access_mode" | "permissions">> = {};
  readonly #attempts: AttemptReport[] = [];
  readonly #substitutions: Substitution[] = [];
  /** Counted from the events, which leave out repeated uses. */
  readonly #uses: PermissionUses = { allowed: 0, denied: 0, by: {} };

  constructor(lastSeq: number) {
    this.#lastSeq = lastSeq;
  }

  /** Returns the number of its events that could not be read. */
  get unread(): number {
    return Math.max(0, this.#lastSeq - this.#read);
  }

  take(envelope: Envelope): void {
    // It stands for events that were lost.
    if (envelope.event.type === "gap") return;
    this.#last = envelope;
    this.#read++;
    this.#mailbox.take(envelope.event);
    if (envelope.source === "agent") return this.#said(envelope.event as AdapterEvent);
    const { event } = envelope;
    // The host asks by itself, and answers calls whose turn has ended.
    if (event.type === "permission_request" || event.type === "tool_result") this.#rules.accept(event);
    if (event.type === "attempt_started") this.#usage.begin({ mode: null });
    if (event.type === "model_call" && event.refused === undefined) {
      this.#usage.requested();
      this.#usage.called({ ...event, is_known: event.partial !== true, by_size: untold });
    }
    if (event.type === "session_started") this.#first ??= { envelope, event };
    if (event.type === "permission_resolved") this.#rules.resolve(event.request_id);
    if (event.type === "turn_started") this.#begin(event.turn);
    if (event.type === "turn_ended") this.#rested = event;
    if (event.type === "attempt_started") this.#attempt(envelope, event);
    if (event.type === "attempt_failed") this.#failed(envelope, event);
    if (event.type === "fallback") this.#substitutions.push({ from: event.from, to: event.to, reason: event.reason });
    if (event.type === "capability") this.#used(event);
    if (event.type === "process_exited") this.#processes.delete(event.process_id);
    if (event.type === "process_spawned") {
      this.#processes.set(event.process_id, { pid: event.pid, at: Date.parse(envelope.ts) });
    }
  }

  /** Returns true if its first event could be read: without it the request is unknown. */
  get hasBeginning(): boolean {
    return this.#first !== null;
  }

  /**
   * Returns what a session that continues it needs; null if its request does not ask for that, or if it is not open.
   */
  get resumable(): Resumable | null {
    if (this.#first === null || this.#last === null || this.#last.event.type === "session_ended") return null;
    // A missing event may be another attempt, or the last message to the agent.
    if (this.unread > 0 || this.#rested !== null) return null;
    const { envelope, event } = this.#first;
    const { conversation_id = envelope.session_id, turn = 0 } = event.follows ?? {};
    if (event.requested.resume !== "after_restart") return null;
    return {
      session_id: envelope.session_id,
      request: event.requested,
      adapter_id: this.#last.adapter.id,
      agent_session_id: this.#agentSessionId,
      times: event.times_resumed ?? 0,
      used: this.used,
      follows: event.follows ?? null,
      conversation_id,
      turn: this.#turn ?? turn + 1,
      pending: this.#mailbox.pending,
    };
  }

  /** Returns the session whose budget it shares; undefined where that is its own, or none. */
  get budgetOf(): string | undefined {
    return this.#first?.event.follows?.budget?.of;
  }

  /** Returns its cost and tokens, also of one that has ended; null where they are not known. */
  get used(): KnownUse {
    const last = this.#last?.event;
    return last?.type === "session_ended"
      ? knownUse(last.result.usage)
      : { cost: this.#usage.cost, tokens: this.#usage.tokens };
  }

  /** Returns the events to add; null for a session without any events, and for one that has ended. */
  end(former: FormerHost, { next, git, refused }: AfterEnd): { stream: Stream; entries: LogEntry[] } | null {
    if (this.#first === null || this.#last === null || this.#last.event.type === "session_ended") return null;
    const { session_id: sessionId, adapter, attempt, seq } = this.#last;
    const lastSeq = Math.max(seq, this.#lastSeq);
    const told: LogEntry[] = git === null ? [] : [{ source: "host", event: git }];
    const ended = this.#ended(this.#first, { former, next, git, refused });
    const taken = next !== null && "resumed_as" in next ? next : null;
    const to = (id: string) => taken?.moved?.includes(id) ? taken.resumed_as : undefined;
    const reason = this.unread > 0 ? "unsure" : refused === null ? "host_restarted" : "session_ended";
    const closed = this.#mailbox.close({ reason, to }).map((event): LogEntry => ({ source: "host", event }));
    const entries = [...this.#exits(Date.now()), ...this.#rules.finish(), ...closed, ...told, ended];
    return { stream: { sessionId, adapter, attempt, lastSeq }, entries };
  }

  #said(event: AdapterEvent): void {
    this.#rules.accept(event);
    if (event.type === "usage") this.#usage.take(event);
    if (event.type === "completed") this.#usage.complete(event);
    if (event.type === "agent_info") {
      this.#usage.model(event.model);
      this.#toolVersion = event.agent_version ?? this.#toolVersion;
      this.#agentSessionId = event.agent_session_id ?? this.#agentSessionId;
    }
  }

  /** A further turn has its own answer. */
  #begin(turn: number): void {
    if (this.#turn !== null) this.#rules.restart();
    this.#turn = turn;
    this.#rested = null;
  }

  #attempt({ attempt, ts }: Envelope, event: AttemptStartedEvent): void {
    const { adapter_id, permissions } = event;
    const access_mode = event.access_mode ?? null;
    this.#rules.restart();
    // An attempt without its own permissions runs on the adapter that the session started with.
    this.#changed = permissions === undefined ? { access_mode } : { access_mode, permissions };
    // Another attempt has another agent session.
    this.#agentSessionId = null;
    this.#attempts.push({ attempt, adapter_id, started_at: ts, duration_ms: 0 });
  }

  #failed({ ts }: Envelope, { error }: AttemptFailedEvent): void {
    const report = this.#attempts.at(-1);
    if (report) Object.assign(report, { error, duration_ms: since(report.started_at, ts) });
  }

  #used({ permission, target, decision }: CapabilityEvent): void {
    if (permission === "net") countHost(this.#uses, target, { [decision]: 1 });
    const of = this.#uses.by[permission] ??= { allowed: 0, denied: 0 };
    of[decision]++;
    this.#uses[decision]++;
  }

  #exits(now: number): LogEntry[] {
    return [...this.#processes].map(([process_id, { pid, at }]): LogEntry => ({
      source: "host",
      synthetic: true,
      event: {
        type: "process_exited",
        process_id,
        pid,
        exit_code: null,
        signal: null,
        duration_ms: Math.max(0, now - at),
      },
    }));
  }

  #ended(
    { envelope, event }: FirstEvent,
    { former, next, git, refused }: AfterEnd & { former: FormerHost },
  ): LogEntry {
    const rested = this.unread === 0 ? this.#rested : null;
    const error = rested === null ? refused ?? errorOf(former.end, { next, unread: this.unread }) : rested.error;
    const stop_reason = rested?.stop_reason ?? (refused === null ? former.end : "fatal");
    const { requested } = event;
    const effective: EffectiveSettings = { ...event.effective, ...this.#changed };
    const { adapter, ts } = this.#last!;
    const running = this.#attempts.at(-1);
    if (running && running.error === undefined) {
      Object.assign(running, { ...omitUndefined({ error }), duration_ms: since(running.started_at, ts) });
    }
    const result = buildResult({
      sessionId: envelope.session_id,
      plugin: { id: adapter.id, manifest: { version: adapter.version } },
      request: requested,
      resumed: event.resumed_from === undefined ? null : { from: event.resumed_from, times: event.times_resumed ?? 1 },
      effective,
      sentPrompt: null,
      hostVersion: former.hostVersion,
    }, {
      verdict: { stop_reason, ...omitUndefined({ error }) },
      rules: this.#rules,
      usage: this.#usage.report(since(envelope.ts, ts)),
      git,
      changed: { artifacts: null, reason: former.end, head: null },
      claimedOnly: [],
      gitBase: null,
      packageSha256: null,
      toolVersion: this.#toolVersion,
      uses: this.#uses,
      attempts: this.#attempts,
      substitutions: this.#substitutions,
      runtime: former.runtime ?? "unknown",
      resumedAs: next !== null && "resumed_as" in next ? next.resumed_as : null,
    });
    return { source: "host", synthetic: true, event: { type: "session_ended", result } };
  }
}

/** Returns the milliseconds between two times of the log. */
function since(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
