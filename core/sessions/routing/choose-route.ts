import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import { compareAccessModes } from "../../../plugin-sdk/order-access-modes.ts";
import type { KeyProblem } from "./access-key.ts";
import type { AccessModeState } from "./access-mode-state.ts";
import { lockOf, modesFor, pickAccessMode, type RoutableAgent } from "./agent-report.ts";
import { lackingCapabilities } from "./lacking.ts";

/** Requirements of a session on its agent. */
export interface RouteWish {
  /** `auto`, one adapter's id (no other is tried), or ids in the order in which they are tried. */
  wanted: string | readonly string[];
  require?: AgentCapabilities | undefined;
  model?: string | undefined;
  /** Estimated tokens of the prompt. */
  prompt_tokens?: number | undefined;
  /** Adapters that the operator prefers, for `auto`. */
  order?: readonly string[] | undefined;
  /** Time until which the session waits for a limited agent of a chain, in milliseconds since 1970; absent: not at all. */
  patient_until?: number | undefined;
}

/** An adapter that can take the session. */
export interface RouteCandidate {
  adapter_id: string;
  /** Access mode to the agent; null when the adapter lists none. */
  access_mode: AccessMode | null;
  /** Further open modes, in the order in which they are tried when that one is limited. */
  further_modes: AccessMode[];
  /** End of the limit that a session waits for; absent when the agent is not limited. */
  limited_until?: string;
}

/** An adapter that cannot take the session, and why. */
export interface PassedOver {
  adapter_id: string;
  /** Kind of the reason. */
  code: Extract<ErrorCode, "unknown_adapter" | "unavailable" | "rate_limit" | "invalid_model" | "too_large">;
  /** One sentence. */
  reason: string;
  /** One sentence: what a person can do about it. */
  next_step?: string;
}

/**
 * Adapters that can take a session, best first, and those that cannot. Each considered adapter is in one of the two
 * lists.
 */
export interface Route {
  candidates: RouteCandidate[];
  passed_over: PassedOver[];
}

/**
 * Chooses from the agents, which come in the listed order. `auto` keeps those that are available and have the required
 * capabilities, ordered by the operator's preference, then by their access mode (priority, and where none is given
 * subscription, api, local), then as listed; a chain keeps its own order, with the agents whose limit ends soon. An adapter that is named alone is only
 * checked for the capabilities: nothing else will be tried, so its own error explains any other problem better.
 */
export function chooseRoute(wish: RouteWish, agents: readonly RoutableAgent[]): Route {
  const route: Route = { candidates: [], passed_over: [] };
  const { wanted } = wish;
  const alone = typeof wanted === "string" && wanted !== "auto";
  const ids = typeof wanted !== "string"
    ? [...new Set(wanted)]
    : alone
    ? [wanted]
    : agents.map(({ report }) => report.id);
  const kept: Kept[] = [];
  for (const adapter_id of ids) {
    const agent = agents.find(({ report }) => report.id === adapter_id);
    const refusal = agent === undefined ? unknown : refuse(agent, { wish, alone });
    const wait = refusal?.code === "rate_limit" && typeof wanted !== "string" ? shortLimit(agent, wish) : null;
    if (refusal && wait === null) route.passed_over.push({ adapter_id, ...refusal });
    else if (agent) kept.push({ agent, state: wait?.state ?? modeOf(agent, wish.model), until: wait?.until ?? null });
  }
  if (wanted === "auto") kept.sort((a, b) => compare(a, b, wish.order ?? []));
  route.candidates = kept.map(({ agent, state, until }) => ({
    adapter_id: agent.report.id,
    access_mode: state?.mode ?? null,
    further_modes: modesFor(agent.modes, wish.model).flatMap((one) =>
      one !== state && one.status.status === "available" ? [one.mode] : []
    ),
    ...(until === null ? {} : { limited_until: new Date(until).toISOString() }),
  }));
  return route;
}

type Refusal = Omit<PassedOver, "adapter_id">;

const unknown: Refusal = {
  code: "unknown_adapter",
  reason: "No adapter has this id.",
  next_step: 'See "bulkhead agents" for those that have.',
};

/** Returns why an agent cannot take the session; null when it can. Checks lasting reasons before passing ones. */
function refuse(
  { report, modes }: RoutableAgent,
  { wish, alone }: { wish: RouteWish; alone: boolean },
): Refusal | null {
  const { availability, reason, next_step, capabilities, models } = report;
  const todo = next_step === undefined ? {} : { next_step };
  const isOff = availability === "disabled" || availability === "unavailable";
  if (isOff && !alone) return { code: "unavailable", reason, ...todo };
  const lacking = lackingCapabilities(wish.require ?? {}, capabilities);
  if (lacking.length > 0) return { code: "unavailable", reason: `It lacks ${lacking.join(", ")}.` };
  const lock = lockOf(modes, wish.model);
  // What is not granted may be granted when the session asks for it.
  if (alone) return lock?.why === "no value" ? refusalOf(lock) : null;
  if (wish.model !== undefined && models.length > 0 && !models.includes(wish.model)) {
    return {
      code: "invalid_model",
      reason: `It does not offer model "${wish.model}".`,
      next_step: `Its models are ${models.join(", ")}.`,
    };
  }
  const room = capabilities.max_context_tokens;
  if (room !== undefined && wish.prompt_tokens !== undefined && wish.prompt_tokens > room) {
    return {
      code: "too_large",
      reason: `The prompt has about ${wish.prompt_tokens} tokens and its context holds ${room}.`,
      next_step: "Put the material into files and name them.",
    };
  }
  if (availability === "available" && lock !== null) return refusalOf(lock);
  if (availability === "available") return closed(modes, wish.model);
  const isLimited = availability === "rate_limited" || availability === "quota_exhausted";
  return { code: isLimited ? "rate_limit" : "unavailable", reason, ...todo };
}

function refusalOf({ reason, next_step }: KeyProblem): Refusal {
  return { code: "unavailable", reason, next_step };
}

/** Returns why no access mode of an available agent serves a model now; null when one does. */
function closed(modes: readonly AccessModeState[], model: string | undefined): Refusal | null {
  const serving = modesFor(modes, model);
  if (serving.length === 0 || pickAccessMode(modes, model)) return null;
  const until = serving.filter(({ status }) => status.status === "rate_limited").map(({ status }) => status.reset_at)
    .find((time) => time !== null);
  return {
    code: "rate_limit",
    reason: `Its access to model "${model}" is limited${until === undefined ? " for now" : ` until ${until}`}.`,
  };
}

/** Returns the limit of an agent that ends first, if the session waits so long; null when it does not. */
function shortLimit(
  agent: RoutableAgent | undefined,
  { model, patient_until = -Infinity }: RouteWish,
): { until: number; state: AccessModeState | null } | null {
  if (agent === undefined) return null;
  const serving = modesFor(agent.modes, model);
  const limits = serving.length === 0
    ? [{ until: agent.limitedUntil ?? Infinity, state: null }]
    : serving.map((state) => ({ until: Date.parse(state.status.reset_at ?? "") || Infinity, state }));
  const [first] = limits.sort((a, b) => a.until - b.until);
  return first !== undefined && first.until <= patient_until ? first : null;
}

function modeOf({ modes }: RoutableAgent, model: string | undefined): AccessModeState | null {
  return pickAccessMode(modes, model) ?? modesFor(modes, model)[0] ?? null;
}

interface Kept {
  agent: RoutableAgent;
  state: AccessModeState | null;
  /** End of the limit that the session waits for. */
  until: number | null;
}

/** Compares two agents. Zero keeps the listed order, since sorting is stable. */
function compare(a: Kept, b: Kept, order: readonly string[]): number {
  const preference = placeIn(order, a) - placeIn(order, b);
  if (preference !== 0) return preference;
  if (a.state === null || b.state === null) return Number(a.state === null) - Number(b.state === null);
  return compareAccessModes(a.state.mode, b.state.mode);
}

function placeIn(order: readonly string[], { agent }: Kept): number {
  const place = order.indexOf(agent.report.id);
  return place === -1 ? order.length : place;
}

/**
 * Estimates the tokens of texts: one for four bytes of UTF-8, which is close for prose and a little low for code. It
 * can show that a prompt does not fit, but not that it does.
 */
export function estimateTokens(...texts: readonly (string | undefined)[]): number {
  const encoder = new TextEncoder();
  return texts.reduce((sum, text) => sum + Math.ceil(encoder.encode(text ?? "").length / 4), 0);
}
