import type { AccessModeStatus } from "./access-modes.ts";
import type { Availability, HealthStatus } from "./availability.ts";
import type { AgentCapabilities } from "./capabilities.ts";
import type { AcceptedField, ConfigSchema, Manifest, TalkAbility } from "./manifest.ts";

/** Report on one agent: whether it could take a session now, and if not, why and what to do. */
export interface AgentReport {
  /** The adapter's id. */
  id: string;
  name: string;
  /** The adapter's version; null where its manifest cannot be read. */
  version: string | null;
  /** Null where its manifest cannot be read. */
  adapter_type: Manifest["adapter_type"] | null;
  /** Its sentence of what it drives; absent where its manifest cannot be read. */
  description?: string;
  /** Its own options, which a request sets under `params`; absent: it has none. */
  config?: ConfigSchema;
  /** JSON Schema of its `structured_output`, if its manifest names one. */
  output_schema?: Record<string, unknown>;
  /** Whether it is a tool of its own for clients of the Model Context Protocol. */
  expose?: "tool";
  /** `unavailable`: the operator enabled it, and its plugin cannot be used. Every other state comes from a probe. */
  availability: Availability | "unavailable";
  /** Reason, in one sentence; one more for each access mode that lacks its key, while another is usable. */
  reason: string;
  /** True where it is enabled and crashed so often that it does not run: it is `disabled` until a person releases it. */
  quarantined?: boolean;
  /** Next step for a person, in one sentence. */
  next_step?: string;
  /** The agent's own version, if it reports one. */
  agent_version?: string;
  /** Semver range of the agent's versions that the plugin was tested with, if its manifest says. */
  tested?: string;
  /** True where `agent_version` is above that range. */
  newer_than_tested?: boolean;
  /** Agent whose settings its contained programs have, where the operator names one (`settings_of`). */
  settings_of?: string;
  /** RFC 3339, UTC: when it was last asked. A disabled agent is not asked. */
  checked_at: string;
  health: HealthStatus;
  /** The mode that the next session would use; null when the adapter lists none, or none can be used. */
  access_mode: AccessModeStatus | null;
  /** Every mode that the manifest lists, in the order in which they are tried. */
  access_modes: AccessModeStatus[];
  /** Capabilities from the manifest, which an operator can read before any code of the plugin runs. */
  capabilities: AgentCapabilities;
  /** All that its manifest says it accepts: `images` and `steer` among it. Absent where its manifest cannot be read. */
  accepts?: (AcceptedField | TalkAbility)[];
  /** Models it offers; empty when it takes any. */
  models: string[];
  /** True for the agent that `routing.agent` selects now. */
  primary: boolean;
}
