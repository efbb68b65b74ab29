import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { Limits } from "../config/limits.ts";
import { Lane } from "./lane.ts";
import type { Container } from "./lane-transport.ts";
import { startProcessContainer } from "./process-container.ts";
import { startThreadContainer } from "./thread-container.ts";
import { guestFile, wardenFile } from "./wall-files.ts";

/** What a plugin's pool is made from. */
export interface PoolOptions {
  pluginId: string;
  isolation: "process" | "thread";
  limits: Limits;
  /** Gives the plugin's script; asked once for each container. */
  script(): Promise<string>;
}

/** A place on a worker, held for one entry. */
export interface Place {
  lane: Lane;
  /** Gives the place back; call it once, when the entry has ended. */
  release(): void;
}

/**
 * One plugin's workers: started when needed, filled up to `sessions_per_worker`, replaced when they die, put in
 * quarantine when they die too often.
 */
export class PluginPool {
  readonly #options: PoolOptions;
  #container: Promise<Container> | null = null;
  #lanes: Lane[] = [];
  #held = new Map<Lane, number>();
  #waiting: { take: (place: Place) => void; refuse: (error: BulkheadError) => void }[] = [];
  #starting = 0;
  #crashes: number[] = [];
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Process id of the warden; null in thread mode or when none runs. */
  async wardenPid(): Promise<number | null> {
    return (await this.#container)?.pid ?? null;
  }

  /** Sessions waiting for a place. */
  get queued(): number {
    return this.#waiting.length;
  }

  /**
   * Waits for a place on a loaded worker.
   * @param onQueued called with the position when the call has to wait in line
   * @throws {BulkheadError} `quarantined`, `busy`, `host_closed`, or why the plugin cannot be loaded
   */
  async acquire(options: { signal?: AbortSignal; onQueued?: (position: number) => void } = {}): Promise<Place> {
    this.#refuseIfStopped();
    const ready = this.#place();
    if (ready) return ready;
    const place = this.#wait(options);
    if (!this.#startLane()) options.onQueued?.(this.#waiting.length);
    return await place;
  }

  /** Ends all workers; entries under way end with them. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#refuseAll(new BulkheadError("host_closed", "The host is shutting down."));
    for (const lane of this.#lanes) lane.kill("host_closed", "The host is shutting down.");
    const container = await this.#container?.catch(() => null);
    await container?.close();
  }

  #refuseIfStopped(): void {
    const { pluginId, limits } = this.#options;
    if (this.#closed) throw new BulkheadError("host_closed", "The host is shutting down.");
    const since = performance.now() - limits.quarantine_window_ms;
    this.#crashes = this.#crashes.filter((at) => at > since);
    if (this.#crashes.length >= limits.quarantine_crashes) {
      throw new BulkheadError(
        "quarantined",
        `Plugin "${pluginId}" crashed ${this.#crashes.length} times within ${limits.quarantine_window_ms} ms and is in quarantine.`,
      );
    }
    if (this.#waiting.length >= limits.queue) {
      throw new BulkheadError("busy", `All workers of plugin "${pluginId}" are busy and ${limits.queue} sessions wait already.`);
    }
  }

  #wait({ signal }: { signal?: AbortSignal }): Promise<Place> {
    return new Promise((resolve, reject) => {
      const waiter = { take: resolve, refuse: reject };
      this.#waiting.push(waiter);
      signal?.addEventListener("abort", () => {
        const at = this.#waiting.indexOf(waiter);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        reject(signal.reason);
      }, { once: true });
    });
  }

  /** A free place, on the busiest worker that has one, so that idle ones can be let go. */
  #place(): Place | null {
    const { sessions_per_worker, sessions_before_recycle } = this.#options.limits;
    let best: Lane | null = null;
    for (const lane of this.#lanes) {
      const held = this.#held.get(lane) ?? 0;
      if (!lane.alive || held >= sessions_per_worker || lane.served >= sessions_before_recycle) continue;
      if (!best || held > (this.#held.get(best) ?? 0)) best = lane;
    }
    if (!best) return null;
    const lane: Lane = best;
    this.#held.set(lane, (this.#held.get(lane) ?? 0) + 1);
    return { lane, release: () => this.#release(lane) };
  }

  #release(lane: Lane): void {
    const held = (this.#held.get(lane) ?? 1) - 1;
    this.#held.set(lane, held);
    const worn = lane.served >= this.#options.limits.sessions_before_recycle;
    if (worn && held === 0 && lane.alive) lane.kill("host_closed", "The worker was replaced after many sessions.");
    this.#serveWaiting();
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const place = this.#place();
      if (!place) break;
      this.#waiting.shift()!.take(place);
    }
    if (this.#waiting.length > 0) this.#startLane();
  }

  /** Starts a worker if another is allowed; false when all there may be are there. */
  #startLane(): boolean {
    if (this.#closed || this.#lanes.length + this.#starting >= this.#options.limits.workers) return this.#starting > 0;
    this.#starting++;
    void this.#openLane().then(
      (lane) => {
        this.#starting--;
        this.#lanes.push(lane);
        this.#serveWaiting();
      },
      (error: unknown) => {
        this.#starting--;
        // Without a worker nobody in line can ever be served; with one they wait for it.
        if (this.#lanes.length === 0) this.#refuseAll(error as BulkheadError);
      },
    );
    return true;
  }

  async #openLane(): Promise<Lane> {
    const { pluginId, limits } = this.#options;
    const script = await this.#options.script();
    const container = await this.#contain();
    const lane = new Lane(container.openLane(), { pluginId, script, limits });
    void lane.ended.then(({ reason }) => {
      this.#lanes = this.#lanes.filter((other) => other !== lane);
      this.#held.delete(lane);
      if (reason !== "closed" || !lane.orderly) this.#crashes.push(performance.now());
      if (!this.#closed) this.#serveWaiting();
    });
    try {
      await lane.loaded;
    } catch (error) {
      lane.kill("host_closed", "The plugin could not be loaded.");
      throw error;
    }
    return lane;
  }

  #contain(): Promise<Container> {
    if (this.#container) return this.#container;
    const { isolation, limits } = this.#options;
    const starting = isolation === "thread"
      ? Promise.resolve(startThreadContainer(guestFile, limits))
      : startProcessContainer(wardenFile, limits);
    this.#container = starting;
    const forget = () => {
      if (this.#container === starting) this.#container = null;
    };
    starting.then((container) => container.ended.then(forget), forget);
    return starting;
  }

  #refuseAll(error: BulkheadError): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { refuse } of waiting) refuse(error);
  }
}
