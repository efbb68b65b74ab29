import nodeModule, { syncBuiltinESMExports } from "node:module";
import workerThreads, { MessageChannel, type MessagePort } from "node:worker_threads";
import process from "node:process";
import { getHeapStatistics } from "node:v8";

/** One end of a channel between threads that carries only bytes. */
export interface BytePort {
  /** Sends bytes and gives up their buffer: a copied view costs more than the message on one of the runtimes. */
  post(bytes: Uint8Array<ArrayBuffer>): void;
  onBytes(take: (bytes: Uint8Array) => void): void;
  onClose(take: () => void): void;
  close(): void;
}

/** A port as it is handed to another thread; opaque outside this room. */
export type RawPort = MessagePort;

/** Two connected ports. */
export function portPair(): { port1: RawPort; port2: RawPort } {
  return new MessageChannel();
}

/** Wraps a raw port. What arrives and is not bytes is thrown away: only bytes are ever sent. */
export function bytePort(port: RawPort): BytePort {
  return {
    post(bytes) {
      port.postMessage({ buffer: bytes.buffer, length: bytes.byteLength }, [bytes.buffer]);
    },
    onBytes(take) {
      port.on("message", (message: { buffer: ArrayBuffer; length: number }) => {
        const { buffer, length } = message ?? {};
        // A view longer than its buffer would throw here, outside anyone's call.
        if (!(buffer instanceof ArrayBuffer) || !(length >= 0 && length <= buffer.byteLength)) return;
        take(new Uint8Array(buffer, 0, length));
      });
    },
    onClose(take) {
      port.on("close", take);
    },
    close() {
      port.close();
    },
  };
}

/** Takes what is thrown or rejected in this thread and nobody catches, in place of the runtime's own way out. */
export function onUncaught(take: (thrown: unknown, origin: "exception" | "rejection") => void): void {
  process.on("uncaughtException", (thrown: unknown) => {
    take(thrown, "exception");
  });
  process.on("unhandledRejection", (reason: unknown) => {
    take(reason, "rejection");
  });
}

/**
 * Heap limit of this thread, in bytes. One of the runtimes answers a full heap by raising the limit and cutting off
 * the code that ran, without a word to anyone: a limit that has grown is the only sign of it.
 */
export function heapLimitBytes(): number {
  return getHeapStatistics().heap_size_limit;
}

/**
 * Takes away what starts another thread from this one. On one of the runtimes a thread can be started without the
 * permissions of its process, so this would be the first step of code that has left its compartment.
 */
export function forbidThreads(): void {
  const refuse = function () {
    throw new Error("This thread may start no other.");
  };
  const held: [object, string][] = [[workerThreads, "Worker"], [nodeModule, "register"]];
  for (const [module, name] of held) {
    Object.defineProperty(module, name, { value: refuse, writable: false, configurable: false, enumerable: true });
  }
  syncBuiltinESMExports();
}

/** Ends this thread, or this process when it is the main thread. */
export function exitThread(code: number): never {
  process.exit(code);
}
