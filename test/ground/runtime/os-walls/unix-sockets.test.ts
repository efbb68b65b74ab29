import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { containAgent } from "../../../../core/ground/runtime/os-walls/contain-agent.ts";
import { openUnixSockets, socketsAmong } from "../../../../core/ground/runtime/os-walls/unix-sockets.ts";
import { platform } from "../../../../core/ground/runtime/platform.ts";
import { afterEveryTest } from "../../../clean-up.ts";
import { needsWall } from "./needs-wall.ts";

const folders: string[] = [];
const servers: Server[] = [];

afterEveryTest(async () => {
  for (const server of servers.splice(0)) server.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function folderIn(place: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(place, "bulkhead-unix-")));
  folders.push(folder);
  return folder;
}

async function openSocket(path: string): Promise<string> {
  const server = createServer().listen(path);
  servers.push(server);
  await once(server, "listening");
  return path;
}

test("openUnixSockets lists a server's socket, and socketsAmong leaves out what is none", async () => {
  const folder = await folderIn(tmpdir());
  const socket = await openSocket(join(folder, "socket"));
  const file = join(folder, "file");
  await writeFile(file, "");
  if (platform === "linux") expect(await openUnixSockets()).toContain(socket);
  expect(await socketsAmong([file, join(folder, "none"), folder, socket])).toEqual([socket]);
});

if (platform === "linux") {
  test("a socket is covered however many others are open in places that are hidden as a whole", async (context) => {
    await needsWall(context, "bubblewrap");
    const root = await folderIn(tmpdir());
    for (const name of ["work", "temp", "filter"]) await mkdir(join(root, name));
    const [seen, hidden] = [await folderIn("/var/tmp"), await folderIn("/var/tmp")];
    const open: string[] = [];
    // The system lists them in no order of ours, so that both kinds are spread.
    for (let index = 0; index < 640; index++) {
      if (index % 32 === 0) open.push(await openSocket(join(seen, `${index}`)));
      else await openSocket(join(hidden, `${index}`));
    }
    const { view = [] } = await containAgent({ file: "/bin/true", args: [], env: {}, cwd: join(root, "work") }, {
      writable: [join(root, "work")],
      tmp: join(root, "temp"),
      hidden: [hidden],
      shown: [],
      network: "none",
      filterFolder: join(root, "filter"),
    });
    expect(open.filter((path) => !view.includes(path))).toEqual([]);
    expect(view.filter((word) => word.startsWith(`${hidden}/`))).toEqual([]);
  });
}
