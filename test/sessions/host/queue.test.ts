import { expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { adapterCode, completed, errorOf, openHost, until } from "./test-host.ts";

const waits = {
  code: adapterCode(`    if (request.prompt === "hold") await ctx.sleep(60_000);\n yield ${completed};`),
};
const one = { workers: 1, sessions_per_worker: 1 };

test("sessions of several clients take turns beyond the slots, and are told when they move", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", waits, { limits: one });
  const start = (client: string, prompt = "go") =>
    host.runSession({ workdir, prompt }, { adapter: "acme", artifacts: "none", client });
  const holder = await start("a", "hold");
  await until(async () => await startedIn(host, holder.id));
  const order: string[] = [];
  const queued = new Map<string, number[]>();
  const waiting = [];
  for (const name of ["a1", "a2", "a3", "b1", "c1"]) {
    const session = await start(name[0]!);
    const positions: number[] = [];
    queued.set(name, positions);
    waiting.push((async () => {
      let at = 0;
      for await (const { gseq, event } of session.events()) {
        if (event.type === "queued") positions.push(event.position);
        if (event.type === "attempt_started") at = gseq;
      }
      return { name, at };
    })());
  }
  await until(() => queued.get("a2")!.length > 1 && queued.get("a3")!.length > 1);
  await holder.interrupt();
  for (const { name } of (await Promise.all(waiting)).sort((x, y) => x.at - y.at)) order.push(name);
  expect(order).toEqual(["a1", "b1", "c1", "a2", "a3"]);
  // What came later with a turn of its own put the second and third of the first client back.
  expect(queued.get("a2")!.slice(0, 2)).toEqual([2, 4]);
  expect(queued.get("a3")!.slice(0, 2)).toEqual([3, 5]);
  expect(queued.get("b1")).toEqual([2]);
});

test("a session that is interrupted in line ends so, and the others go on", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", waits, { limits: one });
  const start = (prompt = "go") => host.runSession({ workdir, prompt }, { adapter: "acme", artifacts: "none" });
  const holder = await start("hold");
  await until(async () => await startedIn(host, holder.id));
  const [first, second] = [await start(), await start()];
  expect(await first.interrupt()).toMatchObject({ stop_reason: "interrupted" });
  await holder.interrupt();
  expect((await second.result()).outcome).toBe("completed");
});

test("beyond its sessions the host is busy, and says what to do", async () => {
  const manifest = {
    bulkhead: 1 as const,
    plugins: {},
    tools: {},
    routing: { agent: "auto" },
    limits: { host_sessions: 2 },
  };
  const { host, add, workdir } = await openHost({ manifest });
  for (const id of ["one", "two", "three"]) await add(id, waits);
  const start = (adapter: string) => host.runSession({ workdir, prompt: "hold" }, { adapter, artifacts: "none" });
  const held = [await start("one"), await start("two")];
  expect(await errorOf(start("three"))).toMatchObject({ code: "busy", hint: expect.stringContaining("host_sessions") });
  await held[0]!.interrupt();
  const next = await start("three");
  await Promise.all([held[1]!.interrupt(), next.interrupt()]);
  expect(defaultLimits.host_sessions).toBeGreaterThan(defaultLimits.sessions);
});

test("a session counts for the plugin that runs it, and not for one that was passed over", async () => {
  const { host, add, workdir } = await openHost();
  await add("picky", waits, { limits: { sessions: 1 } });
  await add("able", { ...waits, manifest: "accepts: [max_turns]" }, { limits: { sessions: 1 } });
  const request = { workdir, prompt: "hold", max_turns: 3 };
  const through = () => host.runSession(request, { adapter: ["picky", "able"], artifacts: "none" });
  const held = await through();
  expect(await errorOf(through())).toMatchObject({ code: "busy", message: expect.stringContaining('"able"') });
  const other = await host.runSession({ workdir, prompt: "go" }, { adapter: "picky", artifacts: "none" });
  expect((await other.result()).outcome).toBe("completed");
  await held.interrupt();
  expect((await (await through()).interrupt()).stop_reason).toBe("interrupted");
});

test("a plugin that is taken out of service ends its sessions, which say why", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", waits, { limits: one });
  const start = () => host.runSession({ workdir, prompt: "hold" }, { adapter: "acme", artifacts: "none" });
  const running = await start();
  await until(async () => await startedIn(host, running.id));
  const queued = await start();
  for await (const { event } of queued.events()) if (event.type === "queued") break;
  await host.registry.remove("acme");
  for (const session of [running, queued]) {
    expect(await session.result()).toMatchObject({
      stop_reason: "interrupted",
      error: { message: 'Plugin "acme" was taken out of service.' },
    });
  }
});

async function startedIn(host: { events(options: object): AsyncIterable<Envelope> }, id: string): Promise<boolean> {
  for await (const { session_id, event } of host.events({ after: 0 })) {
    if (session_id === id && event.type === "attempt_started") return true;
  }
  return false;
}
