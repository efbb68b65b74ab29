import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/platform/processes/child-ledger.ts";
import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { probeOsWalls } from "../../ground/platform/os-walls/probe.ts";
import { osWallNames, type OsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import { wait } from "../../ground/platform/engine/wait.ts";
import type { IdleContainers } from "./idle-containers.ts";
import { Lane } from "./lane.ts";
import type { Container } from "./lane-transport.ts";
import { type CrashStore, PluginHealth } from "./plugin-health.ts";
import { startProcessContainer } from "./process-container.ts";
import { guestFile, type SpareContainer, wardenFile } from "./spare-container.ts";
import { RestartBackoff } from "./restart-backoff.ts";
import { type Waiting, WaitingLine } from "./waiting-line.ts";

/** Options of {@link PluginPool}. */
export interface PoolOptions {
  pluginId: string;
  isolation: "process" | "thread";
  limits: Limits;
  /** The operator's settings for the operating system's mechanisms. */
  osWalls: OsWallUses;
  /** Returns the plugin's script; called once for each container. */
  script(): Promise<string>;
  /** Keeps the plugin's crashes over restarts of the host. */
  crashes?: CrashStore;
  /** Ledger of wardens. */
  children?: ChildLedger;
  /** A warden that was started ahead, for the first plugin that needs one. */
  spare?: SpareContainer | null;
  /** The host's containers without work; absent: this one stays for the whole idle time. */
  idle?: IdleContainers;
}

/** A place on a worker, held for one entry. */
export interface WorkerPlace {
  lane: Lane;
  /** Gives the place back; call it once, when the entry has ended. */
  release(): void;
}

/** Options for a session that waits for a place. */
interface AcquireOptions {
  signal?: AbortSignal;
  /** Client of the session; clients take turns. */
  client?: string;
  /**
   * Called with the position when the session must wait in line and when it has moved, with the milliseconds until the
   * next worker may be started after crashes.
   */
  onQueued?(position: number, waitMs: number): void;
}

interface Waiter extends Waiting {
  take(place: WorkerPlace): void;
  refuse(error: BulkheadError): void;
}

/** One plugin's workers: started when needed, filled, replaced when they die, quarantined when too often. */
export class PluginPool {
  readonly #options: PoolOptions;
  #container: Promise<Container> | null = null;
  /** Workers that serve. */
  #lanes: Lane[] = [];
  /** A worker that evaluates the plugin's script. */
  #loading: Lane | null = null;
  /** Places given out; a dead worker's are returned after it is forgotten. */
  #held = new WeakMap<Lane, number>();
  readonly #line: WaitingLine<Waiter>;
  #isStarting = false;
  /** Places given out and not returned. */
  #inUse = 0;
  #cancelRest: (() => void) | null = null;
  readonly #stopIdle = () => void this.#letGo();
  /** Set while a container ends because it was idle. */
  #leaving = false;
  readonly #backoff: RestartBackoff;
  /** Containers whose end was counted: all their workers die with them. */
  readonly #counted = new WeakSet<Container>();
  readonly #closing = new AbortController();
  /** The plugin's crashes, and whether it is in quarantine. */
  readonly health: PluginHealth;
  /** Why the plugin could not be loaded when it was tried last; null where it could, or was never tried. */
  loadFault: BulkheadError | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#line = new WaitingLine({ most: options.limits.queue });
    this.#backoff = new RestartBackoff(options.limits);
    this.health = new PluginHealth({ ...options, store: options.crashes });
  }

  /** Process id of the warden; null in thread mode or when none runs. */
  async wardenPid(): Promise<number | null> {
    return (await this.#container)?.pid ?? null;
  }

  /** Sessions waiting for a place. */
  get queued(): number {
    return this.#line.size;
  }

  /**
   * Waits for a place on a loaded worker.
   * @throws {BulkheadError} `quarantined`, `busy`, `host_closed`, or the reason why the plugin cannot be loaded
   */
  async acquire(options: AcquireOptions = {}): Promise<WorkerPlace> {
    const { client = "", onQueued } = options;
    if (this.health.quarantined) await this.#refresh();
    // A listener on an aborted signal is never called: the session would stay in line. Nothing below this line waits.
    options.signal?.throwIfAborted();
    this.#refuseIfFull(client);
    // Sessions that already wait come first.
    const ready = this.#line.size === 0 ? this.#place() : null;
    if (ready) return ready;
    const { place, waiter, position } = this.#wait(client, options);
    const started = this.#startLane();
    const waitMs = this.#backoff.waitMs(performance.now());
    if (!started || waitMs > 0) {
      this.#line.told(waiter, position);
      onQueued?.(position, waitMs);
    }
    return await place;
  }

  /** Ends all workers; entries under way end with them and get the reason. */
  async close(why = "The host is shutting down."): Promise<void> {
    const error = new BulkheadError("host_closed", why);
    this.#closing.abort(error);
    this.#stayAwake();
    this.#refuseAll(error);
    // One that ended with its container alone would count as a crash of the plugin.
    for (const lane of this.#lanes) lane.kill("host_closed", why);
    this.#loading?.kill("host_closed", why);
    const container = await this.#container?.catch(() => null);
    await container?.close();
    await this.health.settled();
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  #refuseIfFull(client: string): void {
    const { pluginId } = this.#options;
    this.#closing.signal.throwIfAborted();
    if (this.#line.hasRoom(client)) return;
    throw new BulkheadError(
      "busy",
      `All workers of plugin "${pluginId}" are busy and ${this.#line.size} sessions wait already.`,
      { hint: "Try again later, or raise its limits workers or queue." },
    );
  }

  /** The operator may have lifted a quarantine, and another host may have set one. */
  async #refresh(): Promise<void> {
    if (await this.health.refresh()) this.#backoff.forget();
    const refusal = this.health.refusal();
    if (refusal) throw refusal;
  }

  #crashed(lane: Lane, container: Container): void {
    const { crash } = lane;
    if (crash === null || this.#counted.has(container)) return;
    if (container.condemned) this.#counted.add(container);
    this.#backoff.crashed(performance.now());
    this.health.crashed(crash);
    const refusal = this.health.refusal();
    if (refusal) this.#refuseAll(refusal);
  }

  /** Waits until the next worker may be started. */
  async #pause(): Promise<void> {
    for (let ms = this.#backoff.waitMs(performance.now()); ms > 0; ms = this.#backoff.waitMs(performance.now())) {
      await wait(ms, this.#closing.signal);
      this.#closing.signal.throwIfAborted();
    }
  }

  #wait(client: string, { signal, onQueued }: AcquireOptions) {
    let waiter!: Waiter;
    const place = new Promise<WorkerPlace>((resolve, reject) => {
      waiter = { client, take: resolve, refuse: reject, onMoved: (position) => this.#tell(position, onQueued) };
    });
    const position = this.#line.add(waiter);
    signal?.addEventListener("abort", () => {
      if (this.#line.remove(waiter)) waiter.refuse(signal.reason);
    }, { once: true });
    return { place, waiter, position };
  }

  #tell(position: number, onQueued: AcquireOptions["onQueued"]): void {
    // A starting worker serves them in a moment; the rest are told their position when it runs.
    if (!this.#isStarting) onQueued?.(position, this.#backoff.waitMs(performance.now()));
  }

  /** Takes a free place, on the busiest worker that has one, so that idle ones can stop. */
  #place(): WorkerPlace | null {
    const { sessions_per_worker, sessions_before_recycle } = this.#options.limits;
    let best: Lane | null = null;
    for (const lane of this.#lanes) {
      const held = this.#held.get(lane) ?? 0;
      if (!lane.alive || held >= sessions_per_worker || lane.served >= sessions_before_recycle) continue;
      if (!best || held > (this.#held.get(best) ?? 0)) best = lane;
    }
    if (!best) return null;
    const lane: Lane = best;
    this.#inUse++;
    this.#stayAwake();
    this.#held.set(lane, (this.#held.get(lane) ?? 0) + 1);
    return { lane, release: () => this.#release(lane) };
  }

  #release(lane: Lane): void {
    const held = (this.#held.get(lane) ?? 1) - 1;
    this.#held.set(lane, held);
    this.#inUse--;
    const worn = lane.served >= this.#options.limits.sessions_before_recycle;
    if (worn && held === 0 && lane.alive) lane.kill("host_closed", "The worker was replaced after many sessions.");
    this.#serveWaiting();
  }

  #serveWaiting(): void {
    while (this.#line.size > 0) {
      const place = this.#place();
      if (!place) break;
      this.#line.next()!.take(place);
    }
    this.#startLane();
    this.#rest();
  }

  get #isIdle(): boolean {
    return this.#inUse === 0 && this.#line.size === 0 && !this.#isStarting && !this.#closed;
  }

  /** Stops the workers after an idle time, or when too many plugins have idle ones; they start again on demand. */
  #rest(): void {
    this.#stayAwake();
    if (this.#container === null || this.#leaving || !this.#isIdle) return;
    this.#cancelRest = startBackgroundTimer(this.#stopIdle, this.#options.limits.idle_worker_ms);
    this.#options.idle?.add(this.#stopIdle);
  }

  #stayAwake(): void {
    this.#cancelRest?.();
    this.#cancelRest = null;
    this.#options.idle?.remove(this.#stopIdle);
  }

  async #letGo(): Promise<void> {
    const container = await this.#container?.catch(() => null);
    if (!container || !this.#isIdle) return;
    this.#leaving = true;
    for (const lane of this.#lanes) lane.kill("host_closed", "The worker was idle for long.");
    await container.close();
  }

  /**
   * Starts a worker if another is needed and allowed; false when none is starting. They start one at a time: together
   * they take each other's processors, and often the line is empty before the next one is needed, which would take 15 MB.
   */
  #startLane(): boolean {
    if (this.#isStarting) return true;
    if (this.#closed || this.#line.size === 0 || this.#lanes.length >= this.#options.limits.workers) return false;
    this.#isStarting = true;
    void this.#openLane().then(
      () => {
        this.#isStarting = false;
        this.loadFault = null;
        this.#serveWaiting();
      },
      (error: unknown) => {
        this.#isStarting = false;
        // While another worker runs, sessions wait for it.
        if (!this.health.quarantined && this.#lanes.length > 0) return;
        // A quarantine has a record of its own.
        if (!this.health.quarantined && !this.#closed) this.loadFault = error as BulkheadError;
        this.#refuseAll(error as BulkheadError);
      },
    );
    return true;
  }

  /** Starts a worker and, once it is loaded, takes it into service. */
  async #openLane(): Promise<void> {
    const { pluginId, limits, isolation } = this.#options;
    // The first probe takes a moment, as does making the script.
    const walls = isolation === "process" ? probeOsWalls() : null;
    const scripting = this.#options.script();
    scripting.catch(() => {});
    await Promise.all([this.#refresh(), walls]);
    await this.#pause();
    const container = await this.#living();
    const refusal = this.health.refusal();
    if (refusal) throw refusal;
    // Starts the thread while the script is made: each takes about as long as the other.
    const transport = container.openLane();
    const script = await scripting.catch((error: unknown) => {
      transport.kill("There is no script.", { gently: true });
      throw error;
    });
    this.#closing.signal.throwIfAborted();
    const lane = new Lane(transport, { pluginId, script, limits });
    let gone = false;
    let serves = false;
    void lane.over.then(() => this.#crashed(lane, container));
    void lane.ended.then(() => {
      gone = true;
      this.#lanes = this.#lanes.filter((other) => other !== lane);
      this.#held.delete(lane);
      // A worker that never loaded fails the sessions in line: starting another here might loop forever.
      if (serves && !this.#closed) this.#serveWaiting();
    });
    this.#loading = lane;
    try {
      await lane.loaded;
    } catch (error) {
      lane.kill("host_closed", "The plugin could not be loaded.");
      throw error;
    } finally {
      this.#loading = null;
    }
    // A worker that is gone already would hold its place forever.
    if (gone) return;
    this.#lanes.push(lane);
    serves = true;
  }

  /** Returns a container that takes work: the current one may be dying because of other sessions. */
  async #living(): Promise<Container> {
    for (;;) {
      // Do not start a container here: nothing would stop it.
      this.#closing.signal.throwIfAborted();
      const container = await this.#contain();
      if (!container.condemned) return container;
      await container.ended;
    }
  }

  #contain(): Promise<Container> {
    if (this.#container) return this.#container;
    const { isolation, limits, osWalls, children, spare } = this.#options;
    const starting = isolation === "thread"
      ? this.#startThread()
      : spare?.take({ limits, osWalls }) ?? startProcessContainer(wardenFile, { limits, osWalls, children });
    this.#container = starting;
    const forget = () => {
      if (this.#container !== starting) return;
      this.#container = null;
      this.#leaving = false;
      this.#options.idle?.remove(this.#stopIdle);
    };
    starting.then((container) => container.ended.then(forget), forget);
    return starting;
  }

  /** No mechanism of the operating system can contain a thread of the host. */
  async #startThread(): Promise<Container> {
    const { pluginId, limits, osWalls } = this.#options;
    const required = osWallNames.find((name) => osWalls[name] === "required");
    if (required === undefined) {
      // Few hosts use threads, and the library that starts them has many modules.
      const { startThreadContainer } = await import("./thread-container.ts");
      return startThreadContainer(guestFile, limits);
    }
    throw new BulkheadError(
      "unavailable",
      `Plugin "${pluginId}" requires the wall "${required}" and is to run in a thread.`,
      {
        hint: `Set its isolation to process, or its os_walls.${required} to optional.`,
      },
    );
  }

  #refuseAll(error: BulkheadError): void {
    for (const waiter of this.#line.inOrder()) {
      this.#line.remove(waiter);
      waiter.refuse(error);
    }
  }
}
