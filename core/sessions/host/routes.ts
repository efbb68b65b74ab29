import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { AvailabilityReport } from "../../../plugin-sdk/availability.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { nextTurn } from "../../ground/platform/engine/next-turn.ts";
import type { CrashRecord } from "../../../plugin-sdk/plugin-report.ts";
import { quarantineError } from "../../walls/pool/plugin-health.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import type { RegistryProblem } from "../../packages/registry/registry.ts";
import type { AttemptEnd } from "../session/admitted.ts";
import { type MissingKeys, noKeyMissing } from "../routing/access-key.ts";
import type { MeteredCall } from "../../walls/agent/meter/meter.ts";
import { AccessModeCounters } from "../routing/access-mode-counters.ts";
import {
  describeAgent,
  type DescribeAgentOptions,
  describeUnavailable,
  type RoutableAgent,
} from "../routing/agent-report.ts";
import { AvailabilityBoard, type Probed } from "../routing/availability-board.ts";
import {
  chooseRoute,
  estimateTokens,
  type Route,
  type RouteCandidate,
  type RouteWish,
} from "../routing/choose-route.ts";
import { demandCandidate } from "../routing/demand-candidate.ts";
import { bothRequired } from "../routing/lacking.ts";
import type { AgentGauges } from "./signals.ts";
import { stoppedPlugins, unknownAdapter } from "../routing/unknown-adapter.ts";
import { openUseFiles, type UseStore } from "../routing/use-files.ts";

interface RouteDeps {
  /** Returns every plugin, enabled or not. */
  plugins(): readonly Plugin[];
  plugin(id: string): Plugin | undefined;
  /** Returns the plugins that cannot be used. */
  problems(): readonly RegistryProblem[];
  settings: { readonly manifest: Pick<HostManifest, "plugins" | "tools" | "routing"> | undefined };
  /** The state folder and this host's part of it. */
  claim: { root: string; folder: string };
  probe(adapterId: string, signal: AbortSignal): Promise<Probed | null>;
  quarantined(): Promise<CrashRecord[]>;
  /** Returns the keys that the access modes of a plugin's session would lack. */
  missingKeys(adapterId: string, env?: SessionRequest["env"]): Promise<MissingKeys>;
  /** Shares the use of access modes with further hosts. */
  shareUses?: ((files: UseStore) => UseStore) | undefined;
}

/** Options of {@link Routes.route}. */
export interface RouteOptions {
  /** `auto`, one id, or a chain of ids; absent: the host manifest's `routing.agent`. */
  adapter?: string | readonly string[] | undefined;
  /** Capabilities that the agent must have, in addition to the host manifest's unless one adapter is named. */
  require?: AgentCapabilities | undefined;
  /** The session's request: its model and prompt size affect the choice. */
  request?:
    | Partial<Pick<SessionRequest, "model" | "prompt" | "system_prompt" | "timeout_ms" | "retry" | "env" | "replay_of">>
    | undefined;
}

/** Options of {@link Routes.agents}. */
export interface AgentsOptions {
  /** Asks every agent now, even if an earlier answer is still fresh. */
  refresh?: boolean | undefined;
  /** False: asks none; an agent that was never asked counts as available. */
  probe?: boolean | undefined;
  /** Capabilities that the primary agent must have, in addition to those that the host manifest requires. */
  require?: AgentCapabilities | undefined;
}

/** One adapter through one of its access modes. */
export type Way = Pick<RouteCandidate, "adapter_id" | "access_mode" | "limited_until">;

/** Chooses adapters and keeps what is known of their agents. */
export interface Routes {
  /** Returns a report on every agent. Asks those whose last answer is too old, or all with `refresh`. */
  agents(options?: AgentsOptions): Promise<AgentReport[]>;
  /** Returns the result of an adapter's own probe, run now. */
  probe(adapterId: string): Promise<AvailabilityReport>;
  /** @throws {BulkheadError} when no adapter can take the session, saying for each why */
  route(options?: RouteOptions): Promise<Route>;
  /** Returns the ids of a chain in the order in which they are tried; none for any other choice. */
  chain(options: Pick<RouteOptions, "adapter">): readonly string[];
  /** Counts an attempt's request. */
  started(way: Way): void;
  /** Notes the provider's limits, as a call of the agent's model told them. */
  told(way: Way, call: Pick<MeteredCall, "status" | "windows" | "retry_ms">): void;
  /** Counts what an attempt used. After a failure the agent is asked again before it is chosen again. */
  ended(way: Way, end: AttemptEnd, session: { hasOwnKey: boolean }): void;
  /** Returns the last known availability; asks no agent. */
  gauges(): AgentGauges;
  forget(adapterId: string): void;
  /** Writes the counts. */
  close(): Promise<void>;
}

/** How long the result of a probe holds, unless the host manifest says otherwise. */
const ttlMs = 60_000;
/** Longest age of the counts of hosts that report them at once. */
const sharedAgeMs = 100;
/** Wait after a rate limit whose end is unknown. */
const unknownWaitMs = 60_000;
/** How long a session without a deadline of its own waits for a limited agent of a chain. */
const patienceMs = 60_000;

/** Makes a host's routes; asks and reads nothing before it is needed. */
export function openRoutes(deps: RouteDeps): Routes {
  return new HostRoutes(deps);
}

class HostRoutes implements Routes {
  readonly #deps: RouteDeps;
  readonly #counters: AccessModeCounters;
  readonly #board: AvailabilityBoard;
  /** Keys that each agent lacked when it was last described. */
  readonly #missing = new Map<string, MissingKeys>();

  constructor(deps: RouteDeps) {
    this.#deps = deps;
    const files = openUseFiles(deps.claim);
    this.#counters = deps.shareUses === undefined
      ? new AccessModeCounters({ store: files })
      : new AccessModeCounters({ store: deps.shareUses(files), othersAgeMs: sharedAgeMs });
    this.#board = new AvailabilityBoard({
      probe: deps.probe,
      ttlMs: () => this.#routing.availability_ttl_ms ?? ttlMs,
    });
  }

  async agents({ refresh, probe, require = {} }: AgentsOptions = {}): Promise<AgentReport[]> {
    const found = await this.#describe(listed(this.#deps), { refresh, probe });
    const enabled = found.filter(({ report }) => this.#deps.plugin(report.id)?.enabled);
    const [primary] = chooseRoute(this.#wishOf({ require }), enabled).candidates;
    return inOrder([...found, ...this.#unavailable()], ({ report }) => report.id, this.#deps)
      .map(({ report }) => ({ ...report, primary: report.id === primary?.adapter_id }));
  }

  async probe(adapterId: string): Promise<AvailabilityReport> {
    return (await this.#board.ask(adapterId, { refresh: true })).report;
  }

  async route(options: RouteOptions = {}): Promise<Route> {
    const only = this.#onlyOne(options);
    if (only) return { candidates: [only], passed_over: [] };
    const wish = this.#wishOf(options);
    const { wanted } = wish;
    const isWanted = ({ id, enabled }: Plugin) => wanted === "auto" ? enabled : wanted.includes(id);
    const considered = typeof wanted === "string" && wanted !== "auto"
      ? [await this.#named(wanted, options.request)]
      : [
        ...await this.#describe(listed(this.#deps).filter(isWanted), { env: options.request?.env }),
        ...this.#unavailable(),
      ];
    return demandCandidate(chooseRoute(wish, considered), wish);
  }

  chain({ adapter = this.#routing.agent }: Pick<RouteOptions, "adapter">): readonly string[] {
    return typeof adapter === "string" ? [] : [...new Set(adapter)];
  }

  started({ adapter_id, access_mode }: Way): void {
    // Without modes there are no ceilings to count for.
    if (access_mode !== null) this.#counters.requested({ adapterId: adapter_id, mode: access_mode });
  }

  told({ adapter_id, access_mode }: Way, call: Pick<MeteredCall, "status" | "windows" | "retry_ms">): void {
    this.#counters.told({ adapterId: adapter_id, mode: access_mode }, call);
  }

  ended(
    { adapter_id, access_mode }: Way,
    { tokens, error, wait_ms }: AttemptEnd,
    { hasOwnKey }: { hasOwnKey: boolean },
  ): void {
    const used = { adapterId: adapter_id, mode: access_mode };
    if (access_mode !== null) this.#counters.used(used, tokens);
    if (error === undefined) return;
    const isUntold = wait_ms === null || wait_ms === undefined;
    // The provider's own answer is exact.
    if (error.code === "rate_limit" && !hasOwnKey && !(isUntold && this.#counters.isLimited(used))) {
      this.#counters.limited(used, wait_ms ?? unknownWaitMs);
    }
    if (!ownDoing.has(error.code)) this.#board.doubt(adapter_id);
  }

  gauges(): AgentGauges {
    const known = listed(this.#deps).filter(({ enabled }) => enabled).flatMap((plugin) => {
      const found = this.#board.known(plugin.id);
      return found ? [this.#agentOf(plugin, found, this.#missing.get(plugin.id))] : [];
    });
    const available = known.filter(({ report }) => report.availability === "available").length;
    const [primary] = chooseRoute(this.#wishOf({}), known).candidates;
    return { available: known.length === 0 ? null : available, primary: primary?.adapter_id ?? null };
  }

  forget(adapterId: string): void {
    this.#board.forget(adapterId);
    this.#missing.delete(adapterId);
  }

  close(): Promise<void> {
    return this.#counters.settled();
  }

  get #routing(): HostManifest["routing"] {
    return this.#deps.settings.manifest?.routing ?? { agent: "auto" };
  }

  /**
   * Returns the route of most sessions, which name one adapter without modes: there is nothing to choose or look up.
   */
  #onlyOne({ adapter = this.#routing.agent, require }: RouteOptions): RouteCandidate | null {
    if (typeof adapter !== "string" || require !== undefined) return null;
    const plugin = this.#deps.plugin(adapter);
    return plugin?.enabled && !plugin.manifest.access_modes
      ? { adapter_id: adapter, access_mode: null, further_modes: [] }
      : null;
  }

  /** Does not ask the agent of an adapter that is named alone first: its session says whether it can run. */
  async #named(id: string, { env, replay_of }: RouteOptions["request"] = {}): Promise<RoutableAgent> {
    const plugin = this.#deps.plugin(id);
    if (!plugin?.enabled) throw unknownAdapter(id, [...this.#deps.plugins(), ...stoppedPlugins(this.#deps.problems())]);
    if (plugin.manifest.access_modes) await this.#counters.refresh();
    // A replay needs no key.
    const missing = replay_of === undefined ? await this.#keysOf(plugin, env) : noKeyMissing;
    return this.#agentOf(plugin, this.#board.known(id) ?? unasked, missing);
  }

  #unavailable(): RoutableAgent[] {
    return stoppedPlugins(this.#deps.problems()).map((one) => describeUnavailable(one, Date.now()));
  }

  #wishOf({ adapter = this.#routing.agent, require = {}, request = {} }: RouteOptions): RouteWish {
    const routing = this.#routing;
    const { model, prompt, system_prompt, timeout_ms = patienceMs, retry } = request;
    const [first, ...others] = typeof adapter === "string" ? [adapter] : adapter;
    const alone = first !== undefined && others.length === 0 ? first : null;
    return {
      wanted: alone ?? adapter,
      // The host manifest's requirements do not apply to a client that names one adapter.
      require: alone === null || alone === "auto" ? bothRequired(routing.require ?? {}, require) : require,
      model,
      prompt_tokens: prompt === undefined ? undefined : estimateTokens(prompt, system_prompt),
      order: routing.order,
      patient_until: retry === "never" ? undefined : Date.now() + timeout_ms,
    };
  }

  async #describe(
    plugins: readonly Plugin[],
    { refresh = false, probe = true, env }: Pick<AgentsOptions, "refresh" | "probe"> & {
      env?: SessionRequest["env"];
    } = {},
  ): Promise<RoutableAgent[]> {
    const [stopped] = await Promise.all([this.#stoppedPlugins(), this.#counters.refresh()]);
    let turn = Promise.resolve();
    return await Promise.all(plugins.map(async (plugin, at) => {
      // What each may do takes some milliseconds to compare: others have their turn in between.
      if (at > 0) await (turn = turn.then(nextTurn));
      const why = plugin.enabled ? stopped.get(plugin.id) : notEnabled(plugin);
      if (why) return this.#agentOf(plugin, { stopped: why });
      const [found, missing] = await Promise.all([
        probe ? this.#board.ask(plugin.id, { refresh }) : this.#board.known(plugin.id) ?? unasked,
        probe ? this.#keysOf(plugin, env) : noKeyMissing,
      ]);
      return this.#agentOf(plugin, found, missing);
    }));
  }

  #agentOf(plugin: Plugin, found: DescribeAgentOptions["found"], missing = noKeyMissing): RoutableAgent {
    const useOf: DescribeAgentOptions["useOf"] = (mode) => this.#counters.useOf({ adapterId: plugin.id, mode });
    return describeAgent({ plugin, found, useOf, missing, now: Date.now() });
  }

  /** Takes no key for missing where that cannot be read: the session itself says why. */
  async #keysOf({ id }: Plugin, env: SessionRequest["env"]): Promise<MissingKeys> {
    const missing = await this.#deps.missingKeys(id, env).catch(() => noKeyMissing);
    if (env === undefined) this.#missing.set(id, missing);
    return missing;
  }

  async #stoppedPlugins(): Promise<Map<string, AvailabilityReport>> {
    const records = await this.#deps.quarantined().catch(() => []);
    return new Map(records.map((record) => {
      const { message, hint } = quarantineError(record);
      return [record.plugin_id, { availability: "disabled", reason: message, ...(hint ? { next_step: hint } : {}) }];
    }));
  }
}

/** Errors that a session's client or host caused: they say nothing about the agent. */
const ownDoing: ReadonlySet<ErrorCode> = new Set([
  "interrupted",
  "limit_exceeded",
  "budget_exceeded",
  "host_closed",
  "invalid_request",
]);

const unasked: DescribeAgentOptions["found"] = { stopped: { availability: "available", reason: "It was not asked." } };

/** Returns the plugins in the order of the host manifest, then the others by id. */
function listed(deps: RouteDeps): Plugin[] {
  return inOrder(deps.plugins(), ({ id }) => id, deps);
}

function inOrder<T>(all: readonly T[], idOf: (one: T) => string, { settings: { manifest } }: RouteDeps): T[] {
  const order = [...Object.keys(manifest?.plugins ?? {}), ...Object.keys(manifest?.tools ?? {})];
  const placeOf = (one: T) => order.includes(idOf(one)) ? order.indexOf(idOf(one)) : order.length;
  return all.toSorted((a, b) => placeOf(a) - placeOf(b));
}

function notEnabled({ id, blocked }: Plugin): AvailabilityReport {
  if (blocked !== undefined) return { availability: "disabled", reason: `${blocked}.` };
  return {
    availability: "disabled",
    reason: "It is not enabled.",
    next_step: `Run: bulkhead plugin enable ${id}`,
  };
}

/** Returns the ways of a route as they are tried: all open modes of an adapter, then the next adapter. */
export function waysOf({ candidates }: Route): Way[] {
  return candidates.flatMap(({ access_mode, further_modes, ...candidate }) =>
    [access_mode, ...further_modes].map((mode) => ({ ...candidate, access_mode: mode }))
  );
}
