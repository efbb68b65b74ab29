import type { Crash, CrashRecord } from "../../../plugin-sdk/plugin-report.ts";
import { BulkheadError, type ErrorData } from "../../../plugin-sdk/errors.ts";
import type { Limits } from "../../ground/config/limits.ts";

/** Keeps crash records over restarts of the host. */
export interface CrashStore {
  /** Null when there is none. */
  read(pluginId: string): Promise<CrashRecord | null>;
  write(record: CrashRecord): Promise<void>;
}

interface PluginHealthOptions {
  pluginId: string;
  limits: Pick<Limits, "quarantine_crashes" | "quarantine_window_ms">;
  /** Absent: the record ends with the host. */
  store?: CrashStore | undefined;
}

/** Maximum length of a crash's stored text, in characters. */
const maxMessage = 2000;

/** Counts a plugin's crashes, durably, and reports whether it is in quarantine. */
export class PluginHealth {
  readonly #options: PluginHealthOptions;
  #crashes: Crash[] = [];
  #quarantinedAt: string | null = null;
  #saving: Promise<void> = Promise.resolve();
  /** A write to the store failed: the record in memory is newer than the stored one. */
  #unsaved = false;

  constructor(options: PluginHealthOptions) {
    this.#options = options;
  }

  /** Whether the plugin is in quarantine, as far as this host knows. */
  get quarantined(): boolean {
    return this.#quarantinedAt !== null;
  }

  /** Records a crash; one too many puts the plugin in quarantine. */
  crashed({ code, message }: ErrorData): void {
    const { limits, pluginId, store } = this.#options;
    const now = new Date();
    this.#crashes = [
      ...this.#crashes.filter(({ at }) => isWithin(at, { now, ms: limits.quarantine_window_ms })),
      { at: now.toISOString(), code, message: message.slice(0, maxMessage) },
    ].slice(-Math.max(limits.quarantine_crashes, 1));
    if (this.#crashes.length >= limits.quarantine_crashes) this.#quarantinedAt ??= now.toISOString();
    if (!store) return;
    const record = { plugin_id: pluginId, crashes: this.#crashes, quarantined_at: this.#quarantinedAt };
    this.#saving = this.#saving.then(() => store.write(record)).then(
      () => void (this.#unsaved = false),
      () => void (this.#unsaved = true),
    );
  }

  /** Reloads the record: the operator, or another host, may have changed it. True when a quarantine is over. */
  async refresh(): Promise<boolean> {
    const { store, pluginId } = this.#options;
    if (!store) return false;
    const saving = this.#saving;
    await saving;
    if (this.#unsaved) return false;
    const was = this.quarantined;
    const record = await store.read(pluginId).catch(() => undefined);
    // Crashes recorded meanwhile are newer than the record read.
    if (record === undefined || saving !== this.#saving) return false;
    this.#crashes = record?.crashes ?? [];
    this.#quarantinedAt = record?.quarantined_at ?? null;
    return was && !this.quarantined;
  }

  /** Error when no worker may be started; null while one may. */
  refusal(): BulkheadError | null {
    if (this.#quarantinedAt === null) return null;
    return quarantineError({
      plugin_id: this.#options.pluginId,
      crashes: this.#crashes,
      quarantined_at: this.#quarantinedAt,
    });
  }

  /** Resolves when the record is stored. */
  settled(): Promise<void> {
    return this.#saving;
  }
}

/** The error of a plugin in quarantine; its hint is the command that lifts it. */
export function quarantineError(record: CrashRecord): BulkheadError {
  const { plugin_id, crashes, quarantined_at } = record;
  const last = crashes.at(-1);
  const times = crashes.length === 1 ? "once" : `${crashes.length} times`;
  const reason = last === undefined ? "" : ` The last crash: ${last.message}`;
  return new BulkheadError(
    "quarantined",
    `Plugin "${plugin_id}" is in quarantine since ${quarantined_at}: it crashed ${times} in a short time.${reason}`,
    { hint: releaseCommand(plugin_id), details: { ...record } },
  );
}

/** Command that lifts a quarantine. */
export function releaseCommand(pluginId: string): string {
  return `bulkhead plugin release ${pluginId}`;
}

/** A time in the future came from another clock, and does not count. */
function isWithin(at: string, { now, ms }: { now: Date; ms: number }): boolean {
  const age = now.getTime() - Date.parse(at);
  return age >= 0 && age < ms;
}
