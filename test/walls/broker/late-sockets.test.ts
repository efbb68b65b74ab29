import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { afterEveryTest } from "../../clean-up.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { makeAgent } from "./agent-fixture.ts";
import { capabilities, runShell } from "./broker-fixture.ts";

const servers: Server[] = [];
afterEveryTest(() => {
  for (const server of servers.splice(0)) server.close();
  return Promise.resolve();
});

async function listen(path: string): Promise<Server> {
  const server = createServer((client) => client.end("CANARY"));
  servers.push(server.listen(path));
  await once(server, "listening");
  return server;
}

test("a socket that opens in the project while an agent's program runs is told once, by its path", async (context) => {
  await needsWall(context, "bubblewrap");
  const { broker, events, workdir, root } = await makeAgent();
  const told = () => capabilities(events).filter(({ reason }) => reason?.includes("socket") === true);
  const wait = "until [ -e go ]; do sleep 0.05; done";
  const early = await listen(join(workdir, "early.sock"));
  const first = await runShell(broker, wait);
  await runShell(broker, wait);
  // This one is gone before any program ends.
  const short = await listen(join(workdir, "short.sock"));
  await expect.poll(told, { timeout: 5000 }).toHaveLength(1);
  short.close();
  await mkdir(join(workdir, "sub"));
  await listen(join(workdir, "sub", "x\u001b[2J.sock"));
  await listen(join(root, "elsewhere.sock"));
  // The mount over the first one goes with it.
  early.close();
  await once(early, "close");
  await listen(join(workdir, "early.sock"));
  await writeFile(join(workdir, "go"), "");
  await broker.call("process_wait", { process_id: first.process_id });
  await broker.close();
  const about = { type: "capability", permission: "write", decision: "allowed" };
  const reason = expect.stringContaining("opened by a program outside while the agent's programs ran");
  expect(told().sort((a, b) => a.target.localeCompare(b.target))).toEqual([
    { ...about, target: "workdir:early.sock", reason },
    { ...about, target: "workdir:short.sock", reason },
    { ...about, target: expect.stringMatching(/^workdir:sub\/x[ -~]*\.sock$/), reason },
  ]);
});

test("sockets that were hidden from every program, or opened while none ran, are not told", async (context) => {
  await needsWall(context, "bubblewrap");
  const { broker, events, workdir } = await makeAgent();
  const run = async () => {
    const { process_id } = await runShell(broker, "true");
    await broker.call("process_wait", { process_id });
  };
  await listen(join(workdir, "early.sock"));
  await run();
  // The look at a program's end keeps nothing waiting.
  await setTimeout(200);
  await listen(join(workdir, "between.sock"));
  await run();
  await broker.close();
  expect(capabilities(events).filter(({ reason }) => reason !== undefined)).toEqual([]);
});
