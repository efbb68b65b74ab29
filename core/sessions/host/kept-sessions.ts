import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { KeptSession } from "../session/admitted.ts";

interface KeptSessionsDeps {
  limits(): Pick<Limits, "kept_sessions" | "kept_mb">;
  /** Called once where the memory of programs cannot be measured: their number alone is bounded then. */
  onUnmeasured(): void;
}

/** How often the memory of kept programs is measured: it takes the system milliseconds for each. */
const everyMs = 5000;
const megabyte = 1024 * 1024;

/**
 * The sessions of a host that rest with their agent's program kept. Where there are too many, where their programs have too
 * much memory, or where another session waits for such a place, the one that has rested longest ends: its next message costs
 * a start-up, nothing else.
 */
export class KeptSessions {
  readonly #deps: KeptSessionsDeps;
  /** The longest kept first. */
  readonly #kept = new Set<KeptSession>();
  #cancel: (() => void) | null = null;
  #isMeasured = true;

  constructor(deps: KeptSessionsDeps) {
    this.#deps = deps;
  }

  /** Takes a session that begins to rest; what it returns is called when it rests no more. */
  enter(one: KeptSession): () => void {
    this.#kept.add(one);
    const { kept_sessions } = this.#deps.limits();
    while (this.#kept.size > kept_sessions) this.endOne();
    this.#lookLater();
    return () => this.#leave(one);
  }

  /** Number of those that rest, of one plugin or of all. */
  count(pluginId?: string): number {
    return pluginId === undefined ? this.#kept.size : this.#of(pluginId).length;
  }

  /** Ends the one that has rested longest, of one plugin or of all. */
  endOne(pluginId?: string): void {
    const [longest] = pluginId === undefined ? this.#kept : this.#of(pluginId);
    if (longest === undefined) return;
    this.#leave(longest);
    longest.end();
  }

  /** Measures the memory of the kept programs, and ends those that have rested longest while it is too much. */
  async look(): Promise<void> {
    const sizes = new Map<KeptSession, number>();
    for (const one of [...this.#kept]) {
      const bytes = await one.heldBytes();
      if (bytes === null) {
        if (this.#isMeasured) this.#deps.onUnmeasured();
        this.#isMeasured = false;
        return;
      }
      sizes.set(one, bytes);
    }
    const held = () => [...this.#kept].reduce((sum, one) => sum + (sizes.get(one) ?? 0), 0);
    const { kept_mb } = this.#deps.limits();
    while (held() > kept_mb * megabyte) this.endOne();
  }

  #lookLater(): void {
    if (!this.#isMeasured || this.#kept.size === 0) return;
    this.#cancel ??= startBackgroundTimer(() => {
      this.look().catch(() => {}).finally(() => {
        this.#cancel = null;
        this.#lookLater();
      });
    }, everyMs);
  }

  #leave(one: KeptSession): void {
    this.#kept.delete(one);
    if (this.#kept.size > 0) return;
    this.#cancel?.();
    this.#cancel = null;
  }

  #of(pluginId: string): KeptSession[] {
    return [...this.#kept].filter((one) => one.pluginId === pluginId);
  }
}
