import { fileURLToPath } from "node:url";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { ModelRun } from "../mock-model/mock-model.ts";
import type { CaseName } from "./cases.ts";
import type { Place } from "./place.ts";

/** Folder of the bundled plugins. */
export const plugins: string = fileURLToPath(new URL("../../../plugins/", import.meta.url));
/** The key of every agent but that of a plan. */
export const key = "sk-test-0123456789abcdefghij";

/** An agent of the proving ground: a plugin, and how its program is pointed at the mock model. */
export interface Agent {
  id: string;
  /** Folder of its plugin. */
  folder: string;
  /** Whether it has tools to work with. */
  tools: boolean;
  /** Its model can start helpers that work in the background. */
  helpers?: true;
  /** Its program is of the second lot, which is installed and run by command alone. */
  more?: true | undefined;
  /** How long a session of it may take, where it tries for long what fails; else 150 seconds. */
  patienceMs?: number | undefined;
  /** Cases that it is not put through, each with the reason. */
  without: Partial<Record<CaseName, string>>;
  /** Variables of the host by which somebody is logged in, while its adapter is asked for that. */
  loginEnv: Record<string, string>;
  /** Other variables of the host meanwhile, so that nothing is asked of the agent's own servers. */
  probeEnv?: ((model: ModelRun) => Record<string, string>) | undefined;
  /** Settings of the program in the home that all cases share. */
  settle(home: string): Promise<void>;
  prepare(setting: Setting): Promise<Prepared>;
}

/** What a case has for its agent. */
export interface Setting {
  name: CaseName;
  model: ModelRun;
  place: Place;
}

/** What an agent needs for one case. */
export interface Prepared {
  /** The plugin's folder; a copy where its manifest names a place that the mock model stands in for. */
  folder: string;
  request: Partial<SessionRequest>;
  config?: Record<string, unknown>;
  /** Where the plugin drives several programs: the one of this agent. Else what its manifest asks for. */
  grant?: Permissions;
  secrets?: Record<string, string>;
}

/** The folder of bundled plugins that a host needs for this one; a copy has its id, which is there only once. */
export function bundledFor({ folder }: Prepared): string | null {
  return folder.startsWith(plugins) ? plugins : null;
}
