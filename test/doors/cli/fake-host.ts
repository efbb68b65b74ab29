import { noConversations } from "../../sessions/host/no-conversations.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import type { RouteOptions } from "../../../core/sessions/host/routes.ts";
import type { Route } from "../../../core/sessions/routing/choose-route.ts";
import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { Host, HostOptions } from "../../../core/sessions/host/host.ts";
import type { SessionHandle } from "../../../core/sessions/host/session-host.ts";
import { defaultOsWallUses } from "../../../core/ground/platform/os-walls/os-wall.ts";
import type { CrashRecord } from "../../../plugin-sdk/plugin-report.ts";
import { runAll } from "../../../core/sessions/host/run-all.ts";
import { runLoop } from "../../../core/sessions/host/run-loop.ts";
import type { Plugin } from "../../../core/packages/manifest/plugin.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { type EffectiveSettings, outcomeOf, type SessionResult, type StopReason } from "../../../plugin-sdk/result.ts";
import { memoryAttach } from "../../sessions/host/attachments/memory-attach.ts";

export function fakePlugin(id: string, changes: Partial<Plugin> = {}): Plugin {
  return {
    id,
    manifest: {
      manifest: 1,
      id,
      name: `Plugin ${id}`,
      version: "1.2.3",
      description: `What ${id} does.`,
      license: "MIT",
      host: "^1.0.0",
      adapter_type: "tool",
      entry: "./mod.ts",
      capabilities: {},
    },
    folder: `/plugins/${id}`,
    origin: "folder",
    enabled: true,
    trusted: false,
    trust_tools: false,
    isolation: "process",
    os_walls: defaultOsWallUses,
    grant: {},
    deny: {},
    config: {},
    limits: defaultLimits,
    ...changes,
  };
}

export function fakeResult(changes: Partial<SessionResult> = {}): SessionResult {
  const stop_reason: StopReason = changes.stop_reason ?? "end_turn";
  return {
    session_id: "s1",
    task_id: null,
    outcome: outcomeOf(stop_reason),
    stop_reason,
    output: "All done.",
    usage: {
      tokens_in: 600,
      tokens_out: 120,
      tokens_cached: null,
      cost: 0.0036,
      currency: "USD",
      model: "model-x",
      duration_ms: 2100,
      scope: "session",
      basis: "reported",
    },
    artifacts: [],
    claimed_only: [],
    confidence: null,
    metadata: { tool_version: null, permissions: { allowed: 0, denied: 0, by: {} } },
    provenance: {
      adapter_id: "alpha",
      adapter_version: "1.2.3",
      package_sha256: null,
      grants: {},
      host_version: "0.1.0",
      runtime: "node 20",
      model: null,
      prompt_sha256: "0".repeat(64),
      sent_prompt_sha256: null,
      git_base: null,
      git_head: null,
    },
    requested: { workdir: "/w", prompt: "p" },
    effective: fakeSettings(),
    iterations: 1,
    attempts: [],
    substitutions: [],
    ...changes,
  };
}

/** Settings of a session that nothing was asked of. */
export function fakeSettings(): EffectiveSettings {
  return {
    permissions: {},
    model: null,
    timeout_ms: 1,
    idle_timeout_ms: 1,
    allowed_tools: null,
    max_turns: null,
    approval: "ask",
    budget: null,
    workspace: "inplace",
    access_mode: null,
    unenforced: [],
  };
}

export function fakeAgent(id: string, changes: Partial<AgentReport> = {}): AgentReport {
  const checked_at = "2026-01-01T00:00:00.000Z";
  const available = (changes.availability ?? "available") === "available";
  return {
    id,
    name: `Plugin ${id}`,
    version: "1.2.3",
    adapter_type: "tool",
    availability: "available",
    reason: "It is here.",
    agent_version: "9.9",
    checked_at,
    health: {
      status: available ? "healthy" : "unhealthy",
      latency_ms: 1,
      last_check: checked_at,
      details: { binary_found: available, authenticated: available },
    },
    access_mode: null,
    access_modes: [],
    capabilities: {},
    models: [],
    primary: false,
    ...changes,
  };
}

/** Envelopes of one session around events. */
export function envelopesOf(
  events: readonly Envelope["event"][],
  { adapter = "alpha", session = "s1" }: { adapter?: string; session?: string } = {},
): Envelope[] {
  return events.map((event, index): Envelope => ({
    v: 1,
    seq: index + 1,
    gseq: index + 1,
    ts: "2026-01-01T00:00:00.000Z",
    session_id: session,
    attempt: 1,
    adapter: { id: adapter, version: "1.2.3" },
    source: "agent",
    event,
  }));
}

export interface FakeHostOptions {
  plugins?: Plugin[];
  problems?: ReturnType<Host["registry"]["problems"]>;
  events?: Envelope["event"][];
  result?: SessionResult;
  quarantined?: CrashRecord[];
  agents?: AgentReport[];
  route?: Route;
  workspaces?: Host["workspaces"];
  /** What recordings leave out. */
  leftOut?: { path: string; reason: string }[];
  /** Called before the session's end, with its signal: to interrupt it from a test. */
  during?: (signal: AbortSignal) => Promise<void> | void;
}

export interface FakeHost {
  create(options: HostOptions): Promise<Host>;
  requests: { request: SessionRequest; adapter: string | readonly string[] }[];
  routes: RouteOptions[];
  options: HostOptions[];
  answers: [string, string][];
  recorded: string[];
  closed: number;
}

const none = (): Promise<never> => Promise.reject(new BulkheadError("not_found", "There is none."));
/** Of a host where no session worked in a worktree. */
export const noWorkspaces: Host["workspaces"] = {
  list: () => Promise.resolve([]),
  folderState: none,
  diff: none,
  apply: none,
  applyPatch: none,
  discard: none,
  held: () => Promise.resolve([]),
  settleHeld: none,
  prune: () => Promise.resolve({ removed: [], failed: [] }),
};

/** A host that plays the same session for every request. */
export function fakeHost(given: FakeHostOptions = {}): FakeHost {
  const { plugins = [fakePlugin("alpha")], events = [], result = fakeResult(), during } = given;
  const fake: FakeHost = { create, requests: [], routes: [], options: [], answers: [], recorded: [], closed: 0 };
  return fake;

  async function create(options: HostOptions): Promise<Host> {
    fake.options.push(options);
    const host: Host = {
      registry: {
        list: () => plugins,
        get: (id) => plugins.find((plugin) => plugin.id === id),
        problems: () => given.problems ?? [],
        register: () => Promise.reject(new BulkheadError("unsupported", "Not in a test.")),
        remove: () => Promise.resolve(),
      },
      edited: () => Promise.resolve([]),
      codeOf: () => Promise.resolve(null),
      runSession: async (request, { adapter = "auto", signal = new AbortController().signal } = {}) => {
        fake.requests.push({ request, adapter });
        return session(signal);
      },
      runAll: (request, run = {}) => runAll(host, request, run),
      runLoop: (request, run = {}) => runLoop(host, request, run),
      events: () => session(new AbortController().signal).events(),
      signals: () => [],
      load: () => Promise.resolve({ sha256: "0".repeat(64), drift: [] }),
      quarantined: () => Promise.resolve(given.quarantined ?? []),
      release: (id) => Promise.resolve((given.quarantined ?? []).some(({ plugin_id }) => plugin_id === id)),
      agents: () =>
        Promise.resolve(given.agents ?? plugins.map(({ id }, index) => fakeAgent(id, { primary: index === 0 }))),
      route: (options = {}) => {
        fake.routes.push(options);
        return Promise.resolve(
          given.route ??
            {
              candidates: plugins.map(({ id }) => ({ adapter_id: id, access_mode: null, further_modes: [] })),
              passed_over: [],
            },
        );
      },
      record: (session_id, file) => {
        fake.recorded.push(file);
        return Promise.resolve({ session_id, file, bytes: 1, events: 2, files: 3, left_out: given.leftOut ?? [] });
      },
      verify: () => Promise.reject(new Error("no journal")),
      history: { ask: () => Promise.reject(new Error("no history")) },
      workspaces: given.workspaces ?? noWorkspaces,
      reload: () => Promise.resolve({ added: [], removed: [], changed: [], unavailable: [] }),
      sessions: {
        start: (request, options) => host.runSession(request, options),
        list: () => Promise.resolve([]),
        count: none,
        get: none,
        history: none,
        open: none,
        delete: none,
        attach: memoryAttach().attach,
        agents: (options) => host.agents(options),
        conversations: noConversations,
        usage: () => Promise.resolve([]),
        budgets: () => Promise.resolve([]),
        events: () => session(new AbortController().signal).events(),
      },
      pinned: () => Promise.resolve([]),
      probe: () => Promise.resolve({ availability: "available", reason: "It is here.", version: "9.9" }),
      resumeLost: () => Promise.resolve({ reason: "it is a fake" }),
      limits: () => ({ host_sessions: 10, idempotency_ms: 1000 }),
      waiting: () => ({}),
      facts: () => ({}),
      idle: () => Promise.resolve(),
      stateProblem: () => Promise.resolve(null),
      carried: { carry: () => Promise.resolve(), bring: () => Promise.resolve() },
      attach: (content) => host.sessions.attach(content instanceof Uint8Array ? oneOf(content) : content),
      close: async () => {
        fake.closed += 1;
      },
    };
    return host;
  }

  function session(signal: AbortSignal): SessionHandle {
    let settle: (result: SessionResult) => void = () => {};
    const settled = new Promise<SessionResult>((resolve) => (settle = resolve));
    return {
      id: "s1",
      result: () => settled,
      interrupt: () => settled,
      answer: (requestId, choice) => {
        fake.answers.push([requestId, choice ?? ""]);
        return Promise.resolve(true);
      },
      async *events() {
        yield* envelopesOf(events);
        await during?.(signal);
        const ended = signal.aborted ? fakeResult({ stop_reason: "interrupted" }) : result;
        yield* envelopesOf([{ type: "session_ended", result: ended }]);
        settle(ended);
      },
    };
  }
}

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield await Promise.resolve(bytes);
}
