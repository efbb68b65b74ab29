import { readdir, readlink } from "node:fs/promises";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { attackCases } from "./cases/all.ts";
import { runAttack } from "../../core/kit/attack/run-attack.ts";
import { runAttacks } from "../../core/kit/attack/run-attacks.ts";
import {
  adapterCode,
  childrenLeft,
  closeHosts,
  completed,
  errorOf,
  openHost,
  until,
  writePlugin,
} from "../sessions/host/test-host.ts";

const onDeno = "Deno" in globalThis;
if (!onDeno) setFlagsFromString("--expose-gc");
const collectGarbage: () => void = onDeno ? () => {} : runInNewContext("gc") as () => void;

/** One of each bad end: refused, killed by its heartbeat, out of memory, crashed, a flood, a broken pipe. */
const sample = [
  "A1 load-loop",
  "A2 session-loop",
  "B2 one-array",
  "B12 event-flood",
  "C6 rejected-async-function",
  "C11 write-while-child-dies",
];

test("a host that was attacked holds no file, pipe, port, timer or process when it is closed", async () => {
  await attackOnce(["A24 promise-as-adapter"]);
  const before = await held();
  expect(await attackOnce(sample)).toEqual([]);
  const more = async () =>
    (await held()).filter((one, at, all) => count(all.slice(0, at + 1), one) > count(before, one));
  // What is closed is gone a moment later, on a busy machine.
  await until(async () => (await more()).length === 0).catch(async () => expect(await more()).toEqual([]));
  expect(await childrenLeft()).toEqual([]);
}, 90_000);

test("an attack's turn is stopped once, however long the turn after it takes", async () => {
  const { host } = await openHost();
  const attack = attackCases.find(({ name }) => name === "turn-ignores-its-stop")!;
  const body = attack.body!.replace("if (", "if (turn.number === 2) await ctx.sleep(1500);\nif (");
  expect(await runAttack(host, { ...attack, body })).toMatchObject({ passed: true, outcome: "harmless" });
  await closeHosts();
}, 30_000);

test("a plugin that is not trusted is refused in a thread", async () => {
  const { host, root } = await openHost();
  const folder = await writePlugin(`${root}/packages/acme`, "acme", { code: adapterCode(`yield ${completed};`) });
  const error = await errorOf(host.registry.register(folder, { isolation: "thread" }));
  expect(error).toMatchObject({ code: "invalid_config", message: expect.stringContaining("not trusted") as unknown });
  expect(host.registry.get("acme")).toBeUndefined();
});

async function attackOnce(names: readonly string[]): Promise<string[]> {
  const { host } = await openHost();
  const cases = attackCases.filter(({ id, name }) => names.includes(`${id} ${name}`));
  expect(cases).toHaveLength(names.length);
  const { attacks, canary } = await runAttacks(host, cases, { parallel: 2 });
  expect(canary).toMatchObject({ lost: 0, duplicated: 0, disordered: 0 });
  await closeHosts();
  return attacks.filter(({ passed }) => !passed).map(({ name, outcome, problem }) => `${name}: ${outcome}: ${problem}`);
}

function count(all: readonly string[], one: string): number {
  return all.filter((other) => other === one).length;
}

/** What open descriptors stand for, and on Node what keeps the event loop alive. */
async function held(): Promise<string[]> {
  // The database closes its files when the statements made from it are collected.
  collectGarbage();
  const fds = await readdir("/proc/self/fd").catch(() => []);
  const targets = await Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
  // The listing of the folder is open itself while it is made; sockets and pipes differ only by number.
  const known = targets.filter((target) => target !== "" && !target.includes("/proc/")).map((target) =>
    target.replace(/\d+\]$/, "]")
  );
  return onDeno
    ? known.filter((target) => !target.includes("journal.db"))
    : [...known, ...process.getActiveResourcesInfo()];
}
