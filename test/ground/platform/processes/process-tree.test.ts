import { readdirSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { type ChildProcess, spawnChild } from "../../../../core/ground/platform/processes/child-process.ts";
import { parsePs, parseStat, processStart, readRow } from "../../../../core/ground/platform/processes/process-rows.ts";
import { killTrees } from "../../../../core/ground/platform/processes/process-tree.ts";
import { hasMark, killTree } from "../marked-tree.ts";

const started: { child: ChildProcess; mark: string }[] = [];

afterEach(async () => {
  for (const { child, mark } of started.splice(0)) {
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 0 });
  }
});

/** Starts a script and waits for so many lines, each a pid. */
async function tree(script: string, pids: number): Promise<{ child: ChildProcess; mark: string; pids: number[] }> {
  const mark = `tree-${crypto.randomUUID()}`;
  const env = { PATH: "/usr/bin:/bin" };
  const child = await spawnChild("/bin/sh", ["-c", script], { cwd: "/", env, stdin: "closed", mark });
  started.push({ child, mark });
  let text = "";
  while (text.split("\n").length <= pids) {
    const chunk = await child.stdout.read();
    if (chunk === null) break;
    text += new TextDecoder().decode(chunk);
  }
  return { child, mark, pids: text.trim().split("\n").map(Number) };
}

/** A dead process that nobody has collected yet is not alive. */
function alive(pid: number): boolean {
  return readRow(pid)?.zombie === false;
}

describe("killTrees, for one tree", () => {
  test("ends a polite tree at once, long before the grace is over", async () => {
    const { child, mark, pids } = await tree("sleep 60 & echo $!; echo $$; wait", 2);
    const before = Date.now();
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 20_000 });
    expect(Date.now() - before).toBeLessThan(5000);
    expect(pids.filter(alive)).toEqual([]);
    expect(await child.exited).toEqual({ exit_code: null, signal: "SIGTERM" });
  });

  test("gives the program its grace to end by itself", async () => {
    const { child, mark } = await tree("trap 'exit 9' TERM; echo $$; while :; do sleep 0.02; done", 1);
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 10_000 });
    expect(await child.exited).toEqual({ exit_code: 9, signal: null });
  });

  test("kills a program that ignores SIGTERM after the grace", async () => {
    const { child, mark, pids } = await tree("trap '' TERM; echo $$; while :; do sleep 0.05; done", 1);
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 100 });
    expect(pids.filter(alive)).toEqual([]);
    expect(await child.exited).toEqual({ exit_code: null, signal: "SIGKILL" });
  });

  test("kills a stopped program", async () => {
    const { child, mark, pids } = await tree("echo $$; kill -STOP $$", 1);
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 50 });
    expect(pids.filter(alive)).toEqual([]);
  });

  test("finds children that moved to a session of their own and ignore SIGTERM", async () => {
    const { child, mark, pids } = await tree(
      `setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 0.05; done' & echo $$; wait`,
      2,
    );
    expect(readRow(pids.find((pid) => pid !== child.pid) ?? 0)?.pgid).not.toBe(child.pid);
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 50 });
    expect(pids.filter(alive)).toEqual([]);
  });

  test("finds a daemon by its mark: forked twice, own session, parent gone, after the program itself has ended", async () => {
    const { child, mark, pids } = await tree(
      `setsid sh -c '(trap "" TERM; sh -c "echo \\$\\$; exec sleep 61") & exit 0'; exit 0`,
      1,
    );
    await child.exited;
    const [daemon = 0] = pids;
    expect(alive(daemon)).toBe(true);
    expect(readRow(daemon)?.ppid).not.toBe(child.pid);
    expect(hasMark(daemon, mark)).toBe(true);
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 50 });
    expect(pids.filter(alive)).toEqual([]);
  });

  test("finds a child with an empty environment and a group of its own by its session", async () => {
    // `timeout` makes a process group of its own.
    const script = `/usr/bin/timeout 61 /bin/sh -c "echo \\$\\$; exec /bin/sleep 61" & exit 0`;
    const { child, mark, pids } = await tree(`env -i /bin/sh -c '${script}'; exit 0`, 1);
    await child.exited;
    const [orphan = 0] = pids;
    expect(hasMark(orphan, mark)).toBe(false);
    expect(readRow(orphan)?.sid).toBe(child.pid);
    expect(readRow(orphan)?.pgid).not.toBe(child.pid);
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 50 });
    expect(pids.filter(alive)).toEqual([]);
  });

  test("catches what a dying tree still starts", async () => {
    const { child, mark } = await tree(
      `trap 'setsid sh -c "trap \\"\\" TERM; exec sleep 62" & exit 0' TERM; echo $$; while :; do sleep 0.02; done`,
      1,
    );
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 400 });
    expect(readdirSync("/proc").filter((name) => /^\d+$/.test(name) && hasMark(Number(name), mark))).toEqual([]);
  });

  test("leaves a process alone that has the pid but started at another time", async () => {
    const { child, pids } = await tree("echo $$; exec sleep 60", 1);
    await killTree({ pid: child.pid, startTime: "1", mark: "no-such-mark", graceMs: 50 });
    expect(pids.filter(alive)).toEqual(pids);
  });

  test("takes neither this process nor what it descends from for the root of a tree", async () => {
    const { pids } = await tree("echo $$; exec sleep 60", 1);
    for (const pid of [process.pid, process.ppid]) {
      await killTree({ pid, startTime: processStart(pid), mark: "no-such-mark", graceMs: 30 });
    }
    expect(pids.filter(alive)).toEqual(pids);
  });

  test("resolves for a tree that is gone already", async () => {
    const { child, mark } = await tree("echo $$", 1);
    await child.exited;
    await killTree({ pid: child.pid, startTime: child.startTime, mark, graceMs: 10_000 });
  });
});

describe("killTrees", () => {
  test("sweeps several programs that share the beginning of a mark", async () => {
    const prefix = `all-${crypto.randomUUID()}`;
    const env = { PATH: "/usr/bin:/bin" };
    const options = { cwd: "/", env, stdin: "closed" as const };
    const one = await spawnChild("/bin/sleep", ["60"], { ...options, mark: `${prefix}.1` });
    const two = await spawnChild("/bin/sleep", ["60"], { ...options, mark: `${prefix}.2` });
    const other = await spawnChild("/bin/sleep", ["60"], { ...options, mark: `${prefix}2.1` });
    started.push({ child: other, mark: `${prefix}2.1` });
    await killTrees({ roots: [], mark: prefix, graceMs: 5000 });
    expect([one, two].map(({ pid }) => alive(pid))).toEqual([false, false]);
    expect(alive(other.pid)).toBe(true);
  });
});

describe("parseStat", () => {
  test("reads a name that holds brackets and blanks", () => {
    const fields = Array.from({ length: 40 }, (_, index) => String(index + 100)).join(" ");
    const row = parseStat(`42 (a) S 9 (b) Z 7 8 9 ${fields}`);
    expect(row).toMatchObject({ pid: 42, ppid: 7, pgid: 8, sid: 9, zombie: true, start: "115" });
  });

  test("is null for what it cannot read", () => {
    expect(parseStat("")).toBe(null);
  });
});

test("parsePs reads rows, their start, their state and the mark in their environment", () => {
  const text = [
    "    1     0     1     1 Ss   Mon Jan  1 10:00:00 2024 /sbin/init",
    "   77     1    70    70 Z+   Tue Jan  2 11:00:00 2024 tool -x A=b BULKHEAD_SESSION_MARK=m.1 C=d",
    "",
  ].join("\n");
  const init = { pid: 1, ppid: 0, pgid: 1, sid: 1, start: "Mon Jan 1 10:00:00 2024", zombie: false, marked: false };
  const tool = { pid: 77, ppid: 1, pgid: 70, sid: 70, start: "Tue Jan 2 11:00:00 2024", zombie: true, marked: true };
  expect(parsePs(text, "m")).toEqual([init, tool]);
  expect(parsePs(text, "m.2")).toEqual([init, { ...tool, marked: false }]);
  expect(parsePs("", "m")).toBe(null);
});
