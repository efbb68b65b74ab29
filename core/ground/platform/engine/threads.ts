import nodeModule, { syncBuiltinESMExports } from "node:module";
import workerThreads, { MessageChannel, type MessagePort } from "node:worker_threads";
import process from "node:process";
import { getHeapStatistics } from "node:v8";

/** One end of a channel that carries only bytes. */
export interface ByteChannel {
  /** Sends bytes; their buffer may be gone afterwards. */
  post(bytes: Uint8Array<ArrayBuffer>): void;
  /** Takes bytes as they come, a view that is valid during the call. */
  onBytes(take: (bytes: Uint8Array) => void): void;
  /** Settles when all that was posted outlives this thread. */
  written(): Promise<void>;
}

/** One end of a channel between threads. */
export interface BytePort extends ByteChannel {
  onClose(take: () => void): void;
  close(): void;
}

/** A port on its way to another thread; opaque outside this folder. */
export type RawPort = MessagePort;

/** Two connected ports. */
export function portPair(): { port1: RawPort; port2: RawPort } {
  return new MessageChannel();
}

/** Wraps a raw port. Drops every message that is not bytes: our side sends only bytes. */
export function bytePort(port: RawPort): BytePort {
  return {
    post(bytes) {
      // A copied view costs more than the message on one of the runtimes.
      port.postMessage({ buffer: bytes.buffer, length: bytes.byteLength }, [bytes.buffer]);
    },
    onBytes(take) {
      port.on("message", (message: { buffer: ArrayBuffer; length: number }) => {
        const { buffer, length } = message ?? {};
        // A view longer than its buffer would throw here, outside any caller's `try`.
        if (!(buffer instanceof ArrayBuffer) || !(length >= 0 && length <= buffer.byteLength)) return;
        take(new Uint8Array(buffer, 0, length));
      });
    },
    written: () => Promise.resolve(),
    onClose(take) {
      port.on("close", take);
    },
    close() {
      port.close();
    },
  };
}

/** Handles uncaught exceptions and rejections of this thread, instead of the runtime's own handling. */
export function onUncaught(take: (thrown: unknown, origin: "exception" | "rejection") => void): void {
  process.on("uncaughtException", (thrown: unknown) => {
    take(thrown, "exception");
  });
  process.on("unhandledRejection", (reason: unknown) => {
    take(reason, "rejection");
  });
}

/**
 * Heap limit of this thread, in bytes. One of the runtimes answers a full heap by raising the limit and silently
 * cutting off the running code: a raised limit is the only sign of it.
 */
export function heapLimitBytes(): number {
  return getHeapStatistics().heap_size_limit;
}

/** Removes the means to start a thread: one of the runtimes starts them without the permissions of the process. */
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
