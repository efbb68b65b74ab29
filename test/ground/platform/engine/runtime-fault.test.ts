import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { runtimeFault } from "../../../../core/ground/platform/engine/runtime-fault.ts";

test("the versions of Deno that close unix sockets twice are told, and no others", () => {
  for (const version of ["deno 2.7.12", "deno 2.8.3", "deno 2.9.5"]) {
    expect(runtimeFault(version)).toContain("Use Deno 2.9.6 or newer");
  }
  for (
    const version of ["deno 2.7.11", "deno 2.9.6", "deno 2.10.0", "deno 3.0.0", "node 20.19.0", "node 2.8.0", "deno"]
  ) {
    expect(runtimeFault(version)).toBeNull();
  }
});

test("this runtime closes a unix socket once, and nothing that another thread has just opened", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-"));
  const path = join(folder, "socket");
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL("../programs/open-files.mjs", import.meta.url), { workerData: stop.buffer });
  const server = createServer((socket) => void socket.on("error", (error) => errors.push(String(error))).end("here"));
  const errors: string[] = [];
  try {
    await once(worker, "message");
    await once(server.listen(path), "listening");
    for (let count = 0; count < 5000 && errors.length === 0; count++) {
      const socket = connect(path).on("error", (error) => errors.push(String(error)));
      await once(socket.resume(), "close");
    }
    expect(errors).toEqual([]);
    const ended = once(worker, "message");
    Atomics.store(stop, 0, 1);
    expect((await ended)[0]).toMatchObject({ errors: [], files: expect.toSatisfy((files: number) => files > 100) });
    expect(runtimeFault()).toBeNull();
  } finally {
    Atomics.store(stop, 0, 1);
    server.close();
    await worker.terminate();
    await rm(folder, { recursive: true, force: true });
  }
});
