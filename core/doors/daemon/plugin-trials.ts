import type { LogRecord } from "../../ground/log/log-record.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { Sequence } from "../../ground/platform/engine/sequence.ts";
import type { Host } from "../../sessions/host/host.ts";
import { tryPlugins } from "../../sessions/host/try-plugins.ts";

/** How long after the daemon is ready the first plugin is tried: the first requests come before. Milliseconds. */
const afterStartMs = 1000;

interface TrialDeps {
  host: Pick<Host, "load" | "registry">;
  writeLog(record: LogRecord): void;
}

/** Tries plugins behind a daemon's work, one at a time, and logs those that cannot be loaded. */
export class PluginTrials {
  readonly #deps: TrialDeps;
  readonly #turns = new Sequence();
  readonly #stopping = new AbortController();

  constructor(deps: TrialDeps) {
    this.#deps = deps;
  }

  /** Tries all enabled plugins, once the daemon has been ready for a moment. */
  startLater(): void {
    const cancel = startBackgroundTimer(() => this.start(), afterStartMs);
    this.#stopping.signal.addEventListener("abort", cancel, { once: true });
  }

  /** Tries these plugins, or all; never waits and never throws. */
  start(ids?: readonly string[]): void {
    void this.#turns.run(async () => {
      const { host, writeLog } = this.#deps;
      for await (const { message, hint } of tryPlugins(host, { ids, signal: this.#stopping.signal })) {
        writeLog({ level: "warn", message: `${message.replaceAll("\n", "; ")} ${hint ?? ""}`.trimEnd() });
      }
    });
  }

  stop(): void {
    this.#stopping.abort();
  }
}
