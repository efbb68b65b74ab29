import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { runtimeName } from "../engine/platform.ts";
import type { ByteChannel } from "../engine/threads.ts";

/** How long a thread sleeps before it tries a full pipe again. Milliseconds. */
const fullMs = 1;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
const readBytes = 65_536;
const nothing = new Uint8Array(0);

/**
 * Opens a thread's own pipe to the host, past the process's main thread: a message does not have to wake that thread too.
 * @param descriptor number of the pipe in this process; each is opened once
 */
export function openThreadPipe(descriptor: number): ByteChannel {
  const buffer = new Uint8Array(readBytes);
  let take: (bytes: Uint8Array) => void = () => {};
  const onread = {
    buffer,
    callback: (size: number) => {
      take(buffer.subarray(0, size));
      return true;
    },
  };
  // `onread` is declared for sockets that connect; one that exists reads the same way.
  const options = { fd: descriptor, readable: true, writable: true, onread };
  const socket = new Socket(options);
  socket.on("error", () => {});
  return {
    // Node loses what waits in a socket when a thread ends, however it ends; Deno has no call that writes at once.
    post: runtimeName === "node" ? (bytes) => writeNow(descriptor, bytes) : (bytes) => void socket.write(bytes),
    onBytes(given) {
      take = given;
      socket.resume();
    },
    written: () => new Promise((resolve) => socket.write(nothing, () => resolve())),
  };
}

/** Writes all of it. A thread whose pipe is full sleeps. */
function writeNow(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength;) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      // The host has gone, and the main thread ends this process.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return;
      Atomics.wait(sleeper, 0, 0, fullMs);
    }
  }
}
