import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openUnixSockets, socketsOutside } from "../../../core/walls/agent/unix-sockets.ts";
import { platform } from "../../../core/ground/runtime/platform.ts";

test("finds a socket outside of hidden folders, however many are in them", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-unix-")));
  const [socket, file, hidden] = [join(folder, "socket"), join(folder, "file"), join(folder, "hidden")];
  const server = createServer().listen(socket);
  try {
    await once(server, "listening");
    await writeFile(file, "");
    await mkdir(hidden);
    if (platform === "linux") expect(await openUnixSockets()).toContain(socket);
    const others = Array.from({ length: 1000 }, (_, index) => join(hidden, String(index)));
    const open = [...others, file, join(folder, "none"), hidden, socket];
    expect(await socketsOutside([hidden], open)).toEqual([socket]);
    expect(await socketsOutside([hidden, folder], open)).toEqual([]);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
