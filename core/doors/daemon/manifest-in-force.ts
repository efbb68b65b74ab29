import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { Sequence } from "../../ground/runtime/sequence.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { HostFacts, ReloadChanges } from "../http/door-options.ts";
import { reloadManifest } from "./reload.ts";
import { writeGrant, writeGrants, writeReplacement } from "./write-grants.ts";

/** Collaborators of {@link ManifestInForce}. */
interface ManifestInForceDeps {
  host: Pick<Host, "reload">;
  /** Reads the host manifest; undefined where there is none. */
  read(): Promise<HostManifest | undefined>;
  /** Called with each manifest that came into force. */
  onReloaded(manifest: HostManifest): void;
  writeLog(record: LogRecord): void;
}

/**
 * The host manifest that a daemon works by. Reloads and grants run one after the other: each reads the file when its
 * turn comes.
 */
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
      onReloaded(after);
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
