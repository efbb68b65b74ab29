import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { Approval } from "../../../plugin-sdk/request.ts";
import type { GrantPlace } from "../../walls/broker/session-broker.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { grantPlace } from "../../ground/config/host-manifest-places.ts";
import type { BudgetSettings } from "../../ground/config/budget-settings.ts";
import { defaultLimits, type Limits } from "../../ground/config/limits.ts";
import type { McpServer } from "../../ground/config/mcp-server.ts";
import { defaultRetention, type RetentionLimits } from "../../records/journal/retention.ts";
import { defaultPromptSettings, type PromptSettings } from "../../ground/prompt/prompt-settings.ts";
import type { SecretPlaces } from "../../walls/secrets/resolve-secrets.ts";
import { type OpenedSecrets, openSecrets, secretPaths, secretPlaces } from "./session-secrets.ts";

/** A host manifest and the paths of its secrets. */
interface Said {
  manifest: HostManifest | undefined;
  places: SecretPlaces;
  /** Real absolute paths of folders and files with secrets. */
  hidden: readonly string[];
}

interface OperatorSettingsOptions {
  manifest: HostManifest | undefined;
  /** File of the stored secrets; undefined: the user's own. */
  secretsFile: string | undefined;
}

/** The operator's current settings. Read them when you need them, since a reload replaces them. */
export class OperatorSettings {
  readonly #secretsFile: string | undefined;
  #said: Said;

  /** Reads the settings that a host starts with. */
  static async open({ manifest, secretsFile }: OperatorSettingsOptions): Promise<OperatorSettings> {
    return new OperatorSettings(await read(manifest, secretsFile), secretsFile);
  }

  private constructor(said: Said, secretsFile: string | undefined) {
    this.#said = said;
    this.#secretsFile = secretsFile;
  }

  /** Returns the host manifest; undefined for a host without one. */
  get manifest(): HostManifest | undefined {
    return this.#said.manifest;
  }

  /** Returns the host's own limits. A plugin's limits are in its registry entry. */
  get limits(): Limits {
    return { ...defaultLimits, ...this.manifest?.limits };
  }

  /** Returns the largest age and size of the journal. */
  get retention(): RetentionLimits {
    return { ...defaultRetention, ...this.manifest?.journal };
  }

  /** Returns how prompts are enhanced. */
  get prompt(): PromptSettings {
    return { ...defaultPromptSettings, ...this.manifest?.prompt };
  }

  /** Returns how an agent's requests are answered when a session does not say. */
  get approval(): Approval {
    return this.manifest?.approval ?? "ask";
  }

  /** MCP servers that the operator registered for agents, by name. */
  get mcpServers(): Readonly<Record<string, McpServer>> {
    return this.manifest?.mcp_servers ?? {};
  }

  /** Budgets that sessions share, by name. */
  get budgets(): Readonly<Record<string, BudgetSettings>> {
    return this.manifest?.budgets ?? {};
  }

  get secretsFile(): string {
    return this.#said.places.file;
  }

  /** Real absolute paths of folders and files with secrets. */
  get secretPaths(): readonly string[] {
    return this.#said.hidden;
  }

  /**
   * Opens the secrets that permissions name.
   * @throws {BulkheadError} `invalid_config`, `io_error`
   */
  openSecrets(permissions: Permissions): Promise<OpenedSecrets> {
    return openSecrets(permissions, this.#said.places);
  }

  /** Returns the file and line that would grant a permission; null without a host manifest. */
  grantPlace(pluginId: string, permission: string): GrantPlace | null {
    return this.manifest === undefined ? null : grantPlace(this.manifest, { pluginId, permission });
  }

  /**
   * Reads the files that another host manifest needs.
   * @returns a function that applies that manifest
   */
  async prepare(manifest: HostManifest): Promise<() => void> {
    const next = await read(manifest, this.#secretsFile);
    return () => {
      // A running session may hold a secret from a place that only the earlier manifest names.
      this.#said = { ...next, hidden: [...new Set([...this.#said.hidden, ...next.hidden])] };
    };
  }
}

async function read(manifest: HostManifest | undefined, secretsFile: string | undefined): Promise<Said> {
  const places = secretPlaces(manifest, secretsFile);
  return { manifest, places, hidden: await secretPaths(places) };
}
