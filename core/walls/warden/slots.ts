import { Tinypool } from "tinypool";
import { type BytePort, bytePort, portPair } from "../../ground/platform/engine/threads.ts";
import { onNextTurn } from "../../ground/platform/engine/next-turn.ts";
import { watchThread } from "../../ground/platform/engine/live-threads.ts";
import { within } from "../../ground/platform/engine/within.ts";

/** Reason why a worker thread is gone. */
type SlotEnd = { reason: "exit" | "out_of_memory" | "error" | "closed"; message: string };

interface SlotOptions {
  /** Path of the bundled guest. */
  guestFile: string;
  /** Megabytes of V8 heap for one thread. */
  heapMb: number;
  /**
   * Threads run with the flags of this process. On one of the runtimes only they hold a thread to the permissions of
   * its process: one that is started with flags of its own, even none, has every right of the user.
   */
  keepsFlags: boolean;
}

/** One worker thread in service. */
export interface Slot {
  readonly port: BytePort;
  /** Settles when the thread no longer serves. */
  readonly ended: Promise<SlotEnd>;
  /** Terminates the thread; resolves false when it did not die in time, and then only its process can be killed. */
  terminate(withinMs: number): Promise<boolean>;
}

/** Worker threads of one plugin. Each serves one long call (`serve`) and many sessions over one port. */
export class Slots {
  readonly #pools = new Set<Tinypool>();
  readonly #options: SlotOptions;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** Starts a thread for a lane; with the number of a pipe to the host it uses that instead of the slot's port. */
  open({ lane, descriptor }: { lane: number; descriptor?: number }): Slot {
    const { port1, port2 } = portPair();
    const controller = new AbortController();
    const pool = this.#poolOfOne();
    const served = pool.run({ port: port2, lane, descriptor }, { transferList: [port2], signal: controller.signal });
    const [thread] = pool.threads;
    if (thread) watchThread(thread);
    const exited = new Promise<void>((resolve) => thread?.once("exit", () => resolve()));
    const port = bytePort(port1);
    const ended = new Promise<SlotEnd>((resolve) => {
      served.then(
        () => resolve({ reason: "closed", message: "The worker ended." }),
        (error: unknown) => resolve(endOf(error)),
      );
      // A thread that exits by itself settles no task. Its last messages may still be on their way.
      void exited.then(() => onNextTurn(() => resolve({ reason: "exit", message: "The worker thread exited." })));
    });
    void ended.then(() => {
      port.close();
      this.#pools.delete(pool);
      // A thread that cannot be ended would make this wait forever.
      pool.destroy().catch(() => {});
    });
    return {
      port,
      ended,
      terminate: async (withinMs) => {
        controller.abort();
        return await within(exited, withinMs);
      },
    };
  }

  /** V8 heap limit of these threads, in megabytes. */
  get heapMb(): number {
    return this.#options.heapMb;
  }

  /** Ends all threads; false when one is left after `withinMs`. */
  async close(withinMs: number): Promise<boolean> {
    const ending = [...this.#pools].map((pool) => pool.destroy().catch(() => {}));
    return await within(Promise.all(ending), withinMs);
  }

  /** A pool gives a task to the first ready thread: with two threads, the end of one would count as the other's. */
  #poolOfOne(): Tinypool {
    const { guestFile, heapMb, keepsFlags } = this.#options;
    const pool = new Tinypool({
      filename: guestFile,
      name: "serve",
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      // The default sleeps the thread between tasks, and then a port's close never arrives.
      useAtomics: false,
      env: {},
      argv: [],
      ...(keepsFlags ? {} : { execArgv: [] }),
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: youngMb(heapMb) },
    });
    // A thread that dies outside a task must not end this process.
    pool.on("error", () => {});
    this.#pools.add(pool);
    return pool;
  }
}

function youngMb(heapMb: number): number {
  return Math.max(2, Math.min(16, Math.floor(heapMb / 4)));
}

function endOf(error: unknown): SlotEnd {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return { reason: "out_of_memory", message: "The worker ran out of memory." };
  if (error instanceof Error && error.name === "AbortError") {
    return { reason: "closed", message: "The worker was stopped." };
  }
  return { reason: "error", message: error instanceof Error ? error.message.slice(0, 2000) : "The worker failed." };
}
