import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { ClusterStatus } from "../../../plugin-sdk/cluster-status.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { ExplainedPlugin, PluginProblem, PluginReport } from "../../../plugin-sdk/plugin-report.ts";
import type { SessionCounts, SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { StoredAttachment } from "../../../plugin-sdk/messages.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { BudgetReport } from "../../../plugin-sdk/budget-report.ts";
import type { UsageQuery, UsageRow } from "../../../plugin-sdk/usage-row.ts";
import { type Api, call, callJson, type FetchLike, type Throttled } from "./call-api.ts";
import { ClientError } from "./client-error.ts";
import { followEvents } from "./follow-events.ts";
import { proveServer } from "./prove-server.ts";
import { queryText, type RemoteEventQuery, type StartOptions } from "./queries.ts";
import { type RemoteConversations, remoteConversations } from "./remote-conversations.ts";
import { type RemoteSession, remoteSession } from "./remote-session.ts";
import { type RemoteWorkspaces, remoteWorkspaces } from "./remote-workspaces.ts";
import { type Patience, retried } from "./retried.ts";

/** Options of {@link connectHost}. */
export interface ConnectHostOptions {
  /** Example: `http://127.0.0.1:7717`. Default, for a `fetch` that knows its host: `http://localhost`. */
  url?: string;
  /** The output of `bulkhead token create`, or the content of `http/token` in the host's state folder. */
  token?: string;
  /** Another way to the host, for example `unixFetch(path)`. Default: the runtime's own. */
  fetch?: FetchLike;
  /**
   * When the server must prove that it knows the token before the client sends it. Default: `each` request, since a
   * port may change hands between two; `never` with a custom `fetch`. `once` suits a socket in a folder of yours.
   */
  proof?: "each" | "once" | "never";
  /** How long to retry an unreachable host before a stream fails. Default: five minutes. */
  patienceMs?: number;
  /** Called before each retry of an unreachable host, with the milliseconds since the first failure. */
  onLost?: (lostMs: number) => unknown;
  /**
   * Called before each wait for a host that gets too many requests. The client then asks again when the host says, for a
   * minute at most, and no longer than `patienceMs`.
   */
  onThrottled?: (what: Throttled) => unknown;
}

/** How long a request waits in all for a host that gets too many. Milliseconds. */
const throttledMs = 60_000;

/** Changes of a reload: ids of plugins in use, and settings that wait for a restart. */
export interface RemoteReload {
  added: string[];
  removed: string[];
  changed: string[];
  /** Ids of enabled plugins that cannot be used. */
  unavailable: string[];
  restart_needed: string[];
}

/** A host behind its HTTP API. Every failure is a `ClientError`. */
export interface RemoteHost {
  /** Starts a session. With an `idempotency_key` a broken connection is retried without starting a second session. */
  start(request: SessionRequest, options?: StartOptions): Promise<RemoteSession>;
  list(query?: SessionQuery): Promise<SessionSummary[]>;
  /** Counts the sessions that match, by what a list can be narrowed to. */
  count(query?: SessionQuery): Promise<SessionCounts>;
  get(sessionId: string): Promise<SessionSummary>;
  /** Returns a session's grants, its attempts and the programs that were started for it. */
  history(sessionId: string): Promise<SessionHistory>;
  open(sessionId: string): Promise<RemoteSession>;
  /** Deletes the events of a session that has ended. */
  delete(sessionId: string): Promise<void>;
  agents(
    options?: { refresh?: boolean | undefined; probe?: boolean | undefined; require?: AgentCapabilities | undefined },
  ): Promise<AgentReport[]>;
  /** Uploads an image or a file, for a request or a message that names it within an hour. */
  attach(content: Uint8Array | AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<StoredAttachment>;
  /** Adds up what the sessions that have ended used, by day, agent and model. */
  usage(query?: UsageQuery): Promise<UsageRow[]>;
  /** Returns what the sessions of each budget of bulkhead.yaml have used. */
  budgets(): Promise<BudgetReport[]>;
  /** Merges all sessions' events; resumes by itself when the connection breaks. */
  events(query?: RemoteEventQuery): AsyncIterable<Envelope>;
  /** Talk with agents over several turns. */
  readonly conversations: RemoteConversations;
  /** The worktrees that sessions work in. */
  readonly workspaces: RemoteWorkspaces;
  plugins(): Promise<PluginReport[]>;
  /** Plugins that were found but cannot be used. */
  pluginProblems(): Promise<PluginProblem[]>;
  /** Returns a plugin with its permissions and the decision about each. */
  explain(pluginId: string): Promise<ExplainedPlugin>;
  grants(pluginId: string): Promise<{ plugin_id: string; grant: Permissions; deny: Permissions }>;
  /** Replaces a plugin's grants; null: removes them all. */
  setGrants(pluginId: string, grant: Permissions | null): Promise<void>;
  /** Adds one grant to a plugin's, for example `{ permission: "run", target: "git" }`; one `under: "deny"` denies it. */
  addGrant(pluginId: string, grant: { permission: string; target: string; under?: "grant" | "deny" }): Promise<void>;
  /** Replaces one of a plugin's grants by another in one step; `instead: null` takes it back. */
  replaceGrant(
    pluginId: string,
    replacement: { permission: string; target: string; instead: string | null },
  ): Promise<void>;
  /** Reloads the host manifest, for future sessions. */
  reload(): Promise<RemoteReload>;
  /** Returns the machines of the cluster and their logs, as this host sees them. */
  cluster(): Promise<ClusterStatus>;
  /** Makes a code that opens the console's page once: `<address>/console#code=<code>`. */
  consoleCode(scope?: "read" | "run" | "admin"): Promise<{ code: string; expires_at: string }>;
  /** Whether the host takes sessions. */
  ready(): Promise<boolean>;
  /** Returns why the host takes no sessions; null where it takes them. */
  refusal(): Promise<Pick<ErrorData, "code" | "message"> | null>;
}

/**
 * Connects to a host in another process. Sends nothing before the first call.
 *
 * ```ts
 * const host = connectHost({ url: "http://127.0.0.1:7717", token });
 * const session = await host.start({ workdir: "/project", prompt: "Fix it" });
 * for await (const { event } of session.events()) console.log(event.type);
 * ```
 */
export function connectHost(options: ConnectHostOptions = {}): RemoteHost {
  const { patienceMs = 300_000, onLost } = options;
  const patience: Patience = { patienceMs, onLost };
  const api = apiOf(options);
  const sessionOf = (id: string) => remoteSession(id, { api, patience });
  const get = async (id: string): Promise<SessionSummary> => await sessionOf(id).summary();

  return {
    async start(request, { signal, adapter, require, artifacts, ...unknown } = {}) {
      refuseUnknown(Object.keys(unknown));
      const post = () =>
        callJson<SessionSummary>(api, "/v1/sessions", {
          method: "POST",
          body: { ...request, ...given({ adapter, require, artifacts }) },
          leave: signal,
        });
      const { session_id } = request.idempotency_key === undefined
        ? await post()
        : await retried(post, { ...patience, signal });
      if (signal === undefined) return sessionOf(session_id);
      return interruptedBy(signal, ({ leave, onEnd }) => remoteSession(session_id, { api, patience, leave, onEnd }));
    },
    async list(query = {}) {
      const { sessions } = await callJson<{ sessions: SessionSummary[] }>(
        api,
        `/v1/sessions${queryText({ ...query })}`,
      );
      return sessions;
    },
    count: (query = {}) => callJson<SessionCounts>(api, `/v1/sessions/counts${queryText({ ...query })}`),
    get,
    attach: async (content) => {
      const body = content instanceof Uint8Array ? content : await collected(content);
      return await callJson<StoredAttachment>(api, "/v1/attachments", { method: "POST", body });
    },
    async usage(query = {}) {
      return (await callJson<{ rows: UsageRow[] }>(api, `/v1/spend${queryText({ ...query })}`)).rows;
    },
    budgets: async () => (await callJson<{ budgets: BudgetReport[] }>(api, "/v1/budgets")).budgets,
    history: (sessionId) => sessionOf(sessionId).history(),
    async open(sessionId) {
      await get(sessionId).catch((error: unknown) => {
        // A client that comes back to a deleted session learns from its events what it missed.
        if (!(error instanceof ClientError && error.details?.["deleted_at"] !== undefined)) throw error;
      });
      return sessionOf(sessionId);
    },
    delete: async (sessionId) => void await call(api, sessionPath(sessionId), { method: "DELETE" }),
    async agents({ refresh, probe, require } = {}) {
      const query = queryText({ refresh, probe, require: require === undefined ? undefined : JSON.stringify(require) });
      return (await callJson<{ agents: AgentReport[] }>(api, `/v1/agents${query}`)).agents;
    },
    events: (query = {}) =>
      followEvents({
        api,
        path: "/v1/events",
        query,
        numberOf: ({ gseq }) => gseq,
        isLast: () => false,
        patience,
      }),
    conversations: remoteConversations(api, patience),
    workspaces: remoteWorkspaces(api),
    plugins: async () => (await callJson<{ plugins: PluginReport[] }>(api, "/v1/plugins")).plugins,
    pluginProblems: async () => (await callJson<{ problems: PluginProblem[] }>(api, "/v1/plugins")).problems,
    explain: (pluginId) => callJson(api, pluginPath(pluginId)),
    grants: (pluginId) => callJson(api, `${pluginPath(pluginId)}/grants`),
    async setGrants(pluginId, grant) {
      const path = `${pluginPath(pluginId)}/grants`;
      await call(api, path, grant === null ? { method: "DELETE" } : { method: "PUT", body: grant });
    },
    addGrant: async (pluginId, grant) =>
      void await call(api, `${pluginPath(pluginId)}/grants`, { method: "POST", body: grant }),
    replaceGrant: async (pluginId, replacement) =>
      void await call(api, `${pluginPath(pluginId)}/grants/replace`, { method: "POST", body: replacement }),
    reload: () => callJson(api, "/v1/reload", { method: "POST" }),
    cluster: () => callJson(api, "/v1/cluster"),
    consoleCode: (scope) =>
      callJson(api, "/v1/console/codes", { method: "POST", body: scope === undefined ? {} : { scope } }),
    ready: () => call(api, "/ready").then(() => true, () => false),
    refusal: () => call(api, "/ready").then(() => null, ({ code, message }: ClientError) => ({ code, message })),
  };
}

async function collected(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of content) pieces.push(new Uint8Array(piece));
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

function apiOf(options: ConnectHostOptions): Api {
  const { url = "http://localhost", token, fetch: given, patienceMs = throttledMs, onThrottled } = options;
  const { proof = given === undefined ? "each" : "never" } = options;
  const deps = {
    // "localhost" is [::1], too, where another user's program may listen; a host listens on 127.0.0.1.
    url: (given === undefined ? url.replace(/^http:\/\/localhost(?=[:/]|$)/i, "http://127.0.0.1") : url).replace(
      /\/+$/,
      "",
    ),
    fetch: given ?? ((place: string, init: RequestInit) => fetch(place, init)),
    token,
  };
  let isProven = token === undefined || proof === "never";
  return {
    ...deps,
    patienceMs: Math.min(patienceMs, throttledMs),
    onThrottled,
    prove: async (signal) => {
      if (isProven || token === undefined) return;
      await proveServer(deps, token, signal);
      isProven = proof === "once";
    },
  };
}

/**
 * Interrupts a session when the signal aborts, unless it has ended; leaves it where the host cannot be reached to do so.
 */
function interruptedBy(
  signal: AbortSignal,
  open: (options: { leave: AbortSignal; onEnd(): void }) => RemoteSession,
): RemoteSession {
  const leaving = new AbortController();
  const stop = () => void session.interrupt().catch((cause: unknown) => leaving.abort(leftError(session, cause)));
  const session = open({ leave: leaving.signal, onEnd: () => signal.removeEventListener("abort", stop) });
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return session;
}

function leftError({ id }: RemoteSession, cause: unknown): ClientError {
  return new ClientError({
    code: "interrupted",
    message: `Left session "${id}": the host does not answer, so it was not interrupted.`,
    hint: '"bulkhead status" tells whether the host runs.',
  }, { cause });
}

/** A JavaScript caller has no compiler to say where a field belongs; without it, another agent would run. */
function refuseUnknown([name]: readonly string[]): void {
  if (name === undefined) return;
  throw new ClientError({
    code: "invalid_request",
    message: `Cannot start a session: there is no option "${name}".`,
    hint: "Options are adapter, artifacts, require and signal. The first argument takes the fields of the request.",
  });
}

/** Drops options that are undefined: they must not remove a field of the request. */
function given(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function sessionPath(id: string): string {
  return `/v1/sessions/${encodeURIComponent(id)}`;
}

function pluginPath(id: string): string {
  return `/v1/plugins/${encodeURIComponent(id)}`;
}
