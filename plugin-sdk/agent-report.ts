import type { AccessModeStatus } from "./access-modes.ts";
import type { Availability, HealthStatus } from "./availability.ts";
import type { AgentCapabilities } from "./capabilities.ts";
import type { Manifest } from "./manifest.ts";

/** What the host knows of one agent: whether it could take a session now, and if not, why and what to do. */
export interface AgentReport {
  /** The adapter's id. */
  id: string;
  name: string;
  /** The adapter's version. */
  version: string;
  adapter_type: Manifest["adapter_type"];
  availability: Availability;
  /** One sentence: why. */
  reason: string;
  /** One sentence: what a person can do about it. */
  next_step?: string;
  /** The agent's own version, where it says one. */
  agent_version?: string;
  /** RFC 3339, UTC: when it was last asked. An agent that is disabled is not asked. */
  checked_at: string;
  health: HealthStatus;
  /** The mode that the next session would use; null where the adapter lists none, and where none can be used. */
  access_mode: AccessModeStatus | null;
  /** Every mode that the manifest lists, in the order in which they are tried. */
  access_modes: AccessModeStatus[];
  /** As the manifest says: what an operator can read before anything of the plugin runs. */
  capabilities: AgentCapabilities;
  /** Models it offers; empty where it takes any. */
  models: string[];
  /** The one that `routing.agent` comes to now. */
  primary: boolean;
}
