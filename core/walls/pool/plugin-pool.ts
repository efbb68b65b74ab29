import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { ChildLedger } from "../../ground/runtime/child-ledger.ts";
import { startBackgroundTimer } from "../../ground/runtime/background-timer.ts";
import { probeOsWalls } from "../../ground/runtime/os-walls/probe.ts";
import { osWallNames, type OsWallUses } from "../../ground/runtime/os-walls/os-wall.ts";
import { wait } from "../../ground/runtime/wait.ts";
import { Lane } from "./lane.ts";
import type { Container } from "./lane-transport.ts";
import { type CrashStore, PluginHealth } from "./plugin-health.ts";
import { startProcessContainer } from "./process-container.ts";
import type { SpareContainer } from "./spare-container.ts";
import { RestartBackoff } from "./restart-backoff.ts";
import { type Waiting, WaitingLine } from "./waiting-line.ts";
import { guestFile, wardenFile } from "./wall-files.ts";

/** What a plugin's pool is made from. */
export interface PoolOptions {
  pluginId: string;
  isolation: "process" | "thread";
  limits: Limits;
  /** What the operator wants of the operating system's mechanisms. */
  osWalls: OsWallUses;
  /** Gives the plugin's script; asked once for each container. */
  script(): Promise<string>;
  /** Keeps the plugin's crashes over restarts of the host. */
  crashes?: CrashStore;
  /** Where wardens are written down. */
  children?: ChildLedger;
  /** A warden that has been started already, for whichever plugin comes first. */
  spare?: SpareContainer | null;
}

/** A place on a worker, held for one entry. */
export interface WorkerPlace {
  lane: Lane;
  /** Gives the place back; call it once, when the entry has ended. */
  release(): void;
}

/** How a session waits for a place. */
export interface AcquireOptions {
  signal?: AbortSignal;
  /** Whose session it is; clients take turns. */
  client?: string;
  /**
   * Told the position when the session has to wait in line and when it has moved, with the milliseconds until the next
   * worker may be started after crashes.
   */
  onQueued?(position: number, waitMs: number): void;
}

interface Waiter extends Waiting {
  take(place: WorkerPlace): void;
  refuse(error: BulkheadError): void;
}

/**
 * One plugin's workers: started when needed, filled up to `sessions_per_worker`, replaced when they die, put in
 * quarantine when they die too often.
 */
export class PluginPool {
  readonly #options: PoolOptions;
  #container: Promise<Container> | null = null;
  #lanes: Lane[] = [];
  /** Places given out; a dead worker's are given back after it is forgotten. */
  #held = new WeakMap<Lane, number>();
  readonly #line: WaitingLine<Waiter>;
  #starting = 0;
  /** Places given out and not given back. */
  #inUse = 0;
  #cancelRest: (() => void) | null = null;
  readonly #backoff: RestartBackoff;
  /** Containers whose end was counted: all their workers die with them. */
  readonly #counted = new WeakSet<Container>();
  readonly #closing = new AbortController();
  /** Its crashes, and whether it is in quarantine. */
  readonly health: PluginHealth;

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
   * @throws {BulkheadError} `quarantined`, `busy`, `host_closed`, or why the plugin cannot be loaded
   */
  async acquire(options: AcquireOptions = {}): Promise<WorkerPlace> {
    const { client = "", onQueued } = options;
    if (this.health.quarantined) await this.#refresh();
    // A listener on a signal that has fired is never called: the call would stay in line. Nothing waits from here on.
    options.signal?.throwIfAborted();
    this.#refuseIfFull(client);
    // Whoever waits already comes first.
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

  /** Ends all workers; entries under way end with them, and say why. */
  async close(why = "The host is shutting down."): Promise<void> {
    const error = new BulkheadError("host_closed", why);
    this.#closing.abort(error);
    this.#cancelRest?.();
    this.#refuseAll(error);
    for (const lane of this.#lanes) lane.kill("host_closed", why);
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
    // A worker that is starting serves them in a moment; if not all, they are told when it runs.
    if (this.#starting === 0) onQueued?.(position, this.#backoff.waitMs(performance.now()));
  }

  /** A free place, on the busiest worker that has one, so that idle ones can be let go. */
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
    this.#cancelRest?.();
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
    // One that is starting already will serve the first in line: a second would only crash as well where it does.
    if (this.#line.size > this.#starting) this.#startLane();
    this.#rest();
  }

  get #isIdle(): boolean {
    return this.#inUse === 0 && this.#line.size === 0 && this.#starting === 0 && !this.#closed;
  }

  /** Lets the workers go when nobody has needed one for a while; they are started again when somebody does. */
  #rest(): void {
    this.#cancelRest?.();
    this.#cancelRest = null;
    if (this.#container === null || !this.#isIdle) return;
    this.#cancelRest = startBackgroundTimer(() => void this.#letGo(), this.#options.limits.idle_worker_ms);
  }

  async #letGo(): Promise<void> {
    const container = await this.#container?.catch(() => null);
    if (!container || !this.#isIdle) return;
    for (const lane of this.#lanes) lane.kill("host_closed", "The worker was idle for long.");
    await container.close();
  }

  /** Starts a worker if another is allowed; false when all there may be are there. */
  #startLane(): boolean {
    if (this.#closed || this.#lanes.length + this.#starting >= this.#options.limits.workers) return this.#starting > 0;
    this.#starting++;
    const inLine = new Set(this.#line.inOrder());
    void this.#openLane().then(
      () => {
        this.#starting--;
        this.#serveWaiting();
      },
      (error: unknown) => {
        this.#starting--;
        if (this.health.quarantined) return this.#refuseAll(error as BulkheadError);
        // With a worker in service they wait for it; without, who came later has a start of their own to wait for.
        if (this.#lanes.length > 0) return;
        this.#refuseAll(error as BulkheadError, this.#starting > 0 ? inLine : undefined);
      },
    );
    return true;
  }

  /** Starts a worker and, once it is loaded, takes it into service. */
  async #openLane(): Promise<void> {
    const { pluginId, limits, isolation } = this.#options;
    // Probing takes a moment the first time, as making the script does.
    const walls = isolation === "process" ? probeOsWalls() : null;
    const scripting = this.#options.script();
    scripting.catch(() => {});
    await Promise.all([this.#refresh(), walls]);
    await this.#pause();
    const container = await this.#living();
    const refusal = this.health.refusal();
    if (refusal) throw refusal;
    // The thread starts while the script is made: each takes about as long as the other.
    const transport = container.openLane();
    const script = await scripting.catch((error: unknown) => {
      transport.kill("There is no script.", { gently: true });
      throw error;
    });
    const lane = new Lane(transport, { pluginId, script, limits });
    let gone = false;
    let serves = false;
    void lane.over.then(() => this.#crashed(lane, container));
    void lane.ended.then(() => {
      gone = true;
      this.#lanes = this.#lanes.filter((other) => other !== lane);
      this.#held.delete(lane);
      // One that was never loaded leaves the line to its failure: starting another here might go on for ever.
      if (serves && !this.#closed) this.#serveWaiting();
    });
    try {
      await lane.loaded;
    } catch (error) {
      lane.kill("host_closed", "The plugin could not be loaded.");
      throw error;
    }
    // One that is gone already would hold a worker's place for ever.
    if (gone) return;
    this.#lanes.push(lane);
    serves = true;
  }

  /** A container that serves: one may be dying for what others did on it. */
  async #living(): Promise<Container> {
    for (;;) {
      // What were started now, nobody would end.
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
      if (this.#container === starting) this.#container = null;
    };
    starting.then((container) => container.ended.then(forget), forget);
    return starting;
  }

  /** Nothing of the operating system stands around a thread of the host. */
  async #startThread(): Promise<Container> {
    const { pluginId, limits, osWalls } = this.#options;
    const required = osWallNames.find((name) => osWalls[name] === "required");
    if (required === undefined) {
      // Few hosts have threads of their own, and what starts them is a library of many modules.
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

  /** Refuses all in line, or those of them that are meant. */
  #refuseAll(error: BulkheadError, meant?: ReadonlySet<Waiter>): void {
    for (const waiter of this.#line.inOrder()) {
      if (meant !== undefined && !meant.has(waiter)) continue;
      this.#line.remove(waiter);
      waiter.refuse(error);
    }
  }
}
