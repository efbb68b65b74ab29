import { Tinypool } from "tinypool";
import { bytePort, type BytePort, portPair } from "../runtime/threads.ts";
import { within } from "../runtime/within.ts";

/** Why a worker thread is gone. */
export type SlotEnd = { reason: "exit" | "out_of_memory" | "error" | "closed"; message: string };

/** What a pool of worker threads is made from. */
export interface SlotOptions {
  /** Path of the bundled guest. */
  guestFile: string;
  workers: number;
  /** Megabytes of V8 heap for one thread. */
  heapMb: number;
}

/** One worker thread in service. */
export interface Slot {
  readonly port: BytePort;
  /** Settles when the thread no longer serves. */
  readonly ended: Promise<SlotEnd>;
  /** Terminates the thread; resolves false when it did not die in time, and then only its process can be killed. */
  terminate(withinMs: number): Promise<boolean>;
}

/**
 * Worker threads of one plugin. Each serves one long call (`serve`) and many sessions over one port, so that a session
 * costs no thread, no task and no port.
 */
export class Slots {
  readonly #pool: Tinypool;
  readonly #options: SlotOptions;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#pool = new Tinypool({
      filename: options.guestFile,
      name: "serve",
      minThreads: 0,
      maxThreads: options.workers,
      concurrentTasksPerWorker: 1,
      // The default sleeps the thread between tasks, and then a port's close never arrives.
      useAtomics: false,
      env: {},
      argv: [],
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb, maxYoungGenerationSizeMb: youngMb(options.heapMb) },
    });
    // A thread that dies outside a task must not end this process.
    this.#pool.on("error", () => {});
  }

  /** Starts a thread for a lane. */
  open(lane: number): Slot {
    const { port1, port2 } = portPair();
    const controller = new AbortController();
    const before = new Set(this.#pool.threads);
    const served = this.#pool.run({ port: port2, lane }, { transferList: [port2], signal: controller.signal });
    const thread = this.#pool.threads.find((candidate) => !before.has(candidate));
    const exited = new Promise<void>((resolve) => thread?.once("exit", () => resolve()));
    const port = bytePort(port1);
    const ended = new Promise<SlotEnd>((resolve) => {
      served.then(
        () => resolve({ reason: "closed", message: "The worker ended." }),
        (error: unknown) => resolve(endOf(error)),
      );
      // A thread that exits by itself settles no task.
      void exited.then(() => resolve({ reason: "exit", message: "The worker thread exited." }));
    });
    void ended.then(() => port.close());
    return {
      port,
      ended,
      terminate: async (withinMs) => {
        controller.abort();
        return await within(exited, withinMs);
      },
    };
  }

  /** Heap limit these threads were made with, in megabytes. */
  get heapMb(): number {
    return this.#options.heapMb;
  }

  /** Ends all threads; gives up waiting after `withinMs`. */
  async close(withinMs: number): Promise<boolean> {
    return await within(this.#pool.destroy().catch(() => {}), withinMs);
  }
}

function youngMb(heapMb: number): number {
  return Math.max(2, Math.min(16, Math.floor(heapMb / 4)));
}

function endOf(error: unknown): SlotEnd {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return { reason: "out_of_memory", message: "The worker ran out of memory." };
  if (error instanceof Error && error.name === "AbortError") return { reason: "closed", message: "The worker was stopped." };
  return { reason: "error", message: error instanceof Error ? error.message.slice(0, 2000) : "The worker failed." };
}
