import type { AvailabilityReport } from "../../plugin-sdk/availability.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import type { SessionResult } from "../../plugin-sdk/result.ts";
import type { MissingGrant } from "../broker/session-broker.ts";
import type { HostManifest } from "../config/host-manifest.ts";
import type { Cursor } from "../journal/journal.ts";
import type { CrashRecord } from "../pool/plugin-health.ts";
import type { Plugin } from "../registry/plugin.ts";
import type { RegistryProblem } from "../registry/registry.ts";
import type { RegistrySettings } from "../registry/settle-plugin.ts";

/** What a host is made from. */
export interface HostOptions {
  /** A parsed host manifest, as `loadHostManifest()` gives it. Absent: nothing is enabled but what is registered. */
  manifest?: HostManifest;
  /** Folder of `plugins/` and of relative paths; default: the manifest's folder, else the working directory. */
  root?: string;
  /** Folder for the journal and all other state; default: XDG state. `null`: a temporary one, gone with the host. */
  stateDir?: string | null;
  /** File of the secrets that `bulkhead secret set` keeps; default: below the XDG data folder. */
  secretsFile?: string;
  /** Folder of the bundled plugins; `null`: none. Default: the package's own. */
  bundledDir?: string | null;
  /** Asks a person for a missing grant. Absent: denied. */
  askGrant?: (missing: MissingGrant) => Promise<boolean>;
  /** Takes the log records of host and adapters. */
  writeLog?: (record: LogRecord) => void;
}

/** One line of the host's log. */
export interface LogRecord {
  level: "debug" | "info" | "warn" | "error";
  message: string;
  plugin_id?: string;
  session_id?: string;
  fields?: unknown;
}

/** Options of {@link Host.runSession}. */
export interface RunSessionOptions {
  /** Id of an enabled adapter. */
  adapter: string;
  /** Interrupts the session. */
  signal?: AbortSignal;
  /** `git`, the default, compares the working directory before and after; `none` saves that time. */
  artifacts?: "git" | "none";
}

/** A running session: its own events, in order, and then its result. Reading is optional. */
export interface Session extends AsyncIterable<Envelope> {
  readonly id: string;
  /** Never rejects for what happens to the adapter: that is in the result. */
  readonly result: Promise<SessionResult>;
  /** Stops the session gracefully; resolves when it has ended. */
  interrupt(): Promise<SessionResult>;
  /** Answers a permission request or question; false when it is unknown, answered already, or does not offer the choice. */
  answer(requestId: string, choice: string): boolean;
}

/** A plugin host. */
export interface Host {
  readonly registry: {
    /** Every plugin that was found, enabled or not. */
    list(): Plugin[];
    get(id: string): Plugin | undefined;
    /** Takes a plugin out of service: its sessions and workers end, and the host forgets it until the next start. */
    remove(id: string): Promise<void>;
    /** Plugins that were found and cannot be used; none of them is enabled. */
    problems(): readonly RegistryProblem[];
    /** Loads a plugin folder at run time, with the same checks. */
    register(folder: string, settings?: RegistrySettings): Promise<Plugin>;
  };
  /**
   * Starts a session.
   * @throws {BulkheadError} for a request that cannot start: `invalid_request`, `unknown_adapter`, `workdir_missing`,
   * `too_large`, `invalid_model`, `host_closed`
   */
  runSession(request: SessionRequest, options: RunSessionOptions): Promise<Session>;
  /** All sessions' events merged, from a cursor on (default: from now), until the signal aborts. */
  events(options?: { after?: Cursor; signal?: AbortSignal }): AsyncIterable<Envelope>;
  /**
   * Loads an adapter behind its walls, without a session.
   * @throws {BulkheadError} why it cannot be loaded: `bundle_failed`, `load_failed`, `adapter_incomplete`…, with the
   * author's own positions in `details.stack`
   */
  load(adapter: string): Promise<{ sha256: string }>;
  /** Plugins that crashed too often and are stopped until they are released, with their crashes. */
  quarantined(): Promise<CrashRecord[]>;
  /** Lifts a plugin's quarantine and forgets its crashes, for all hosts of the state folder; false when it had none. */
  release(id: string): Promise<boolean>;
  /** Asks an adapter whether its agent could run now. */
  probe(adapter: string): Promise<AvailabilityReport>;
  /** Ends all sessions and workers, within 30 seconds whatever they do; what is late is logged and left behind. */
  close(): Promise<void>;
}
