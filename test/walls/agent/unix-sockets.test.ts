import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pathsOf, socketsAmong, unixSockets } from "../../../core/walls/agent/unix-sockets.ts";
import { platform } from "../../../core/ground/platform/engine/platform.ts";

test("unixSockets and socketsAmong find a socket that takes connections", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-unix-")));
  const [socket, file] = [join(folder, "socket"), join(folder, "file")];
  const server = createServer().listen(socket);
  try {
    await once(server, "listening");
    await writeFile(file, "");
    const listed = (await unixSockets()).filter(({ name }) => name === socket);
    if (platform === "linux") expect(listed).toEqual([{ name: socket, id: expect.any(String), isOpen: true }]);
    expect(await socketsAmong([file, join(folder, "none"), socket])).toEqual([socket]);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});

test("pathsOf looks for a socket with a relative name in each folder", () => {
  const sockets = ["/a/x", "./x", "b/../x"].map((name) => ({ name, id: "1", isOpen: true }));
  expect(pathsOf(sockets, ["/p", "/q"])).toEqual(["/a/x", "/p/x", "/q/x"]);
});
