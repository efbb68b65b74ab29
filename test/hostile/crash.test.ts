import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { adapterCode, childrenLeft, completed, openHost, until } from "../sessions/host/test-host.ts";
import { endHostileGuests, hostileGuest, hostileWarden } from "./hostile-guest.ts";

const onDeno = "Deno" in globalThis;
const loaded = `send({ type: "loaded", protocol: 2 });`;

afterEach(endHostileGuests);

test("C1 a guest that ends its thread costs that thread, and its end is a crash", async () => {
  const { openLane, container } = await hostileGuest(`${loaded} setTimeout(() => process.exit(3), 100);`, {
    workers: 2,
  });
  const first = openLane();
  await first.loaded;
  expect(await first.ended).toMatchObject({ reason: expect.stringMatching(/^(exit|error)$/) as unknown });
  expect(first.alive).toBe(false);

  const next = openLane();
  await next.loaded;
  expect(container.condemned).toBe(false);
});

test("C4 a process that aborts, as native code does when an assertion fails, is a crash that names the signal", async () => {
  const { lane, container } = await hostileWarden(
    `process.stderr.write("assertion failed\\n"); setTimeout(() => process.abort(), 100);`,
  );
  const end = await lane.ended;
  expect(end.message).toMatch(/SIG(ABRT|TRAP|ILL)/);
  await container.ended;
  expect(await childrenLeft()).toEqual([]);
});

test("C10 an end without an error is a crash all the same, and what was printed last is kept", async () => {
  const { openLane, container } = await hostileGuest(`${loaded} setTimeout(() => {
    process.stderr.write("these were its last words\\n");
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 200);
  }, 100);`);
  const lane = openLane();
  await lane.loaded;
  const end = await lane.ended;
  if (onDeno) {
    // Deno's permissions refuse the signal; the thread ends by the refusal that nobody catches.
    expect(end.reason).not.toBe("closed");
    return;
  }
  await container.ended;
  expect(end).toEqual({
    reason: "exit",
    message: expect.stringMatching(/SIGKILL.*these were its last words/s) as unknown,
  });
});

/** A warden that a test before has left may end between the look and the kill. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

test("C11 a worker that dies while it is written to ends its sessions with a typed error, and the next one runs", async () => {
  const { host, add, workdir } = await openHost();
  await add("acme", {
    code: adapterCode(
      `yield { type: "progress", message: "here" }; if (request.prompt === "wait") await ctx.sleep(20_000); yield ${completed};`,
    ),
  });
  const session = await host.runSession({ workdir, prompt: "wait", retry: "never" }, {
    adapter: "acme",
    artifacts: "none",
  });
  for await (const { event } of session.events()) if (event.type === "progress") break;
  const pids = await wardenPids();
  expect(pids.length).toBeGreaterThan(0);
  for (const pid of pids) killIfThere(pid);
  // More than a pipe holds is on its way to the dead process before anybody knows.
  const others = await Promise.all(
    Array.from(
      { length: 8 },
      () =>
        host.runSession({ workdir, prompt: "x".repeat(1_000_000), retry: "never" }, {
          adapter: "acme",
          artifacts: "none",
        }),
    ),
  );

  expect((await session.result()).error?.code).toBe("crash");
  for (const other of others) expect([undefined, "crash"]).toContain((await other.result()).error?.code);
  const after = await host.runSession({ workdir, prompt: "go", retry: "never" }, {
    adapter: "acme",
    artifacts: "none",
  });
  expect((await after.result()).outcome).toBe("completed");
});

test("C13 a worker's process may write no core file", async () => {
  const { host, add } = await openHost();
  await add("acme", { code: adapterCode(`yield ${completed};`) });
  await host.load("acme");
  await until(async () => (await wardenPids()).length > 0);
  for (const pid of await wardenPids()) {
    const limits = await readFile(`/proc/${pid}/limits`, "utf8").catch(() => "");
    const core = /^Max core file size\s+(\S+)/m.exec(limits)?.[1];
    if (core !== undefined) expect(core).toBe("0");
  }
});

/** Processes that run the warden's bundle below this one, however many programs stand in front of it. */
async function wardenPids(): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const rows = await Promise.all(pids.map(async (pid) => {
    const [stat, command] = await Promise.all(
      ["stat", "cmdline"].map((name) => readFile(`/proc/${pid}/${name}`, "latin1").catch(() => "")),
    );
    const [state, ppid] = (stat ?? "").slice((stat ?? "").lastIndexOf(")") + 2).split(" ");
    return {
      pid: Number(pid),
      ppid: Number(ppid),
      live: state !== "Z",
      warden: command?.includes("walls/warden.js") ?? false,
    };
  }));
  const below = new Set([process.pid]);
  for (let before = 0; before !== below.size;) {
    before = below.size;
    for (const row of rows) if (below.has(row.ppid)) below.add(row.pid);
  }
  return rows.filter(({ pid, live, warden }) => live && warden && below.has(pid)).map(({ pid }) => pid);
}
