import type * as Editor from "../../packages/manifest/edit-host-manifest.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { HostFacts, ReloadChanges } from "../http/door-options.ts";
import type { DaemonSettings } from "../../ground/config/daemon-settings.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { changeManifest } from "../../packages/install/manifest-transaction.ts";
import type { MissingGrant } from "../../walls/broker/session-broker.ts";
import type { GrantReplacement } from "../../packages/manifest/edit-plugin-entry.ts";

interface ManifestInForceDeps {
  host: Pick<Host, "reload">;
  /** Reads the host manifest; undefined where there is none. */
  read(): Promise<HostManifest | undefined>;
  onReloaded(manifest: HostManifest, changes: ReloadChanges): void;
  writeLog(record: LogRecord): void;
}

/** The host manifest that a daemon works by. Reloads and grants run one after the other, on the file as it is then. */
export class ManifestInForce {
  readonly #deps: ManifestInForceDeps;
  readonly #started: HostManifest | undefined;
  readonly #turns = new Sequence();
  #manifest: HostManifest | undefined;

  /** @param started the manifest that the daemon was started with */
  constructor(started: HostManifest | undefined, deps: ManifestInForceDeps) {
    this.#deps = deps;
    this.#started = started;
    this.#manifest = started;
  }

  /**
   * Reloads the file, for future sessions.
   * @throws {BulkheadError} the error of the manifest; then the old one stays in force
   */
  readonly reload = (): Promise<ReloadChanges> => this.#turns.run(() => this.#reload());

  /** Replaces a plugin's grants in the file and reloads it. */
  readonly setGrants: HostFacts["setGrants"] = (pluginId, grant) =>
    this.#turns.run(async () => {
      await writeGrants(this.#manifest, { pluginId, grant });
      await this.#reload();
    });

  /** Adds one grant to the file and reloads it. */
  readonly addGrant: HostFacts["addGrant"] = (grant) =>
    this.#turns.run(async () => {
      await writeGrant(this.#manifest, grant);
      await this.#reload();
    });

  /** Keeps a denial that a client gave as its answer. */
  readonly deny = ({ plugin_id: pluginId, permission, target }: MissingGrant): Promise<void> =>
    this.addGrant({ pluginId, permission, target, under: "deny" });

  /** Replaces one grant in the file and reloads it. */
  readonly replaceGrant: HostFacts["replaceGrant"] = (replacement) =>
    this.#turns.run(async () => {
      await writeReplacement(this.#manifest, replacement);
      await this.#reload();
    });

  async #reload(): Promise<ReloadChanges> {
    const { host, read, onReloaded, writeLog } = this.#deps;
    try {
      const after = await read();
      if (after === undefined) throw noManifest();
      const report = await reloadManifest(host, { started: this.#started, after });
      this.#manifest = after;
      onReloaded(after, report);
      writeLog({ level: "info", message: "The host manifest was reloaded.", fields: report });
      return report;
    } catch (error) {
      const { code, message, hint } = toErrorData(error);
      const why = code === "unaccepted_change" && hint !== undefined ? `${message} ${hint}` : message;
      writeLog({ level: "error", message: `The host manifest was not reloaded; the old one holds: ${why}` });
      throw error;
    }
  }
}

function noManifest(): BulkheadError {
  return new BulkheadError("not_found", "Cannot reload: there is no host manifest.", {
    hint: 'Write one with "bulkhead init", and restart the daemon if it was started without one.',
  });
}

/** Settings of `daemon:` that are read only when the daemon starts. */
const atStart = [
  "port",
  "addresses",
  "drain_ms",
  "log_file_bytes",
  "log_files",
] as const satisfies (keyof DaemonSettings)[];

/**
 * Puts the current host manifest into force.
 * @param options.started the manifest that the daemon was started with, even after other reloads
 * @throws {BulkheadError} the error of the manifest; then the old one stays in force
 */
async function reloadManifest(
  host: Pick<Host, "reload">,
  { started, after }: { started: HostManifest | undefined; after: HostManifest },
): Promise<ReloadChanges> {
  const changes = await host.reload(after);
  const [before, now] = [readAtStart(started), readAtStart(after)];
  const names = [...new Set([...before.keys(), ...now.keys()])];
  return { ...changes, restart_needed: names.filter((name) => before.get(name) !== now.get(name)) };
}

/** Returns the settings that only a start reads, by their path, where a manifest has them. */
function readAtStart(
  { state_dir, daemon, cluster, limits = {}, journal = {} }: Partial<HostManifest> = {},
): Map<string, unknown> {
  const doors = Object.entries(limits).filter(([name]) => name.startsWith("http_"));
  return new Map<string, unknown>([
    ["state_dir", state_dir],
    ["cluster", JSON.stringify(cluster)],
    ...atStart.map((name): [string, unknown] => [`daemon.${name}`, textOf(daemon?.[name])]),
    ...doors.map(([name, value]): [string, unknown] => [`limits.${name}`, value]),
    ...Object.entries(journal).map(([name, value]): [string, unknown] => [`journal.${name}`, value]),
  ]);
}

/** Lists are compared by their items. */
function textOf(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

/**
 * Adds one grant to a plugin's.
 * @throws {BulkheadError} as {@link writeGrants}
 */
async function writeGrant(manifest: HostManifest | undefined, grant: Editor.NewGrant): Promise<void> {
  await edit(manifest, ({ addGrant }, { text, file }) => addGrant(text, grant, { file }));
}

/**
 * Writes a plugin's grants into the host manifest's file; null: removes them.
 * @throws {BulkheadError} `unsupported` without such a file, `not_found`, `invalid_config`, `busy`, `io_error`
 */
async function writeGrants(
  manifest: HostManifest | undefined,
  { pluginId, grant }: { pluginId: string; grant: Permissions | null },
): Promise<void> {
  await edit(manifest, ({ setGrant }, { text, file }) => setGrant(text, { pluginId, grant }, { file }));
}

/**
 * Replaces one grant of a plugin by another, or takes it back.
 * @throws {BulkheadError} as {@link writeGrants}; `conflict` when no grant has that name
 */
async function writeReplacement(
  manifest: HostManifest | undefined,
  replacement: GrantReplacement,
): Promise<void> {
  const { replaceGrant } = await import("../../packages/manifest/edit-plugin-entry.ts");
  await edit(manifest, (_, { text, file }) => replaceGrant(text, replacement, { file }));
}

/** Edits the file. The library of YAML is loaded for the first edit: few daemons make one. */
async function edit(
  manifest: HostManifest | undefined,
  change: (editor: typeof Editor, at: { text: string; file: string }) => string,
): Promise<void> {
  const file = manifest?.file;
  if (file === undefined) {
    throw new BulkheadError("unsupported", "Cannot write grants: the daemon was started without a host manifest.", {
      hint: 'Write one with "bulkhead init", then restart the daemon.',
    });
  }
  const editor = await import("../../packages/manifest/edit-host-manifest.ts");
  try {
    await changeManifest(file, async ({ text, writeText }) => {
      const after = change(editor, { text, file });
      if (after !== text) await writeText(after);
    });
  } catch (cause) {
    if (cause instanceof BulkheadError) throw cause;
    throw new BulkheadError("io_error", `Cannot write the host manifest "${file}".`, { cause });
  }
}
