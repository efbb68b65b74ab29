import { expect, test, type TestContext } from "vitest";
import { type ChildProcess, spawnChild } from "../../../../core/ground/platform/processes/child-process.ts";
import { ownProcesses } from "../../../../core/walls/agent/contain-agent.ts";
import { readRow } from "../../../../core/ground/platform/processes/process-rows.ts";
import { descendantsOf, firstProcessIn } from "../../../../core/ground/platform/processes/process-space.ts";
import { killTrees } from "../../../../core/ground/platform/processes/process-tree.ts";
import { afterEveryTest } from "../../../clean-up.ts";
import { needsWall } from "../os-walls/needs-wall.ts";

const started: ChildProcess[] = [];
const mark = `space-${crypto.randomUUID()}`;

afterEveryTest(() => end(started.splice(0), { graceMs: 0 }));

/** Starts a script in a namespace of its own and waits for its first line. */
async function contained(context: TestContext, script: string): Promise<{ child: ChildProcess; pids: number[] }> {
  await needsWall(context, "bubblewrap");
  const plain = { file: "/bin/sh", args: ["-c", script], env: { PATH: "/usr/bin:/bin" }, cwd: "/" };
  const { file, args, env, cwd } = await ownProcesses(plain);
  const child = await spawnChild(file, args, { env, cwd, stdin: "closed", mark, contained: true });
  started.push(child);
  await child.stdout.read();
  const first = child.first();
  return { child, pids: first === null ? [] : [first.pid, ...descendantsOf(first.pid)] };
}

async function end(children: readonly ChildProcess[], { graceMs }: { graceMs: number }): Promise<void> {
  const roots = children.map((child) => ({
    pid: child.pid,
    startTime: child.startTime,
    container: true,
    first: child.first(),
  }));
  await killTrees({ roots, mark, graceMs, allRoots: true });
}

function alive(pid: number): boolean {
  return readRow(pid)?.zombie === false;
}

test("a namespace ends at once where all in it are polite, whatever they did to be no one's children", async (context) => {
  const { child, pids } = await contained(context, "setsid env -i sleep 300 & (sleep 300 &); sleep 0.1; echo; wait");
  expect(pids.length).toBeGreaterThanOrEqual(4);
  const before = Date.now();
  await end([child], { graceMs: 20_000 });
  expect(Date.now() - before).toBeLessThan(5000);
  expect([child.pid, ...pids].filter(alive)).toEqual([]);
});

test("a program in a namespace has its grace to end by itself", async (context) => {
  const { child } = await contained(context, "trap 'exit 9' TERM; echo; while :; do sleep 0.02; done");
  await end([child], { graceMs: 10_000 });
  expect(await child.exited).toEqual({ exit_code: 9, signal: null });
});

test("what ignores SIGTERM in a namespace is killed after the grace", async (context) => {
  const script = `setsid sh -c 'trap "" TERM; while :; do sleep 0.05; done' & trap '' TERM; echo; wait; wait`;
  const { child, pids } = await contained(context, script);
  await end([child], { graceMs: 100 });
  expect([child.pid, ...pids].filter(alive)).toEqual([]);
});

test("what a program left behind is gone with its namespace after it has ended", async (context) => {
  const { child, pids } = await contained(context, "setsid sleep 300 & echo; sleep 0.1");
  await child.exited;
  await end([child], { graceMs: 10_000 });
  expect(pids.length).toBeGreaterThan(1);
  expect(pids.filter(alive)).toEqual([]);
});

test("firstProcessIn knows no namespace of a plain program, nor of another with the same number", async (context) => {
  const { child } = await contained(context, "echo; sleep 300");
  expect(firstProcessIn(child)).toEqual(child.first());
  expect(firstProcessIn({ pid: child.pid, startTime: "1" })).toBeNull();
  const plain = await spawnChild("/bin/sh", ["-c", "sleep 300 & echo; wait"], {
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    stdin: "closed",
    mark,
    contained: true,
  });
  started.push(plain);
  await plain.stdout.read();
  expect(plain.first()).toBeNull();
});
