import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTokens } from "../../core/doors/http/tokens.ts";
import { allPresent, type Machine, startMachine, until } from "./machine.ts";
import { type NatsServers, startServers } from "./nats-servers.ts";

let on: NatsServers;
let one: Machine;
let two: Machine;

beforeAll(async () => {
  on = await startServers();
  const made = await Promise.all(["one", "two"].map((name) => startMachine({ name, servers: on.urls })));
  [one, two] = made as [Machine, Machine];
  await allPresent(made);
}, 60_000);

afterAll(async () => {
  for (const machine of [one, two]) await machine?.remove();
  await on?.stop();
});

test("a token that was revoked while a machine was away stays so when the servers lose their disks", async () => {
  const { token } = await openTokens(one.stateDir).create({ name: "ci", scopes: ["run"] });
  const isRefused = (machine: Machine) =>
    machine.as(token).list().then(() => false, ({ code }: { code: string }) => code === "unauthorized");
  await until("the other has it", () => two.as(token).list().then(() => true, () => false));
  await two.signal("SIGTERM");
  await openTokens(one.stateDir).revoke("ci");
  // By then the servers have the note of it, which they lose.
  await sleep(2500);
  const [server] = on.servers;
  await server!.kill();
  await on.wipe(server!);
  await server!.start();
  await two.start();
  const { token: marker } = await openTokens(two.stateDir).create({ name: "later", scopes: ["run"] });
  await until("they exchange tokens again", () => one.as(marker).list().then(() => true, () => false));
  await until("it holds nowhere", async () => await isRefused(one) && await isRefused(two));
  expect((await openTokens(one.stateDir).list()).map(({ name }) => name)).not.toContain("ci");
}, 60_000);
