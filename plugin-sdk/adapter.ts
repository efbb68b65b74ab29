import type { AccessMode, AccessModeStatus } from "./access-modes.ts";
import type { AvailabilityReport, HealthStatus } from "./availability.ts";
import type { AgentCapabilities } from "./capabilities.ts";
import type { AdapterContext, AgentConfig } from "./context.ts";
import { BulkheadError, InvalidModelError } from "./errors.ts";
import type { AdapterEvent } from "./events.ts";
import { healthOf } from "./health-of.ts";
import { orderAccessModes } from "./order-access-modes.ts";
import { RateLimitDetector } from "./rate-limit.ts";
import type { SessionRequest } from "./request.ts";

/** Return type of {@link AgentAdapter.runSession}: events, or arrays of them, which are faster. */
export type AdapterEvents = AsyncGenerator<AdapterEvent | AdapterEvent[], void, void>;

/** Members every adapter must have. The host names each missing one when it loads the adapter. */
export const requiredMembers = [
  "id",
  "name",
  "version",
  "capabilities",
  "accessModes",
  "initialize",
  "shutdown",
  "isAvailable",
  "getAccessMode",
  "healthCheck",
  "getCapabilities",
  "validateModel",
  "runSession",
  "interrupt",
  "getRateLimitDetector",
] as const;

/**
 * Drives one agent. Each entry (a session, a probe) gets a fresh compartment and a new instance, one call of
 * `initialize`, the call itself and `shutdown`; then all is dropped. Store values that must outlive the entry in
 * `ctx.kv`.
 */
export abstract class AgentAdapter {
  /**
   * Names of the members that a complete adapter of this kind has; a class with further abstract members adds their
   * names.
   */
  static readonly requiredMembers: readonly string[] = requiredMembers;

  abstract readonly id: string;
  abstract readonly name: string;
  abstract readonly version: string;
  abstract readonly capabilities: AgentCapabilities;
  abstract readonly accessModes: AccessMode[];

  constructor() {
    if (new.target === AgentAdapter) {
      throw new TypeError("AgentAdapter is abstract: extend it, or use defineAdapter().");
    }
    demandMethods(new.target, ["isAvailable", "runSession"]);
  }

  /** Called once before anything else; a throw becomes `AdapterInitializationError`. */
  initialize(_config: AgentConfig): Promise<void> | void {}

  /** Called once at the end, under the teardown deadline. */
  shutdown(): Promise<void> | void {}

  /** Probes whether the agent could take a session now. */
  abstract isAvailable(ctx: AdapterContext): Promise<AvailabilityReport>;

  /** Runs one session. The host pulls only while it can take more, so back-pressure is natural. */
  abstract runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents;

  /** Returns the first enabled access mode by priority; the host adds its counters. */
  getAccessMode(): AccessModeStatus | null {
    const mode = orderAccessModes(this.accessModes)[0];
    if (!mode) return null;
    return {
      type: mode.type,
      status: "available",
      current: { requests: 0, tokens: 0 },
      limits: mode.type === "subscription" ? mode.rate_limits : {},
      reset_at: null,
      estimated_wait: null,
    };
  }

  /** Returns the health as the probe sees it. */
  async healthCheck(ctx: AdapterContext): Promise<HealthStatus> {
    const started = Date.now();
    const report = await this.isAvailable(ctx);
    return healthOf(report, { latency_ms: Date.now() - started, last_check: new Date().toISOString() });
  }

  /**
   * Returns the agent's capabilities, as far as they are known now. A probe asks: what is false here counts as lacking, and
   * what the manifest does not state is not added.
   */
  getCapabilities(): AgentCapabilities {
    return this.capabilities;
  }

  /**
   * Returns the tool's own name of a model. The host calls it before `runSession`, whose request then has that name.
   * @throws {InvalidModelError} naming the models that are offered
   */
  validateModel(model: string): string {
    const allowed = this.accessModes.flatMap((mode) => (mode.type === "subscription" ? [] : [mode.model]));
    if (allowed.length > 0 && !allowed.includes(model)) throw new InvalidModelError(model, allowed);
    return model;
  }

  /** Asks the agent to stop gracefully; the host aborts `ctx.signal` as well. */
  interrupt(): Promise<void> | void {}

  /** Returns the detector that recognises a rate limit in this agent's failure texts. */
  getRateLimitDetector(): RateLimitDetector {
    return new RateLimitDetector();
  }
}

/**
 * Refuses a class without its abstract methods, as TypeScript does before it runs. A constructor of a base class does
 * not see the fields of the classes that extend it.
 * @throws {TypeError} with the names, also as `missing`
 */
export function demandMethods(made: { name: string; prototype: object }, methods: readonly string[]): void {
  const missing = methods.filter((method) => !(method in made.prototype));
  if (missing.length === 0) return;
  const message = `Cannot make an adapter of class "${made.name}": it lacks ${missing.join(", ")}.`;
  throw Object.assign(new TypeError(`${message} Each must be a method of the class, not a field.`), { missing });
}

/** Options of {@link defineAdapter}: the required parts, and any other member of an adapter. */
export interface AdapterDefinition {
  id: string;
  name: string;
  version: string;
  capabilities?: AgentCapabilities;
  access_modes?: AccessMode[];
  runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents;
  isAvailable?(ctx: AdapterContext): Promise<AvailabilityReport>;
  getAccessMode?(): AccessModeStatus | null;
  healthCheck?(ctx: AdapterContext): Promise<HealthStatus>;
  getCapabilities?(): AgentCapabilities;
  initialize?(config: AgentConfig): Promise<void> | void;
  shutdown?(): Promise<void> | void;
  interrupt?(): Promise<void> | void;
  validateModel?(model: string): string;
  getRateLimitDetector?(): RateLimitDetector;
}

/** A class that makes the adapter; a plugin's entry exports it as default. */
export type AdapterClass = new () => AgentAdapter;

/**
 * Makes an adapter from functions, for authors who prefer them to a class.
 * @throws {BulkheadError} `adapter_incomplete` naming every missing part
 */
export function defineAdapter(definition: AdapterDefinition): AdapterClass {
  const missing = (["id", "name", "version", "runSession"] as const).filter((key) => !definition[key]);
  if (missing.length > 0) {
    throw new BulkheadError("adapter_incomplete", `Cannot define an adapter: it lacks ${missing.join(", ")}.`, {
      details: { missing },
    });
  }
  const { id, name, version, capabilities = {}, access_modes = [], isAvailable, ...members } = definition;
  class DefinedAdapter extends AgentAdapter {
    readonly id = id;
    readonly name = name;
    readonly version = version;
    readonly capabilities = capabilities;
    readonly accessModes = access_modes;

    isAvailable(ctx: AdapterContext): Promise<AvailabilityReport> {
      return isAvailable?.(ctx) ?? Promise.resolve({ availability: "available", reason: "It needs no program." });
    }

    runSession(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
      return definition.runSession(request, ctx);
    }
  }
  const { runSession: _own, ...overrides } = members;
  for (const [key, value] of Object.entries(overrides)) {
    if (value !== undefined) Object.defineProperty(DefinedAdapter.prototype, key, { value, configurable: true });
  }
  return DefinedAdapter;
}
