import type { AgentReport } from "../../../plugin-sdk/agent-report.ts";
import type { AvailabilityReport } from "../../../plugin-sdk/availability.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { ErrorCode, ErrorData } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { type CrashRecord, quarantineError } from "../../walls/pool/plugin-health.ts";
import type { Plugin } from "../../packages/registry/plugin.ts";
import { AccessModeCounters } from "../routing/access-mode-counters.ts";
import { type AgentFacts, describeAgent, type RoutableAgent } from "../routing/agent-report.ts";
import { AvailabilityBoard, type Probed } from "../routing/availability-board.ts";
import { chooseRoute, type Route, type RouteCandidate, type RouteWish } from "../routing/choose-route.ts";
import { demandCandidate } from "../routing/demand-candidate.ts";
import { estimateTokens } from "../routing/estimate-tokens.ts";
import { bothRequired } from "../routing/lacking.ts";
import type { AgentGauges } from "./signals.ts";
import { unknownAdapter } from "../routing/unknown-adapter.ts";
import { openUseFiles } from "../routing/use-files.ts";

/** What a host's routes are made from. */
export interface RouteDeps {
  /** Every plugin, enabled or not. */
  plugins(): readonly Plugin[];
  plugin(id: string): Plugin | undefined;
  settings: { readonly manifest: Pick<HostManifest, "plugins" | "tools" | "routing"> | undefined };
  /** The state folder and this host's part of it. */
  claim: { root: string; folder: string };
  probe(adapterId: string, signal: AbortSignal): Promise<Probed>;
  quarantined(): Promise<CrashRecord[]>;
}

/** For which session a route is. */
export interface RouteOptions {
  /** `auto`, one id, or a chain of ids; absent: what the host manifest says under `routing.agent`. */
  adapter?: string | readonly string[];
  /** What the agent must be able to do, beside what the host manifest requires where not one adapter is named. */
  require?: AgentCapabilities;
  /** The session's request: its model and the size of its prompt count. */
  request?: Partial<Pick<SessionRequest, "model" | "prompt" | "system_prompt">>;
}

/** What is wanted of a list of agents. */
export interface AgentsOptions {
  /** Ask every agent now, whatever is known already. */
  refresh?: boolean;
  /** What the one that is called primary must be able to do, beside what the host manifest requires. */
  require?: AgentCapabilities;
}

/** How an attempt on a candidate ended. */
export interface AttemptEnd {
  /** Null where nobody tells. */
  tokens: number | null;
  error?: ErrorData | undefined;
  /** For a rate limit: how long it holds; null where nobody said. */
  wait_ms?: number | null;
}

/** One adapter through one of its access modes. */
export type RoutedWay = Pick<RouteCandidate, "adapter_id" | "access_mode">;

/** Chooses adapters and keeps what is known of their agents. */
export interface Routes {
  /** A report on every agent, each asked where what is known is too old, or with `refresh`. */
  agents(options?: AgentsOptions): Promise<AgentReport[]>;
  /** What an adapter's own probe finds now. */
  probe(adapterId: string): Promise<AvailabilityReport>;
  /** @throws {BulkheadError} when no adapter can take the session, saying for each why */
  route(options?: RouteOptions): Promise<Route>;
  /** Counts an attempt's request. */
  started(way: RoutedWay): void;
  /** Counts what an attempt used. After a failure the agent is asked anew before it is chosen again. */
  ended(way: RoutedWay, end: AttemptEnd): void;
  /** What was found last; asks nobody. */
  gauges(): AgentGauges;
  forget(adapterId: string): void;
  /** Writes what was counted. */
  close(): Promise<void>;
}

/** How long what a probe found holds, unless the host manifest says otherwise. */
const ttlMs = 60_000;
/** For a rate limit of which nobody knows the end. */
const unknownWaitMs = 60_000;

/** Makes a host's routes; nothing is asked or read before it is needed. */
export function openRoutes(ground: RouteDeps): Routes {
  const routingNow = (): HostManifest["routing"] => ground.settings.manifest?.routing ?? { agent: "auto" };
  const counters = new AccessModeCounters({ store: openUseFiles(ground.claim) });
  const board = new AvailabilityBoard({ probe: ground.probe, ttlMs: () => routingNow().availability_ttl_ms ?? ttlMs });

  return {
    agents,
    route,
    started: ({ adapter_id, access_mode }) => {
      // Without modes there are no ceilings to count for.
      if (access_mode !== null) counters.requested({ adapterId: adapter_id, mode: access_mode });
    },
    ended,
    gauges,
    probe: async (adapterId) => (await board.ask(adapterId, { refresh: true })).report,
    forget: (adapterId) => board.forget(adapterId),
    close: () => counters.settled(),
  };

  async function agents({ refresh = false, require = {} }: AgentsOptions = {}): Promise<AgentReport[]> {
    const all = await describe(listed(ground), { refresh });
    const enabled = all.filter(({ report }) => ground.plugin(report.id)?.enabled);
    const [primary] = chooseRoute(wishOf({ require }), enabled).candidates;
    return all.map(({ report }) => ({ ...report, primary: report.id === primary?.adapter_id }));
  }

  function gauges(): AgentGauges {
    const known = listed(ground).filter(({ enabled }) => enabled).flatMap((plugin) => {
      const found = board.known(plugin.id);
      return found ? [agentOf(plugin, found)] : [];
    });
    const available = known.filter(({ report }) => report.availability === "available").length;
    const [primary] = chooseRoute(wishOf({}), known).candidates;
    return { available: known.length === 0 ? null : available, primary: primary?.adapter_id ?? null };
  }

  async function route(options: RouteOptions = {}): Promise<Route> {
    const only = onlyOne(options);
    if (only) return { candidates: [only], passed_over: [] };
    const wish = wishOf(options);
    const { wanted } = wish;
    const considered = typeof wanted === "string" && wanted !== "auto"
      ? [await named(wanted)]
      : await describe(listed(ground).filter(({ id, enabled }) => wanted === "auto" ? enabled : wanted.includes(id)));
    return demandCandidate(chooseRoute(wish, considered), wish);
  }

  /** Most sessions name one adapter that lists no modes: then there is nothing to choose and nothing to look up. */
  function onlyOne({ adapter = routingNow().agent, require }: RouteOptions): RouteCandidate | null {
    if (typeof adapter !== "string" || require !== undefined) return null;
    const plugin = ground.plugin(adapter);
    return plugin?.enabled && !plugin.manifest.access_modes
      ? { adapter_id: adapter, access_mode: null, further_modes: [] }
      : null;
  }

  /** One that is named alone is not asked first: its session says whether it can. */
  async function named(id: string): Promise<RoutableAgent> {
    const plugin = ground.plugin(id);
    if (!plugin?.enabled) throw unknownAdapter(id, ground.plugins());
    if (plugin.manifest.access_modes) await counters.refresh();
    return agentOf(plugin, board.known(id) ?? unasked);
  }

  function wishOf({ adapter = routingNow().agent, require = {}, request = {} }: RouteOptions): RouteWish {
    const routing = routingNow();
    const { model, prompt, system_prompt } = request;
    const [first, ...others] = typeof adapter === "string" ? [adapter] : adapter;
    const alone = first !== undefined && others.length === 0 ? first : null;
    return {
      wanted: alone ?? adapter,
      // Whoever names one adapter has decided already.
      require: alone === null || alone === "auto" ? bothRequired(routing.require ?? {}, require) : require,
      model,
      prompt_tokens: prompt === undefined ? undefined : estimateTokens(prompt, system_prompt),
      order: routing.order,
    };
  }

  async function describe(
    plugins: readonly Plugin[],
    { refresh = false }: { refresh?: boolean } = {},
  ): Promise<RoutableAgent[]> {
    const [stopped] = await Promise.all([stoppedPlugins(), counters.refresh()]);
    return await Promise.all(plugins.map(async (plugin) => {
      const why = plugin.enabled ? stopped.get(plugin.id) : notEnabled(plugin);
      return agentOf(plugin, why ? { stopped: why } : await board.ask(plugin.id, { refresh }));
    }));
  }

  function agentOf(plugin: Plugin, found: AgentFacts["found"]): RoutableAgent {
    const useOf: AgentFacts["useOf"] = (mode) => counters.useOf({ adapterId: plugin.id, mode });
    return describeAgent({ plugin, found, useOf, now: Date.now() });
  }

  async function stoppedPlugins(): Promise<Map<string, AvailabilityReport>> {
    const records = await ground.quarantined().catch(() => []);
    return new Map(records.map((record) => {
      const { message, hint } = quarantineError(record);
      return [record.plugin_id, { availability: "disabled", reason: message, ...(hint ? { next_step: hint } : {}) }];
    }));
  }

  function ended({ adapter_id, access_mode }: RoutedWay, { tokens, error, wait_ms }: AttemptEnd): void {
    const used = { adapterId: adapter_id, mode: access_mode };
    if (access_mode !== null) counters.used(used, tokens);
    if (error === undefined) return;
    if (error.code === "rate_limit") counters.limited(used, wait_ms ?? unknownWaitMs);
    if (!ownDoing.has(error.code)) board.doubt(adapter_id);
  }
}

/** Errors of a session that its client or its host brought about: they say nothing of the agent. */
const ownDoing: ReadonlySet<ErrorCode> = new Set(["interrupted", "limit_exceeded", "host_closed", "invalid_request"]);

const unasked: AgentFacts["found"] = { stopped: { availability: "available", reason: "It was not asked." } };

/** Plugins in the order of the host manifest, then the others by id. */
function listed({ plugins, settings: { manifest } }: RouteDeps): Plugin[] {
  const order = [...Object.keys(manifest?.plugins ?? {}), ...Object.keys(manifest?.tools ?? {})];
  const placeOf = ({ id }: Plugin) => order.includes(id) ? order.indexOf(id) : order.length;
  return plugins().toSorted((a, b) => placeOf(a) - placeOf(b));
}

function notEnabled({ id, blocked }: Plugin): AvailabilityReport {
  if (blocked !== undefined) return { availability: "disabled", reason: `${blocked}.` };
  return {
    availability: "disabled",
    reason: "It is not enabled.",
    next_step: `Run: bulkhead plugin enable ${id}`,
  };
}

/** The ways of a route in the order in which they are tried: each adapter through all that is open, then the next. */
export function waysOf({ candidates }: Route): RoutedWay[] {
  return candidates.flatMap(({ adapter_id, access_mode, further_modes }) =>
    [access_mode, ...further_modes].map((mode) => ({ adapter_id, access_mode: mode }))
  );
}
