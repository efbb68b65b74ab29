import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openUnixSockets, socketsAmong } from "../../../../core/ground/runtime/os-walls/unix-sockets.ts";
import { platform } from "../../../../core/ground/runtime/platform.ts";

test("openUnixSockets lists a server's socket, and socketsAmong leaves out what is none", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-unix-")));
  const [socket, file] = [join(folder, "s"), join(folder, "file")];
  const server = createServer().listen(socket);
  try {
    await once(server, "listening");
    await writeFile(file, "");
    if (platform === "linux") expect(await openUnixSockets()).toContain(socket);
    expect(await socketsAmong([file, join(folder, "none"), folder, socket])).toEqual([socket]);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
