import type { HistoryQueries } from "../../../core/records/history/history-queries.ts";
import type { UsageRow } from "../../../plugin-sdk/usage-row.ts";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { RunSessionOptions, SessionHandle, SessionHost } from "../../../core/sessions/host/session-host.ts";
import type { EventQuery, SessionCounts, SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { HostFacts, Readiness } from "../../../core/doors/http/door-options.ts";
import { emptyHistory } from "../../../core/records/journal/history-fact.ts";
import { countSessions, fitsQuery } from "../../../core/records/journal/session-groups.ts";
import { MemoryConversations } from "./memory-conversations.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import { allowedBy, judgeUses } from "../../../core/packages/permissions/try-grant.ts";
import { fakePlugin, noWorkspaces } from "../cli/fake-host.ts";
import { randomId } from "../../../core/ground/platform/files/hash.ts";
import { MergedLog, type Stream } from "../../../core/sessions/session/merged-log.ts";
import { memoryAttach } from "../../sessions/host/attachments/memory-attach.ts";

interface Kept {
  stream: Stream;
  summary: SessionSummary;
  options: RunSessionOptions;
  result: Promise<SessionResult>;
  settle(result: SessionResult): void;
}

/** Sessions whose events a test says itself, in the host's own log over a journal in memory. */
export class MemoryHost implements SessionHost {
  readonly attached: ReturnType<typeof memoryAttach> = memoryAttach();
  readonly attach = this.attached.attach;
  readonly #log = new MergedLog(createMemoryJournal());
  readonly #kept = new Map<string, Kept>();
  readonly #keys = new Map<string, string>();
  /** What the next start fails with. */
  startError: Error | null = null;

  async start(request: SessionRequest, options: RunSessionOptions = {}): Promise<SessionHandle> {
    if (this.startError !== null) throw this.startError;
    const key = request.idempotency_key && JSON.stringify([options.client, request.idempotency_key]);
    const known = key === undefined ? undefined : this.#keys.get(key);
    if (known !== undefined) return await this.open(known);
    const id = randomId();
    if (key !== undefined) this.#keys.set(key, id);
    const summary: SessionSummary = {
      session_id: id,
      state: "running",
      adapter_id: "memory",
      workdir: request.workdir,
      title: request.prompt.slice(0, 80),
      task_id: request.task_id ?? null,
      labels: request.labels ?? {},
      started_at: new Date().toISOString(),
      ended_at: null,
      outcome: null,
      stop_reason: null,
      last_seq: 0,
      conversation_id: id,
      waiting: [],
    };
    const stream: Stream = { sessionId: id, adapter: { id: "memory", version: "1.0.0" }, attempt: 0, lastSeq: 0 };
    let settle!: (result: SessionResult) => void;
    const result = new Promise<SessionResult>((resolve) => (settle = resolve));
    this.#kept.set(id, { stream, summary, options, result, settle });
    await this.#log.add(stream, [{
      source: "host",
      event: {
        type: "session_started",
        adapter_id: "memory",
        workdir: request.workdir,
        task_id: summary.task_id,
        labels: summary.labels,
        requested: request,
        effective: {} as SessionResult["effective"],
        candidates: ["memory"],
        passed_over: [],
      },
    }]);
    return await this.open(id);
  }

  /** Adds outputs to a session. */
  async say(id: string, ...texts: string[]): Promise<void> {
    const { stream } = this.#of(id);
    await this.#log.add(
      stream,
      texts.map((data) => ({ source: "agent", event: { type: "output", stream: "stdout", data } })),
    );
  }

  /** Adds another event to a session. */
  async tell(id: string, event: Envelope["event"]): Promise<void> {
    await this.#log.add(this.#of(id).stream, [{ source: "agent", event }]);
  }

  /** Makes a session wait for an answer. */
  ask(id: string, requestId: string, choices: string[]): void {
    this.#of(id).summary.waiting.push({ request_id: requestId, type: "question", text: "Which?", choices });
  }

  /** Ends a session. */
  async end(id: string, outcome: "completed" | "error" = "completed"): Promise<void> {
    const { stream, summary, settle } = this.#of(id);
    if (summary.state === "ended") return;
    const stop_reason = outcome === "completed" ? "end_turn" : "interrupted";
    Object.assign(summary, { state: "ended", ended_at: new Date().toISOString(), outcome, stop_reason });
    const result = { session_id: id, outcome, stop_reason, output: "done" } as SessionResult;
    await this.#log.add(stream, [{ source: "host", event: { type: "session_ended", result } }]);
    settle({ ...result, events: [] });
  }

  /** Makes a session one of another folder. */
  move(id: string, workdir: string): void {
    this.#of(id).summary.workdir = workdir;
  }

  /** Ends all streams. */
  endAll(): void {
    this.#log.close();
  }

  /** What a session was started with. */
  optionsOf(id: string): RunSessionOptions {
    return this.#of(id).options;
  }

  async list({ before, limit = 50, ...query }: SessionQuery = {}): Promise<SessionSummary[]> {
    const all = [...this.#kept.keys()].reverse().map((id) => this.#summary(id));
    const from = before === undefined ? 0 : all.findIndex(({ session_id }) => session_id === before) + 1;
    return all.slice(from).filter((one) => fitsQuery(one, query)).slice(0, limit);
  }

  async count(query: SessionQuery = {}): Promise<SessionCounts> {
    const { text, since, until, task_id } = query;
    return countSessions(await this.list({ text, since, until, task_id, limit: Infinity }), query);
  }

  async get(id: string): Promise<SessionSummary> {
    return this.#summary(id);
  }

  async history(id: string): Promise<SessionHistory> {
    return this.#of(id) && emptyHistory();
  }

  async open(id: string): Promise<SessionHandle> {
    const { summary, result } = this.#of(id);
    return {
      id,
      events: ({ after = 0, signal }: EventQuery = {}) => this.#eventsOf(id, after, signal),
      result: () => result,
      interrupt: async () => {
        await this.end(id, "error");
        return await result;
      },
      answer: async (requestId, choice) => {
        const at = summary.waiting.findIndex(({ request_id, choices }) =>
          request_id === requestId && (choice === null || choices.includes(choice))
        );
        if (at !== -1) summary.waiting.splice(at, 1);
        return at !== -1;
      },
    };
  }

  async delete(id: string): Promise<void> {
    if (this.#of(id).summary.state === "running") throw new BulkheadError("busy", `Session "${id}" runs.`);
    this.#kept.delete(id);
  }

  readonly conversations: MemoryConversations = new MemoryConversations(this);

  async agents(): Promise<AgentReport[]> {
    return [{ id: "memory", availability: "available" } as AgentReport];
  }

  budgets(): Promise<[]> {
    return Promise.resolve([]);
  }

  async usage(): Promise<UsageRow[]> {
    return [];
  }

  events({ after, signal }: EventQuery = {}): AsyncIterable<Envelope> {
    return this.#log.subscribe({ ...(after === undefined ? {} : { after }), ...(signal ? { signal } : {}) });
  }

  async *#eventsOf(id: string, after: number, signal: AbortSignal | undefined): AsyncGenerator<Envelope> {
    for await (const envelope of this.#log.subscribe({ sessionId: id, after: 0, ...(signal ? { signal } : {}) })) {
      if (envelope.seq > after) yield envelope;
    }
  }

  #summary(id: string): SessionSummary {
    const { summary, stream } = this.#of(id);
    const conversation_id = this.conversations.firstOf(id);
    return { ...structuredClone(summary), last_seq: stream.lastSeq, conversation_id };
  }

  #of(id: string): Kept {
    const kept = this.#kept.get(id);
    if (kept === undefined) throw new BulkheadError("not_found", `There is no session "${id}".`);
    return kept;
  }
}

const noHistory: HistoryQueries = {
  findWords: () => ({ found: [], next: null }),
  uses: () => [],
  sessionsAt: () => [],
  countsAt: () => ({ running: 0, ended: 0, waiting: 0 }),
  numberAt: () => null,
  timeAt: () => null,
};

/** What a door asks of a host besides its sessions: one plugin whose grants are kept in memory. */
export function memoryFacts(): HostFacts & { state: Readiness; grant: Permissions; asked: Permissions } {
  const report = {
    id: "memory",
    instance_of: null,
    name: "Memory",
    version: "1.0.0",
    description: "Says what a test says.",
    adapter_type: "custom",
    folder: "/",
    origin: "bundled",
    enabled: true,
    trusted: false,
    isolation: "process",
    edited: false,
    env_missing: [],
    blocked: null,
    quarantine: null,
    waiting_update: null,
  };
  const demand = (id: string) => {
    if (id !== "memory") throw new BulkheadError("not_found", `There is no plugin with the id "${id}".`);
  };
  const facts: HostFacts & { state: Readiness; grant: Permissions; asked: Permissions } = {
    state: { ready: true },
    grant: {},
    asked: {},
    workspaces: noWorkspaces,
    aside: { until: async () => "", put: async () => {} },
    history: {
      ask: async (question) => ({ ...await question(noHistory, null as never), indexed_to: 0, last: 0 }),
    },
    verify: () => Promise.resolve({ ok: true, events: 0, batches: 0, problems: [] } as never),
    cluster: async () => null,
    reload: async () => ({ added: [], removed: [], changed: [], unavailable: [], restart_needed: [] }),
    plugins: {
      list: async () => [report],
      problems: async () => [],
      async explain(id) {
        demand(id);
        return {
          ...report,
          manifest: fakePlugin(id).manifest,
          pins: [],
          permissions: [],
          open_grants: [],
          programs: [],
          config: null,
          waiting_permissions: [],
        };
      },
      permissions(id) {
        demand(id);
        return [];
      },
      release: () => Promise.resolve(true),
      grants(id) {
        demand(id);
        return { plugin_id: id, grant: facts.grant, deny: {} };
      },
      standing: () => ({ now: "refused", grants: [] }),
      tried(id, grant) {
        demand(id);
        const plugin = { ...fakePlugin(id), grant: facts.grant };
        plugin.manifest = { ...plugin.manifest, permissions: facts.asked };
        const allows = allowedBy(plugin, { grants: [grant], places: { path: [] } });
        return { allows, judge: judgeUses(plugin, grant) };
      },
    },
    async addGrant({ permission, target }) {
      facts.grant = { ...facts.grant, [permission]: permission === "kv" ? true : [target] };
    },
    replaceGrant: async () => {},
    async setGrants(_, grant) {
      facts.grant = grant ?? {};
    },
    signals: () => [{ name: "bulkhead_sessions", help: "Sessions.", type: "counter", samples: [] }],
    readiness: () => Promise.resolve(facts.state),
  };
  return facts;
}
